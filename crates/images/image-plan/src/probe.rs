//! What a picture's header says, read in a few small positioned reads.

mod avif;
mod bmp;
mod exif;
mod gif;
mod head;
mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod webp;

use crate::{Format, Orientation, SNIFF_BYTES, Size, Subsampling};
use head::Head;
use std::{error, fmt, io};

pub use head::{PROBE_BYTES_MAX, PROBE_READ_BYTES_MAX, PROBE_READS_MAX};

/// Bytes that can be read at any offset: a file, or memory.
pub trait ReadAt {
    /// Fills the beginning of `buf` with the bytes at `offset` and says how many there were; 0 is the end.
    ///
    /// # Errors
    /// Whatever the source meets.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |start| start.min(self.len()));
        let count = buf.len().min(self.len() - start);
        buf[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }
}

impl<S: ReadAt + ?Sized> ReadAt for &S {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }
}

/// What a header says of its picture. Nothing was decoded, so a decoder may still find that it lied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// By magic bytes.
    pub format: Format,
    /// As stored, before orientation; 1 × 1 for SVG, which has no pixels.
    pub stored: Size,
    /// What makes the picture upright: EXIF's, or AVIF's `irot` and `imir`.
    pub orientation: Orientation,
    /// What the samples mean.
    pub colour: Colour,
    /// Bits a sample; of the palette's colours where there is a palette.
    pub bit_depth: u8,
    /// Relation of chroma to luma, where the header says it and it has a name.
    pub subsampling: Option<Subsampling>,
    /// More than one frame, or so many bytes in the first that nobody looked further.
    pub animated: bool,
    /// Whether some pixel may be transparent.
    pub alpha: bool,
    /// Whether the file keeps every sample exactly: PNG, GIF, BMP and lossless WebP.
    pub lossless: bool,
    /// Progressive JPEG, or interlaced PNG: the decoder holds the whole picture.
    pub progressive: bool,
    /// Size of the ICC profile as stored (compressed in PNG); 0 when there is none.
    pub profile_bytes: u64,
    /// Quality of a JPEG on libjpeg's scale of 1…100, estimated from its quantisation table.
    pub jpeg_quality: Option<u8>,
    /// Whether the file is too short for nearly all of its pixels, so that to decode it is to paint emptiness.
    pub sparse: bool,
    /// Why no worker may convert the picture.
    pub unsupported: Option<Unsupported>,
}

impl Facts {
    /// Facts of a plain upright 8-bit picture.
    const fn new(format: Format, stored: Size, colour: Colour) -> Facts {
        Facts {
            format,
            stored,
            orientation: Orientation::Upright,
            colour,
            bit_depth: 8,
            subsampling: None,
            animated: false,
            alpha: false,
            lossless: false,
            progressive: false,
            profile_bytes: 0,
            jpeg_quality: None,
            sparse: false,
            unsupported: None,
        }
    }

    /// Size of the upright picture.
    #[must_use]
    pub const fn oriented(&self) -> Size {
        if self.orientation.transposes() {
            self.stored.transposed()
        } else {
            self.stored
        }
    }

    /// Whether the file carries an ICC profile.
    #[must_use]
    pub const fn profile(&self) -> bool {
        self.profile_bytes != 0
    }
}

/// What the samples of a file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    /// Luma only.
    Grey,
    /// Red, green, blue; indirectly, where there is a palette.
    Rgb,
    /// Luma and two chromas.
    Ycc,
    /// Inks: cyan, magenta, yellow, black.
    Cmyk,
    /// Cyan, magenta and yellow as luma and chromas, and black.
    Ycck,
}

