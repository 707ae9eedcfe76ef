//! Properties of a picture as its header states them, and failures to read the header.

use std::{fmt, io};

use thiserror::Error;

use crate::{Format, Orientation, Size, Subsampling};

/// Properties of a picture, as stated by its header. Nothing was decoded, so a decoder may still
/// find that the header is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Format, detected by magic bytes.
    pub format: Format,
    /// Size of the picture as stored, before orientation. For a drawing: the size that the file
    /// states, or 1 × 1 if that size is not known.
    pub stored: Size,
    /// Transformation that makes the picture upright, from EXIF, or from AVIF's `irot` and `imir`.
    pub orientation: Orientation,
    /// Colour space of the samples.
    pub colour: Colour,
    /// Number of bits per sample. In palette pictures, the samples are those of the palette's
    /// colours.
    pub bit_depth: u8,
    /// Chroma subsampling, if the header states it and [`Subsampling`] has a variant for it.
    pub subsampling: Option<Subsampling>,
    /// True if the picture has more than one frame. Also true if the first frame is so long that
    /// the probe stopped before its end.
    pub animated: bool,
    /// True if some pixel may be transparent.
    pub alpha: bool,
    /// True if the file stores every sample exactly: all formats except JPEG, lossy WebP, AVIF,
    /// TIFF with JPEG inside, and Radiance HDR, whose pixels share an exponent.
    pub lossless: bool,
    /// True for progressive JPEG and interlaced PNG, whose decoders hold the whole picture in
    /// memory.
    pub progressive: bool,
    /// Size of the ICC profile in bytes as stored (compressed in PNG); 0 if there is none.
    pub profile_bytes: u64,
    /// Quality of a JPEG on libjpeg's scale of 1…100, estimated from its quantisation table.
    pub jpeg_quality: Option<u8>,
    /// True if the file has too few bytes to encode all of its pixels, so that decoding it is a
    /// waste of time. Always false for small pictures, and for formats other than JPEG, PNG, GIF,
    /// BMP, TGA, QOI and PNM.
    pub sparse: bool,
    /// Reason why workers cannot convert the picture, if any.
    pub unsupported: Option<Unsupported>,
    /// Number of pages of the file; more than 1 only for TIFF. At most [`crate::PAGES_MAX`].
    pub pages: u16,
    /// Number of frames; `Exactly(1)` for a still picture.
    pub frames: Frames,
}

/// Number of frames of a picture. The probe counts frames without decoding them, and stops at a
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frames {
    /// The file has, or claims to have, this number of frames.
    Exactly(u32),
    /// The file has at least this number of frames; the probe stopped before the end.
    AtLeast(u32),
}

impl Frames {
    /// Returns the number of frames that were counted.
    #[must_use]
    pub const fn counted(self) -> u32 {
        match self {
            Frames::Exactly(frames) | Frames::AtLeast(frames) => frames,
        }
    }
}

impl Facts {
    /// Returns facts with the given properties; all other properties are those of a plain upright
    /// 8-bit picture.
    pub(super) const fn new(format: Format, stored: Size, colour: Colour) -> Facts {
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
            pages: 1,
            frames: Frames::Exactly(1),
        }
    }

    /// Returns whether the picture can be converted. The response to a request for it may then
    /// depend on the formats that the client accepts.
    #[must_use]
    pub const fn is_convertible(&self) -> bool {
        self.unsupported.is_none() && (!self.animated || self.has_decodable_frames())
    }

    /// Returns whether the frames of the original can be decoded.
    pub(crate) const fn has_decodable_frames(&self) -> bool {
        self.animated && matches!(self.format, Format::Gif | Format::Png | Format::Webp)
    }

    /// Returns the size of the upright picture.
    #[must_use]
    pub const fn oriented(&self) -> Size {
        if self.orientation.transposes() {
            self.stored.transposed()
        } else {
            self.stored
        }
    }

    /// Returns the size of the upright picture after it is rotated by `orientation`.
    #[must_use]
    pub const fn rotated(&self, orientation: Orientation) -> Size {
        if orientation.transposes() {
            self.oriented().transposed()
        } else {
            self.oriented()
        }
    }

    /// Returns whether the file contains an ICC profile.
    #[must_use]
    pub const fn profile(&self) -> bool {
        self.profile_bytes != 0
    }
}

