//! URLs of the IIIF Image API 3.0, as a further spelling of recipes. The grammar is that of the
//! specification, §4 ("Image Requests") and §5 ("Image Information").
//!
//! ```text
//! identifier                                            redirects to info.json
//! identifier / info.json                                properties of the picture
//! identifier / region / size / rotation / quality.format
//! ```
//!
//! A URL is parsed before its picture is known. [`IiifRequest::resolve`] then applies it to the
//! picture's size, because regions and sizes are judged by that size. The specification rotates
//! last, a recipe before it crops; so the region is moved to where the rotation puts it.

mod decimal;
mod grammar;
mod information;
mod resolve;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::{Limits, Recipe, Target};

pub use grammar::{IiifTarget, IiifUrl};
pub use information::IiifInformation;

/// URI of the compliance level, the value of the link `rel="profile"`.
pub const IIIF_PROFILE: &str = "http://iiif.io/api/image/3/level2.json";
/// URI of the JSON-LD context of an info.json.
pub const IIIF_CONTEXT: &str = "http://iiif.io/api/image/3/context.json";
/// Maximum side of an output in pixels: the longest that all formats support.
pub const IIIF_SIDE_PX_MAX: u32 = Target::Webp.side_px_max();
/// Side of a tile in pixels.
pub const IIIF_TILE_PX: u32 = 512;

/// Region of the upright picture that is extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    /// Whole picture.
    Full,
    /// Largest square around the centre.
    Square,
    /// Left and top edge, width and height in pixels.
    Pixels([u32; 4]),
    /// Left and top edge, width and height in percent of the picture, each in the unit of
    /// [`decimal`].
    Percent([u64; 4]),
}

/// Size to which the region is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Max,
    Width(u32),
    Height(u32),
    /// Percent of the region, in the unit of [`decimal`].
    Percent(u64),
    /// Exactly this width and height.
    Exact(u32, u32),
    /// Largest size of the region's proportions within this width and height.
    Confined(u32, u32),
}

/// Permission to make the output larger than the region, by the sign `^`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Upscaling {
    Refused,
    Permitted,
}

/// Mirroring from left to right, and the rotation that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rotation {
    is_mirrored: bool,
    /// Angle clockwise in hundredths of a degree, below 360°.
    centidegrees: u16,
}

/// Colours of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quality {
    /// Colours of the original: `default` or `color`.
    Default,
    Gray,
    Bitonal,
}

/// Parsed image request: the part of a URL after the identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IiifRequest {
    region: Region,
    size: Size,
    upscaling: Upscaling,
    rotation: Rotation,
    quality: Quality,
    format: Target,
}

/// Image request applied to a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IiifImage {
    /// Normalized parameters of the requested picture.
    pub recipe: Recipe,
    /// Canonical form of the request (§4.7), such as `full/max/0/default.jpg`.
    pub canonical: String,
}

/// Limits on the size of an output, which info.json states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IiifLimits {
    /// Maximum width, and maximum height, in pixels.
    pub side_px_max: u32,
    /// Maximum number of pixels.
    pub pixels_max: u64,
}

impl IiifLimits {
    /// Returns the limits on outputs that follow from the limits on plans.
    #[must_use]
    pub fn of(limits: &Limits) -> IiifLimits {
        IiifLimits {
            side_px_max: IIIF_SIDE_PX_MAX,
            pixels_max: limits.target_pixels_max,
        }
    }

    fn admits(&self, size: crate::Size) -> bool {
        size.width_px.max(size.height_px) <= self.side_px_max && size.pixels() <= self.pixels_max
    }
}

/// Kind of a fault of an IIIF URL, by which callers choose the status of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IiifErrorKind {
    /// The path does not have the form of an IIIF URL.
    Path,
    /// A parameter is malformed, or its value does not suit the picture.
    Value,
    /// The parameter is valid, but this server does not implement it.
    NotImplemented,
}

/// Reason why an IIIF URL is refused; always the client's fault. The text is short, printable
/// ASCII, and may be shown to the client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct IiifError {
    /// Kind of the fault.
    pub kind: IiifErrorKind,
    /// Description of the fault, which begins with the name of the parameter.
    pub problem: &'static str,
}

impl IiifError {
    fn value(problem: &'static str) -> IiifError {
        IiifError {
            kind: IiifErrorKind::Value,
            problem,
        }
    }
}
