//! TGA: parses the header. The decoder uses the same parser. In the table, `@` precedes the offset
//! of a field in bytes.
//!
//! ```text
//! @0 length of the id · @1 palette type · @2 image type · @3 first palette index u16
//! @5 palette length u16 · @7 bits per palette entry · @8 origin u16, u16 · @12 width u16
//! @14 height u16 · @16 bits per pixel · @17 alpha bits, order of pixels · @18 id, palette, pixels
//! ```
//! A TGA has no magic bytes. A file counts as TGA if every field of its header has a value that the
//! format defines, all unused fields are zero, and the file either ends with the signature of the
//! version of 1989 or has a length that fits the header. A file name never decides: a file of
//! another type that is misnamed would be reported as a damaged picture.
//!
//! Source: Truevision TGA File Format Specification, version 2.0.

use super::facts::{Colour, Facts, ProbeError, ProbeErrorKind};
use super::head::HeaderReader;
use crate::{Format, Orientation, Size};

const HEADER_BYTES: u64 = 18;
const FOOTER_BYTES: u64 = 26;
/// Bits of the descriptor that hold the number of alpha bits per pixel.
const ALPHA_BITS: u8 = 0x0f;
/// Bits of the descriptor that hold the order of pixels: from right to left, from top to bottom.
const PIXEL_ORDER: u8 = 0x30;
const SIGNATURE: &[u8; 18] = b"TRUEVISION-XFILE.\0";

/// Meaning of the stored pixels of a TGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TgaColour {
    /// Indexes into the palette.
    Palette,
    /// Blue, green, red, and alpha if the pixel has 4 bytes; 5 bits each if it has 2 bytes.
    True,
    /// Grey, and alpha if the pixel has 2 bytes.
    Grey,
}

/// Header of a TGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TgaHeader {
    /// Size before orientation.
    pub size: Size,
    /// Transformation that makes the picture upright. Most files store the bottom row first.
    pub orientation: Orientation,
    /// Meaning of the pixels.
    pub colour: TgaColour,
    /// True if the pixels are run-length encoded.
    pub has_runs: bool,
    /// Number of bytes of a stored pixel or index, 1 to 4.
    pub pixel_bytes: u8,
    /// True if the header states that the fourth byte of a pixel or palette entry is alpha.
    pub states_alpha: bool,
    /// Index of the first palette entry.
    pub palette_first: u16,
    /// Number of palette entries in the file.
    pub palette_len: u16,
    /// Number of bytes of a palette entry; 0 without a palette.
    pub palette_entry_bytes: u8,
    /// Offset of the palette in the file.
    pub palette_at: u64,
    /// Offset of the pixels in the file.
    pub pixels_at: u64,
}

impl TgaHeader {
    /// Returns whether pixels may be transparent.
    #[must_use]
    pub const fn may_have_alpha(&self) -> bool {
        match self.colour {
            TgaColour::Palette => self.palette_entry_bytes == 4,
            TgaColour::True => self.pixel_bytes == 4,
            TgaColour::Grey => self.pixel_bytes == 2,
        }
    }

    /// Returns whether a file of `len_bytes` bytes can end directly after the pixels.
    const fn fits(&self, len_bytes: u64) -> bool {
        let pixels = self.size.pixels();
        let pixel_bytes = self.pixel_bytes as u64;
        let Some(data_bytes) = len_bytes.checked_sub(self.pixels_at) else {
            return false;
        };
        if self.has_runs {
            // A packet has a byte of its own and encodes 1 to 128 pixels.
            pixels.div_ceil(128) * (1 + pixel_bytes) <= data_bytes
                && data_bytes <= pixels * (1 + pixel_bytes)
        } else {
            data_bytes == pixels * pixel_bytes
        }
    }
}

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let header = read_header(head)?;
    let colour = match header.colour {
        TgaColour::Grey => Colour::Grey,
        TgaColour::Palette | TgaColour::True => Colour::Rgb,
    };
    Ok(Facts {
        orientation: header.orientation,
        alpha: header.may_have_alpha(),
        lossless: true,
        ..Facts::new(Format::Tga, header.size, colour)
    })
}

