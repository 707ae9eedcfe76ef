//! One entry for every format that is read.

use image_plan::{Format, Raster};

use crate::{DecodeOptions, Error, ErrorKind, avif, bmp, gif, jpeg, png, webp};

/// A decoded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The pixels, as stored: orientation is the caller's.
    pub raster: Raster,
    /// The ICC profile that gives the pixels their colours, not checked in any way. Without one the picture is sRGB.
    pub profile: Option<Vec<u8>>,
    /// Whether the file was cut short or corrupt and the picture is what could be had of it.
    pub damaged: bool,
}

/// Decodes `bytes`, which begin with the magic of `format`; of an animated GIF or PNG the first frame.
///
/// | format | gives |
/// |---|---|
/// | JPEG | full-range BT.601 planes in the file's own subsampling; CMYK for CMYK and YCCK; RGB for what is left |
/// | PNG | RGB or RGBA; full-range grey planes with or without alpha |
/// | GIF, BMP | RGB or RGBA |
/// | WebP | limited-range BT.601 planes at 4:2:0 with or without alpha; RGB or RGBA when lossless |
/// | AVIF | planes as the file has them, with or without alpha; RGB or RGBA with the identity matrix |
///
/// Samples of more than 8 bits are rounded to 8. Alpha is straight, and left out when it hides nothing.
///
/// # Errors
/// [`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`] and [`ErrorKind::TooLarge`] are the file's fault,
/// [`ErrorKind::OutOfMemory`] is the host's.
pub fn decode(format: Format, bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    match format {
        Format::Jpeg => jpeg::decode(bytes, options),
        Format::Png => png::decode(bytes, options),
        Format::Gif => gif::decode(bytes, options),
        Format::Webp => webp::decode(bytes, options),
        Format::Avif => avif::decode(bytes, options),
        Format::Bmp => bmp::decode(bytes, options),
        Format::Svg => Err(Error::new(ErrorKind::Unsupported, "svg has no pixels")),
    }
}