/// Sound pictures that Pelton passes through and does not convert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsupported {
    /// SVG: drawn by clients only.
    Vector,
    /// JPEG with other than 8 bits a sample.
    Precision,
    /// JPEG that is lossless or hierarchical.
    Process,
    /// JPEG with two components, or more than four.
    Components,
    /// PQ or HLG: converting to 8-bit SDR needs tone mapping.
    Hdr,
    /// AVIF with a clean aperture, a crop that libavif leaves to the caller.
    Aperture,
    /// BMP that wraps a JPEG or PNG, or has a depth nobody writes.
    Compression,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsupported::Vector => "vector graphics",
            Unsupported::Precision => "jpeg with other than 8 bits a sample",
            Unsupported::Process => "lossless or hierarchical jpeg",
            Unsupported::Components => "jpeg with other than 1, 3 or 4 components",
            Unsupported::Hdr => "high dynamic range",
            Unsupported::Aperture => "avif with a clean aperture",
            Unsupported::Compression => "bmp with an unusual compression or depth",
        })
    }
}

/// Branches a caller takes on a failed probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeErrorKind {
    /// Not a picture.
    Unknown,
    /// A picture whose header is cut off.
    Truncated,
    /// A picture whose header contradicts itself or its format, or exceeds the probe's limits.
    Malformed,
    /// The source could not be read: the host's fault, and not to be remembered.
    Io,
}

/// Why a header was not understood. All but [`ProbeErrorKind::Io`] are the picture's fault.
#[derive(Debug)]
pub struct ProbeError {
    /// What a caller acts on.
    pub kind: ProbeErrorKind,
    /// For the log.
    pub detail: &'static str,
    source: Option<io::Error>,
}

impl ProbeError {
    const fn new(kind: ProbeErrorKind, detail: &'static str) -> ProbeError {
        ProbeError {
            kind,
            detail,
            source: None,
        }
    }

    const fn unknown() -> ProbeError {
        ProbeError::new(ProbeErrorKind::Unknown, "not a picture")
    }

    const fn malformed(detail: &'static str) -> ProbeError {
        ProbeError::new(ProbeErrorKind::Malformed, detail)
    }

    const fn truncated() -> ProbeError {
        ProbeError::new(ProbeErrorKind::Truncated, "header is cut off")
    }

    const fn io(source: io::Error) -> ProbeError {
        ProbeError {
            kind: ProbeErrorKind::Io,
            detail: "reading the header failed",
            source: Some(source),
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail)
    }
}

impl error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// Pixels that a byte of a file can stand for. Deflate packs 8,256 pixels of a black and white PNG into one; GIF, JPEG and
/// BMP, whose codes are longer, fewer than 3,000. WebP and AVIF have no such bound.
const PIXELS_PER_BYTE_MAX: u64 = 10_000;
/// Pictures of fewer pixels are cheap to decode, whatever is missing.
const SPARSE_PIXELS_MIN: u64 = 4 << 20;

fn is_sparse(facts: &Facts, len_bytes: u64) -> bool {
    let pixels = facts.stored.pixels();
    matches!(
        facts.format,
        Format::Jpeg | Format::Png | Format::Gif | Format::Bmp
    ) && SPARSE_PIXELS_MIN < pixels
        && len_bytes.saturating_mul(PIXELS_PER_BYTE_MAX) < pixels
}

/// Reads the header of a picture of `len_bytes` bytes, in at most [`PROBE_READS_MAX`] reads of at most
/// [`PROBE_READ_BYTES_MAX`] bytes and [`PROBE_BYTES_MAX`] in all, however large the file or what it claims.
///
/// # Errors
/// [`ProbeError`] when the bytes are not a picture Pelton knows, or not a sound one.
pub fn probe(source: &(impl ReadAt + ?Sized), len_bytes: u64) -> Result<Facts, ProbeError> {
    let mut head = Head::new(&source, len_bytes);
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

/// The size of the upright picture in a HEIC or HEIF file, which Pelton lists and does not convert, so that [`probe`] does not
/// know it.
///
/// # Errors
/// [`ProbeError`] when the bytes are no such file, or not a sound one.
pub fn heif_size(source: &(impl ReadAt + ?Sized), len_bytes: u64) -> Result<Size, ProbeError> {
    let size = avif::heif_size(&mut Head::new(&source, len_bytes))?;
    match size.pixels() {
        0 => Err(ProbeError::malformed("picture without pixels")),
        _ => Ok(size),
    }
}