/// Returns the header of a TGA. Fails with [`ProbeErrorKind::Unknown`] if the file is not a TGA.
pub(super) fn read_header(head: &mut HeaderReader<'_>) -> Result<TgaHeader, ProbeError> {
    if head.len_bytes() <= HEADER_BYTES {
        return Err(ProbeError::unknown());
    }
    let fields: [u8; HEADER_BYTES as usize] = head.array(0)?;
    let header = parse(&fields).ok_or_else(ProbeError::unknown)?;
    if header.fits(head.len_bytes()) {
        return Ok(header);
    }
    let signature_at = head.len_bytes().saturating_sub(FOOTER_BYTES) + 8;
    match head.array(signature_at) {
        Ok(signature) if signature == *SIGNATURE => Ok(header),
        Err(err) if err.kind == ProbeErrorKind::Io => Err(err),
        _ => Err(ProbeError::unknown()),
    }
}

/// Parses the fields of a header. Returns `None` if one has a value that the format does not
/// define.
fn parse(fields: &[u8; HEADER_BYTES as usize]) -> Option<TgaHeader> {
    let [
        id_bytes,
        palette_type,
        image_type,
        first0,
        first1,
        len0,
        len1,
        entry_bits,
        _,
        _,
        _,
        _,
        w0,
        w1,
        h0,
        h1,
        pixel_bits,
        descriptor,
    ] = *fields;
    let size = Size::new(
        u16::from_le_bytes([w0, w1]).into(),
        u16::from_le_bytes([h0, h1]).into(),
    );
    let (palette_first, palette_len) = (
        u16::from_le_bytes([first0, first1]),
        u16::from_le_bytes([len0, len1]),
    );
    let colour = match image_type {
        1 | 9 => TgaColour::Palette,
        2 | 10 => TgaColour::True,
        3 | 11 => TgaColour::Grey,
        _ => return None,
    };
    let is_palette_defined = match (colour, palette_type) {
        (TgaColour::Palette, 1) => palette_len != 0 && matches!(entry_bits, 15 | 16 | 24 | 32),
        (TgaColour::True | TgaColour::Grey, 0) => {
            [palette_first, palette_len] == [0; 2] && entry_bits == 0
        }
        _ => false,
    };
    let is_defined = is_palette_defined
        && is_depth_defined(colour, pixel_bits, descriptor & ALPHA_BITS)
        && descriptor & !(ALPHA_BITS | PIXEL_ORDER) == 0
        && size.pixels() != 0;
    if !is_defined {
        return None;
    }
    let palette_entry_bytes = entry_bits.div_ceil(8);
    let palette_at = HEADER_BYTES + u64::from(id_bytes);
    Some(TgaHeader {
        size,
        orientation: orientation(descriptor),
        colour,
        has_runs: 8 < image_type,
        pixel_bytes: pixel_bits.div_ceil(8),
        states_alpha: descriptor & ALPHA_BITS == 8,
        palette_first,
        palette_len,
        palette_entry_bytes,
        palette_at,
        pixels_at: palette_at + u64::from(palette_len) * u64::from(palette_entry_bytes),
    })
}

/// Returns whether the format defines pixels of `pixel_bits`, of which `alpha_bits` are alpha.
const fn is_depth_defined(colour: TgaColour, pixel_bits: u8, alpha_bits: u8) -> bool {
    match (colour, pixel_bits) {
        (TgaColour::Palette, 8 | 16) => matches!(alpha_bits, 0 | 1 | 8),
        (TgaColour::True, 15 | 16) => alpha_bits <= 1,
        (TgaColour::True, 24) | (TgaColour::Grey, 8) => alpha_bits == 0,
        (TgaColour::True, 32) | (TgaColour::Grey, 16) => matches!(alpha_bits, 0 | 8),
        _ => false,
    }
}

/// Returns the transformation for the order of pixels that the descriptor states.
const fn orientation(descriptor: u8) -> Orientation {
    match descriptor & PIXEL_ORDER {
        0x00 => Orientation::Flip,
        0x10 => Orientation::Turn180,
        0x20 => Orientation::Upright,
        _ => Orientation::Mirror,
    }
}
