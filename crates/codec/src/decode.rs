//! One entry for every format that is read.

use picture::{Format, Raster};

use crate::{DecodeOptions, Error, ErrorKind};

/// A decoded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The pixels, as stored: orientation is the caller's.
    pub raster: Raster,
    /// The embedded ICC profile, not checked in any way. Without one the picture is sRGB.
    pub profile: Option<Vec<u8>>,
    /// Whether the file was cut short or corrupt and the picture is what could be had of it.
    pub damaged: bool,
}

/// Decodes `bytes`, which begin with the magic of `format`; of an animation the first frame.
///
/// # Errors
/// [`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`] and [`ErrorKind::TooLarge`] are the file's fault,
/// [`ErrorKind::OutOfMemory`] is the host's.
pub fn decode(format: Format, bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let _ = (bytes, options);
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("{format:?} is not decoded"),
    ))
}
