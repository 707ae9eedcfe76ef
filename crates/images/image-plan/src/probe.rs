//! Reads the properties of a picture from its header, in a few small positioned reads.

mod avif;
mod bmp;
mod cr3;
mod exif;
mod facts;
mod gif;
mod hdr;
mod head;
mod heif;
mod ico;
mod jpeg;
mod jxl;
mod png;
mod pnm;
mod preview;
mod psd;
mod qoi;
mod raw;
mod svg;
#[cfg(test)]
mod tests;
mod tga;
mod tiff;
mod webp;

use crate::{Format, SNIFF_BYTES, Size};
use head::HeaderReader;

pub use facts::{Colour, Facts, Frames, ProbeError, ProbeErrorKind, Unsupported};
pub use hdr::{HdrHeader, read_header as hdr_header};
pub use head::{PROBE_BYTES_MAX, PROBE_READ_BYTES_MAX, PROBE_READS_MAX};
pub use ico::IcoEntry;
pub(crate) use ico::is_ico;
pub(crate) use pnm::is_pnm;
pub use pnm::{PnmCoding, PnmHeader, read_header as pnm_header};
pub use preview::Preview;
pub use psd::{PsdColour, PsdHeader};
pub use read_at::ReadAt;
pub use svg::SVG_BYTES_MAX;
pub use tga::{TgaColour, TgaHeader};
pub use tiff::{PAGES_MAX, TiffAlpha, TiffArray, TiffColour, TiffCompression, TiffPage};

/// Maximum number of pixels that one byte of a file can encode. Deflate packs up to 8,256 pixels of
/// a black and white PNG into a byte; GIF, JPEG, BMP, TGA, QOI and PNM need more bits per pixel, so
/// that one byte encodes fewer than 3,000 pixels. WebP, AVIF and the runs of Radiance HDR have no
/// such bound, and the strips of a TIFF can share bytes.
const PIXELS_PER_BYTE_MAX: u64 = 10_000;
/// Minimum number of pixels of a picture that can count as sparse, that is, as having too few bytes
/// for its pixels. Smaller pictures are cheap to decode in any case.
const SPARSE_PIXELS_MIN: u64 = 4 << 20;

fn is_sparse(facts: &Facts, len_bytes: u64) -> bool {
    let pixels = facts.stored.pixels();
    matches!(
        facts.format,
        Format::Jpeg
            | Format::Png
            | Format::Gif
            | Format::Bmp
            | Format::Tga
            | Format::Qoi
            | Format::Pnm
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
    probe_page(source, len_bytes, 1)
}

/// Reads the header of the page with number `page`, counted from 1, of a picture file of
/// `len_bytes` bytes. Only TIFF has several pages. The reads are limited as those of [`probe`].
///
/// # Errors
/// As [`probe`]; [`ProbeErrorKind::NoPage`] if the picture has fewer pages.
pub fn probe_page(
    source: &(impl ReadAt + ?Sized),
    len_bytes: u64,
    page: u16,
) -> Result<Facts, ProbeError> {
    let mut head = HeaderReader::new(&source, len_bytes);
    let sniffed = head.bytes(0, len_bytes.min(SNIFF_BYTES as u64) as usize)?;
    // TGA has no magic bytes. Its parser refuses the files of all other formats.
    let format = match Format::sniff(sniffed) {
        None if svg::probe_compressed(&mut head)?.is_some() => Format::Svgz,
        sniffed => sniffed.unwrap_or(Format::Tga),
    };
    let facts = match format {
        Format::Jpeg => jpeg::probe(&mut head)?,
        Format::Png => png::probe(&mut head)?,
        Format::Gif => gif::probe(&mut head)?,
        Format::Webp => webp::probe(&mut head)?,
        Format::Avif => avif::probe(&mut head)?,
        Format::Bmp => bmp::probe(&mut head)?,
        Format::Jxl => jxl::probe(&mut head)?,
        Format::Svg => svg::probe(&mut head)?,
        Format::Svgz => svg::probe_compressed(&mut head)?.ok_or(ProbeError::unknown())?,
        Format::Tiff if is_camera_raw(&mut head)? => preview::find(&mut head, Format::Raw)?.facts,
        Format::Tiff => tiff::probe(&mut head, page)?,
        Format::Heif | Format::Raw => preview::find(&mut head, format)?.facts,
        Format::Ico => ico::probe(&mut head)?,
        Format::Tga => tga::probe(&mut head)?,
        Format::Qoi => qoi::probe(&mut head)?,
        Format::Pnm => pnm::probe(&mut head)?,
        Format::Hdr => hdr::probe(&mut head)?,
        Format::Psd => psd::probe(&mut head)?,
    };
    if !(1..=facts.pages).contains(&page) {
        return Err(ProbeError::new(ProbeErrorKind::NoPage, "no such page"));
    }
    if facts.stored.pixels() == 0 {
        return Err(ProbeError::malformed("picture without pixels"));
    }
    Ok(Facts {
        sparse: is_sparse(&facts, len_bytes),
        ..facts
    })
}

/// Returns the size of the upright picture in a HEIC or HEIF file. Pelton converts only the preview
/// in the file, which is usually smaller, so [`probe`] returns the preview's size.
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

/// Returns whether a TIFF is a raw file of a camera. A file with a malformed first directory is not
/// one.
fn is_camera_raw(head: &mut HeaderReader<'_>) -> Result<bool, ProbeError> {
    match tiff::is_camera_raw(head) {
        Err(err) if err.kind == ProbeErrorKind::Io => Err(err),
        Err(_) => Ok(false),
        Ok(is_raw) => Ok(is_raw),
    }
}

/// Finds the largest embedded JPEG preview of a HEIC, HEIF or camera raw file. `format` is
/// [`Format::Heif`] or [`Format::Raw`].
///
/// # Errors
/// [`ProbeErrorKind::NoPreview`] if no preview is found.
pub fn preview(bytes: &[u8], format: Format) -> Result<Preview, ProbeError> {
    preview::find(&mut HeaderReader::new(&bytes, bytes.len() as u64), format)
}

/// Reads the directory of the page with number `page`, counted from 1, of a TIFF.
///
/// # Errors
/// [`ProbeError`] if the directory is missing or malformed, or needs too many reads.
pub fn tiff_page(bytes: &[u8], page: u16) -> Result<TiffPage, ProbeError> {
    tiff::read_page(&mut HeaderReader::new(&bytes, bytes.len() as u64), page)
}

/// Reads the header of a TGA.
///
/// # Errors
/// [`ProbeErrorKind::Unknown`] if the bytes are not a TGA.
pub fn tga_header(bytes: &[u8]) -> Result<TgaHeader, ProbeError> {
    tga::read_header(&mut HeaderReader::new(&bytes, bytes.len() as u64))
}

/// Finds the largest picture of an ICO.
///
/// # Errors
/// [`ProbeError`] if there is no picture, or if it is malformed.
pub fn ico_entry(bytes: &[u8]) -> Result<IcoEntry, ProbeError> {
    ico::read_entry(&mut HeaderReader::new(&bytes, bytes.len() as u64))
}

/// Reads the header of a PSD or PSB.
///
/// # Errors
/// [`ProbeError`] if the header is malformed or cut off.
pub fn psd_header(bytes: &[u8]) -> Result<PsdHeader, ProbeError> {
    psd::read_header(&mut HeaderReader::new(&bytes, bytes.len() as u64))
}
