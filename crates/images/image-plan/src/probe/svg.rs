//! SVG and SVGZ: the size that the root element states.
//!
//! `width` and `height` are lengths in CSS units. Without one of them, or with a length that
//! depends on the surrounding page, `viewBox` determines the proportions. Source: SVG 2 §7 and §8.

use super::facts::{Colour, Facts, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::format::svg_root;
use crate::{Format, REQUESTED_SIDE_PX_MAX, Size};
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// Maximum length of an SVG in bytes, unpacked, that is rendered.
pub const SVG_BYTES_MAX: u64 = 10 << 20;

/// Number of bytes from the beginning of the file within which the start tag of the root element
/// must end.
const HEAD_BYTES: u64 = 4096;
/// Width and height of a drawing that states neither a size nor a `viewBox`, as in the renderer.
const DEFAULT_SIDE_PX: f64 = 100.0;

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Reads the size of an SVG.
pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let len_bytes = head.len_bytes();
    let text = head.bytes(0, len_bytes.min(HEAD_BYTES) as usize)?;
    let root = svg_root(text).ok_or(ProbeError::unknown())?;
    Ok(facts(Format::Svg, root, len_bytes))
}

/// Reads the size of an SVGZ. Returns `None` if the file is not a compressed SVG.
pub(super) fn probe_compressed(head: &mut HeaderReader<'_>) -> Result<Option<Facts>, ProbeError> {
    let len_bytes = head.len_bytes();
    let packed = head.bytes(0, len_bytes.min(HEAD_BYTES) as usize)?;
    if !packed.starts_with(&GZIP_MAGIC) {
        return Ok(None);
    }
    let mut text = vec![0; HEAD_BYTES as usize];
    let mut reader = MultiGzDecoder::new(packed);
    let mut filled = 0;
    // The stream is cut off after `packed`, so an error at that point is expected.
    while let Ok(count @ 1..) = reader.read(&mut text[filled..]) {
        filled += count;
    }
    let root = svg_root(&text[..filled]);
    Ok(root.map(|root| facts(Format::Svgz, root, len_bytes)))
}

/// Returns the facts of a drawing. `root` is the text from the root element on.
fn facts(format: Format, root: &[u8], len_bytes: u64) -> Facts {
    let size = size(root);
    let is_drawn = size.is_some() && len_bytes <= SVG_BYTES_MAX;
    Facts {
        unsupported: (!is_drawn).then_some(Unsupported::Vector),
        alpha: true,
        lossless: true,
        ..Facts::new(format, size.unwrap_or(Size::new(1, 1)), Colour::Rgb)
    }
}

/// Returns the size that the root element states. Returns `None` if the element has no end.
fn size(root: &[u8]) -> Option<Size> {
    let (mut width, mut height, mut view) = (None, None, None);
    let mut rest = &root[1..];
    rest = &rest[rest.iter().position(|byte| is_end_of_name(*byte))?..];
    loop {
        rest = rest.trim_ascii_start();
        if matches!(rest.first()?, b'>' | b'/') {
            break;
        }
        let (name, value, after) = attribute(rest)?;
        rest = after;
        match name {
            b"width" => width = length(value),
            b"height" => height = length(value),
            b"viewBox" => view = view_box(value),
            _ => {}
        }
    }
    let (width, height) = match (width, height, view) {
        (Some(width), Some(height), _) => (width, height),
        (Some(width), None, Some((w, h))) => (width, width / w * h),
        (None, Some(height), Some((w, h))) => (height / h * w, height),
        (None, None, Some((w, h))) => (w, h),
        (width, height, None) => (
            width.unwrap_or(DEFAULT_SIDE_PX),
            height.unwrap_or(DEFAULT_SIDE_PX),
        ),
    };
    // A drawing above the maximum counts as smaller, with the same proportions. Nothing is lost,
    // because drawings can be rendered at any size.
    let factor = (f64::from(REQUESTED_SIDE_PX_MAX) / width.max(height)).min(1.0);
    // The cast saturates.
    let side = |length: f64| (length * factor).round().max(1.0) as u32;
    Some(Size::new(side(width), side(height)))
}

fn is_end_of_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/')
}

/// Splits `text` into the name and the value of its first attribute, and the rest.
fn attribute(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, rest) = text.split_at(text.iter().position(|byte| is_end_of_name(*byte))?);
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?;
    let (quote, rest) = rest.trim_ascii_start().split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let (value, rest) = rest.split_at(rest.iter().position(|byte| byte == quote)?);
    Some((name, value, &rest[1..]))
}

/// Returns a length in pixels. Returns `None` if the length is not positive, or is relative to the
/// font or to the surrounding page.
fn length(value: &[u8]) -> Option<f64> {
    let text = str::from_utf8(value.trim_ascii()).ok()?;
    let is_digit = |char: char| char.is_ascii_digit() || matches!(char, '+' | '-' | '.');
    let digits = text.find(|char| !is_digit(char)).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let px = match unit {
        "" | "px" => 1.0,
        "pt" => 96.0 / 72.0,
        "pc" => 16.0,
        "mm" => 96.0 / 25.4,
        "cm" => 96.0 / 2.54,
        "in" => 96.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    positive(number * px)
}

/// Returns the width and height of a `viewBox`.
fn view_box(value: &[u8]) -> Option<(f64, f64)> {
    let text = str::from_utf8(value).ok()?;
    let is_separator = |char: char| char.is_ascii_whitespace() || char == ',';
    let mut numbers = text.split(is_separator).filter(|part| !part.is_empty());
    let (width, height) = (numbers.nth(2)?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((positive(width)?, positive(height)?))
}

fn positive(number: f64) -> Option<f64> {
    (number.is_finite() && 0.0 < number).then_some(number)
}
