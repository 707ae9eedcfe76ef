//! Radiance HDR: parses the header. The decoder uses the same parser.
//!
//! ```text
//! "#?RADIANCE" or "#?RGBE" · lines of VARIABLE=value or comments · an empty line
//! the order and number of scanlines and pixels, such as "-Y 480 +X 640" · pixels
//! ```
//! Source: Greg Ward, Real Pixels (Graphics Gems II, 1991), and the Radiance file formats document.

use super::facts::{Colour, Facts, ProbeError, Unsupported};
use super::head::HeaderReader;
use crate::{Format, Orientation, Size};

/// Maximum length of a header in bytes. Programs write a few lines.
const HEADER_BYTES_MAX: usize = 4096;

/// Header of a Radiance HDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HdrHeader {
    /// Number of pixels per scanline as the width, and number of scanlines as the height.
    pub size: Size,
    /// Transformation that makes the picture upright.
    pub orientation: Orientation,
    /// Offset of the pixels in the file.
    pub pixels_at: usize,
    /// True if the pixels are not red, green and blue, but the tristimulus values XYZ.
    pub is_xyz: bool,
}

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let len = head.len_bytes().min(HEADER_BYTES_MAX as u64) as usize;
    let header = read_header(head.bytes(0, len)?);
    let header = header.ok_or(ProbeError::malformed("radiance hdr with a broken header"))?;
    Ok(Facts {
        orientation: header.orientation,
        unsupported: header.is_xyz.then_some(Unsupported::Samples),
        ..Facts::new(Format::Hdr, header.size, Colour::Rgb)
    })
}

/// Parses the header of a file that begins with `head`. Only the first 4,096 bytes are examined.
/// Returns `None` if they do not contain a whole header.
#[must_use]
pub fn read_header(head: &[u8]) -> Option<HdrHeader> {
    let head = &head[..head.len().min(HEADER_BYTES_MAX)];
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    let (mut pixels_at, mut is_xyz, mut is_after_variables) = (0, false, false);
    loop {
        let line = lines.next()?;
        pixels_at += line.len();
        let line = str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
        let line = line.trim_ascii();
        if is_after_variables {
            let (size, orientation) = resolution(line)?;
            return Some(HdrHeader {
                size,
                orientation,
                pixels_at,
                is_xyz,
            });
        }
        match line.split_once('=') {
            Some(("FORMAT", format)) => is_xyz = format.trim_ascii() != "32-bit_rle_rgbe",
            _ => is_after_variables = line.is_empty(),
        }
    }
}

/// Parses the line with the order and number of scanlines and pixels. The first axis is that of the
/// scanlines; `-Y` means from top to bottom, `+X` from left to right.
fn resolution(line: &str) -> Option<(Size, Orientation)> {
    let mut words = line.split_ascii_whitespace();
    let mut word = || words.next();
    let (first, scanlines, second, pixels) = (word()?, word()?, word()?, word()?);
    let orientation = match (first, second) {
        ("-Y", "+X") => Orientation::Upright,
        ("-Y", "-X") => Orientation::Mirror,
        ("+Y", "-X") => Orientation::Turn180,
        ("+Y", "+X") => Orientation::Flip,
        ("+X", "-Y") => Orientation::Transpose,
        ("-X", "-Y") => Orientation::Turn90,
        ("-X", "+Y") => Orientation::Transverse,
        ("+X", "+Y") => Orientation::Turn270,
        _ => return None,
    };
    let size = Size::new(pixels.parse().ok()?, scanlines.parse().ok()?);
    word().is_none().then_some((size, orientation))
}