/// Colour space of a file's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    /// Luma only.
    Grey,
    /// Red, green and blue, stored directly or through a palette.
    Rgb,
    /// Luma and two chroma components.
    Ycc,
    /// Inks: cyan, magenta, yellow, black.
    Cmyk,
    /// Black, plus cyan, magenta and yellow coded as luma and two chroma components.
    Ycck,
}

/// Reason why a valid picture is not converted but sent unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsupported {
    /// SVG that is too large, or whose root element is too long.
    Vector,
    /// JPEG with a precision other than 8 bits per sample.
    Precision,
    /// JPEG that is lossless or hierarchical.
    Process,
    /// JPEG with two components, or more than four.
    Components,
    /// Picture with the transfer curve PQ or HLG: converting it to 8-bit SDR needs tone mapping.
    Hdr,
    /// AVIF with a clean aperture, a crop that libavif does not apply itself.
    Aperture,
    /// BMP that contains a JPEG or PNG, or has an unusual depth.
    Compression,
    /// TIFF with a compression, a depth or a colour space that workers do not decode.
    Tiff,
    /// Raw data of a camera in a TIFF.
    CameraRaw,
    /// Samples with a meaning or a depth that workers do not convert, such as those of Lab.
    Samples,
    /// PSD without a flattened picture.
    Layers,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsupported::Vector => "svg that is too large",
            Unsupported::Precision => "jpeg with a precision other than 8 bits",
            Unsupported::Process => "lossless or hierarchical jpeg",
            Unsupported::Components => "jpeg with other than 1, 3 or 4 components",
            Unsupported::Hdr => "picture of high dynamic range",
            Unsupported::Aperture => "avif with a clean aperture",
            Unsupported::Compression => "bmp with an unusual compression or depth",
            Unsupported::Tiff => "tiff with an unusual compression, depth or colour space",
            Unsupported::CameraRaw => "raw data of a camera",
            Unsupported::Samples => "samples of an unusual colour space or depth",
            Unsupported::Layers => "photoshop document without a flattened picture",
        })
    }
}

/// Kind of a probe failure, by which callers choose their response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeErrorKind {
    /// The file is not a picture of a supported format.
    Unknown,
    /// The file ends before the end of the picture's header.
    Truncated,
    /// The picture's header contradicts itself or its format, or exceeds the probe's limits.
    Malformed,
    /// The picture has no page of the requested number.
    NoPage,
    /// The file is HEIC, HEIF or camera raw without an embedded JPEG preview.
    NoPreview,
    /// The source could not be read. This is a fault of the host, and must not be remembered as a
    /// fault of the picture.
    Io,
}

/// Failure to read a picture's header. All kinds but [`ProbeErrorKind::Io`] are the picture's
/// fault.
#[derive(Debug, Error)]
#[error("{detail}")]
pub struct ProbeError {
    /// Kind of the failure, by which callers choose their response.
    pub kind: ProbeErrorKind,
    /// Description for the log.
    pub detail: &'static str,
    source: Option<io::Error>,
}

impl ProbeError {
    pub(super) const fn new(kind: ProbeErrorKind, detail: &'static str) -> ProbeError {
        ProbeError {
            kind,
            detail,
            source: None,
        }
    }

    pub(super) const fn unknown() -> ProbeError {
        ProbeError::new(ProbeErrorKind::Unknown, "not a picture")
    }

    pub(super) const fn malformed(detail: &'static str) -> ProbeError {
        ProbeError::new(ProbeErrorKind::Malformed, detail)
    }

    pub(super) const fn truncated() -> ProbeError {
        ProbeError::new(ProbeErrorKind::Truncated, "the header is cut off")
    }

    pub(super) const fn io(source: io::Error) -> ProbeError {
        ProbeError {
            kind: ProbeErrorKind::Io,
            detail: "reading the header failed",
            source: Some(source),
        }
    }
}
