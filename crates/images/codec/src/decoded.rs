//! Result of decoding a picture.

use image_plan::Raster;

/// Result of [`decode`](crate::decode): the pixels and the profile of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Pixels as stored; the caller applies the orientation.
    pub raster: Raster,
    /// ICC profile of the pixels, not validated. Without a profile the picture is sRGB.
    pub profile: Option<Vec<u8>>,
    /// True if the file was truncated or corrupt; the raster then holds the part that could be
    /// decoded.
    pub damaged: bool,
}
