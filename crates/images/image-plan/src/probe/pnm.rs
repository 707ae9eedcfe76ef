//! PNM: parses the header of PBM, PGM, PPM and PAM. The decoder uses the same parser.
//!
//! ```text
//! P1…P6   width, height and, unless the samples are bits, the maximum sample, in decimal digits
//!         between white space and comments; one byte of white space; the samples
//! P7      lines of a keyword and its value; ENDHDR; the samples
//! ```
//! A file may contain several pictures. Only the first one is read.
//!
//! Source: the manual pages pbm(5), pgm(5), ppm(5) and pam(5) of Netpbm.

use super::facts::{Colour, Facts, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, SNIFF_BYTES, Size};

/// Coding of the samples of a PNM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PnmCoding {
    /// Decimal digits.
    Text,
    /// Bits in rows of whole bytes. A bit of 1 is black, as in PBM as text.
    Bits,
    /// Integers of one byte, or of two bytes if the maximum exceeds 255.
    Integers,
}

/// Header of a PNM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PnmHeader {
    /// Size of the picture.
    pub size: Size,
    /// Number of samples per pixel: grey, grey and alpha, RGB, or RGBA.
    pub samples: u8,
    /// Value of the largest sample, 1 to 65535.
    pub sample_max: u16,
    /// Coding of the samples.
    pub coding: PnmCoding,
    /// True for PBM, where 1 is black.
    pub is_inverted: bool,
    /// Offset of the samples in the file.
    pub samples_at: usize,
    /// True if the samples have a meaning that Pelton does not know.
    pub is_unsupported: bool,
}

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let len = head.len_bytes().min(SNIFF_BYTES as u64) as usize;
    let header = read_header(head.bytes(0, len)?);
    let header = header.ok_or(ProbeError::malformed("pnm with a broken header"))?;
    let colour = match header.samples {
        1 | 2 => Colour::Grey,
        _ => Colour::Rgb,
    };
    Ok(Facts {
        bit_depth: match header.sample_max {
            1 => 1,
            2..=255 => 8,
            _ => 16,
        },
        alpha: matches!(header.samples, 2 | 4),
        lossless: true,
        unsupported: header.is_unsupported.then_some(Unsupported::Samples),
        ..Facts::new(Format::Pnm, header.size, colour)
    })
}

/// Parses the header of a file that begins with `head`. Only the first [`SNIFF_BYTES`] are
/// examined. Returns `None` if they do not contain a whole header.
#[must_use]
pub fn read_header(head: &[u8]) -> Option<PnmHeader> {
    let head = &head[..head.len().min(SNIFF_BYTES)];
    let mut text = Text { head, at: 2 };
    let (coding, samples, is_bitmap) = match head.first_chunk()? {
        b"P1" => (PnmCoding::Text, 1, true),
        b"P2" => (PnmCoding::Text, 1, false),
        b"P3" => (PnmCoding::Text, 3, false),
        b"P4" => (PnmCoding::Bits, 1, true),
        b"P5" => (PnmCoding::Integers, 1, false),
        b"P6" => (PnmCoding::Integers, 3, false),
        b"P7" => return text.arbitrary(),
        _ => return None,
    };
    let size = Size::new(text.number()?, text.number()?);
    let sample_max = match is_bitmap {
        true => 1,
        false => u16::try_from(text.number()?).ok().filter(|max| *max != 0)?,
    };
    head.get(text.at)
        .filter(|byte| byte.is_ascii_whitespace())?;
    Some(PnmHeader {
        size,
        samples,
        sample_max,
        coding,
        is_inverted: is_bitmap,
        samples_at: text.at + 1,
        is_unsupported: false,
    })
}

/// Returns whether a file that begins with `head` is a PNM. Prose can begin like a header, such as
/// "P1 10 20 minutes", so samples as text must consist of digits, white space and comments.
pub(crate) fn is_pnm(head: &[u8]) -> bool {
    read_header(head).is_some_and(|header| {
        header.coding != PnmCoding::Text || are_text_samples(&head[header.samples_at - 1..])
    })
}

/// Returns whether `text` consists of digits, white space and comments.
fn are_text_samples(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n');
    let samples = lines.map(|line| line.split(|byte| *byte == b'#').next().unwrap_or(line));
    let is_sample = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace();
    samples.flatten().all(is_sample)
}

/// Reader of a header's text.
struct Text<'a> {
    head: &'a [u8],
    at: usize,
}

impl Text<'_> {
    /// Reads a number after white space and comments, of which there must be some.
    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        loop {
            match self.head.get(self.at)? {
                b'#' => while self.next()? != b'\n' {},
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        let digits_at = self.at;
        let digits = self.head[digits_at..].iter();
        self.at += digits.take_while(|byte| byte.is_ascii_digit()).count();
        let digits = str::from_utf8(&self.head[digits_at..self.at]).ok()?;
        (start < digits_at).then(|| digits.parse().ok())?
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.head.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a line without its end.
    fn line(&mut self) -> Option<&str> {
        let start = self.at;
        while self.next()? != b'\n' {}
        str::from_utf8(&self.head[start..self.at - 1]).ok()
    }

    /// Reads the header of a PAM after its magic bytes.
    fn arbitrary(&mut self) -> Option<PnmHeader> {
        let (mut width, mut height, mut depth, mut max) = (None, None, None, None);
        let mut is_known = true;
        self.line().filter(|rest| rest.trim_ascii().is_empty())?;
        loop {
            let line = self.line()?.trim_ascii();
            let (keyword, value) = line.split_once(' ').unwrap_or((line, ""));
            let number = || value.trim_ascii().parse::<u32>().ok();
            match keyword {
                "WIDTH" => width = number(),
                "HEIGHT" => height = number(),
                "DEPTH" => depth = number(),
                "MAXVAL" => max = number(),
                "TUPLTYPE" => {
                    let base = value.trim_ascii().trim_end_matches("_ALPHA");
                    is_known = matches!(base, "BLACKANDWHITE" | "GRAYSCALE" | "RGB");
                }
                "ENDHDR" => break,
                "" => {}
                comment if comment.starts_with('#') => {}
                _ => return None,
            }
        }
        let samples = u8::try_from(depth?).ok()?;
        Some(PnmHeader {
            size: Size::new(width?, height?),
            samples: samples.clamp(1, 4),
            sample_max: u16::try_from(max?).ok().filter(|max| *max != 0)?,
            coding: PnmCoding::Integers,
            is_inverted: false,
            samples_at: self.at,
            is_unsupported: !is_known || !matches!(samples, 1..=4),
        })
    }
}
