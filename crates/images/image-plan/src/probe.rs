//! Reads the properties of a picture from its header, in a few small positioned reads.

mod avif;
mod bmp;
mod exif;
mod facts;
mod gif;
mod head;
mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod webp;

use crate::{Format, SNIFF_BYTES, Size};
use head::HeaderReader;

pub use facts::{Colour, Facts, ProbeError, ProbeErrorKind, Unsupported};
pub use head::{PROBE_BYTES_MAX, PROBE_READ_BYTES_MAX, PROBE_READS_MAX};
pub use read_at::ReadAt;

/// Maximum number of pixels that one byte of a file can encode. Deflate packs up to 8,256 pixels of
/// a black and white PNG into a byte; GIF, JPEG and BMP need more bits per pixel, so that one byte
/// encodes fewer than 3,000 pixels. WebP and AVIF have no such bound.
const PIXELS_PER_BYTE_MAX: u64 = 10_000;
/// Minimum number of pixels of a picture that can count as sparse, that is, as having too few bytes
/// for its pixels. Smaller pictures are cheap to decode in any case.
const SPARSE_PIXELS_MIN: u64 = 4 << 20;

fn is_sparse(facts: &Facts, len_bytes: u64) -> bool {
    let pixels = facts.stored.pixels();
    matches!(
        facts.format,
        Format::Jpeg | Format::Png | Format::Gif | Format::Bmp
    ) && SPARSE_PIXELS_MIN < pixels
        && len_bytes.saturating_mul(PIXELS_PER_BYTE_MAX) < pixels
}

/// Reads the header of a picture file of `len_bytes` bytes. Makes at most [`PROBE_READS_MAX`] reads
/// of at most [`PROBE_READ_BYTES_MAX`] bytes each and [`PROBE_BYTES_MAX`] in total, regardless of
/// the file's size and contents.
///
/// # Errors
/// [`ProbeError`] if the bytes are not a picture of a supported format, or not a valid one.
pub fn probe(source: &(impl ReadAt + ?Sized), len_bytes: u64) -> Result<Facts, ProbeError> {
    let mut head = HeaderReader::new(&source, len_bytes);
    let sniffed = head.bytes(0, len_bytes.min(SNIFF_BYTES as u64) as usize)?;
    let Some(format) = Format::sniff(sniffed) else {
        return Err(ProbeError::unknown());
    };
    let facts = match format {
        Format::Jpeg => jpeg::probe(&mut head)?,
        Format::Png => png::probe(&mut head)?,
        Format::Gif => gif::probe(&mut head)?,
        Format::Webp => webp::probe(&mut head)?,
        Format::Avif => avif::probe(&mut head)?,
        Format::Bmp => bmp::probe(&mut head)?,
        Format::Svg => Facts {
            unsupported: Some(Unsupported::Vector),
            alpha: true,
            ..Facts::new(format, Size::new(1, 1), Colour::Rgb)
        },
    };
    if facts.stored.pixels() == 0 {
        return Err(ProbeError::malformed("picture without pixels"));
    }
    Ok(Facts {
        sparse: is_sparse(&facts, len_bytes),
        ..facts
    })
}

/// Returns the size of the upright picture in a HEIC or HEIF file. Pelton lists these files but
/// does not convert them, and [`probe`] does not recognize them.
///
/// # Errors
/// [`ProbeError`] if the bytes are not HEIC or HEIF, or not valid.
pub fn heif_size(source: &(impl ReadAt + ?Sized), len_bytes: u64) -> Result<Size, ProbeError> {
    let size = avif::heif_size(&mut HeaderReader::new(&source, len_bytes))?;
    match size.pixels() {
        0 => Err(ProbeError::malformed("picture without pixels")),
        _ => Ok(size),
    }
}
