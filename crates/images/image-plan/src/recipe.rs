//! What a request asks for, in the one form in which two equal requests are equal.

use crate::Target;
use std::fmt;

/// Longest side that may be asked for, in pixels, after `dpr`.
pub const ASKED_SIDE_PX_MAX: u32 = 16_384;

/// How a picture meets the box of `width_px` × `height_px`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Fit {
    /// As large as fits the box; the other fits need both sides of it.
    #[default]
    Inside,
    /// Fills the box; what sticks out is cut off evenly.
    Cover,
    /// Inside, then padded to exactly the box.
    Contain,
    /// Stretched to the shape of the box.
    Fill,
    /// As `Cover`, but a box with a side beyond the picture's leaves the picture as it is: the rule of WebP Server Go
    /// for `width` with `height`.
    CoverOrKeep,
}

/// The normalised wish of a request. Its [`Display`](fmt::Display) is a query that parses to itself, equal for equal
/// recipes, and empty for the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Recipe {
    /// Width of the box, `dpr` included: 1…[`ASKED_SIDE_PX_MAX`].
    pub width_px: Option<u32>,
    /// Height of the box, `dpr` included: 1…[`ASKED_SIDE_PX_MAX`].
    pub height_px: Option<u32>,
    /// How the picture meets the box; [`Fit::Inside`] unless both sides are given.
    pub fit: Fit,
    /// Whether the answer may have more pixels than the picture; false without a box.
    pub enlarge: bool,
    /// Quality on the JPEG scale, 1…100.
    pub quality_pct: Option<u8>,
    /// The format, instead of the best that the client reads.
    pub format: Option<Target>,
}

impl Recipe {
    /// Whether the request asks for the picture as it is, in whichever format is smallest.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        *self == Recipe::default()
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height, fit) = match self.fit {
            Fit::Inside => ("w", "h", None),
            Fit::Cover => ("w", "h", Some("cover")),
            Fit::Contain => ("w", "h", Some("contain")),
            Fit::Fill => ("w", "h", Some("fill")),
            Fit::CoverOrKeep => ("width", "height", None),
        };
        let number = |value: u32| value.to_string();
        let fields = [
            (width, self.width_px.map(number)),
            (height, self.height_px.map(number)),
            ("fit", fit.map(str::to_owned)),
            ("enlarge", self.enlarge.then(|| "true".to_owned())),
            ("format", self.format.map(|target| target.name().to_owned())),
            ("q", self.quality_pct.map(|quality| number(quality.into()))),
        ];
        let mut separator = "";
        for (name, value) in fields {
            if let Some(value) = value {
                write!(f, "{separator}{name}={value}")?;
                separator = "&";
            }
        }
        Ok(())
    }
}
