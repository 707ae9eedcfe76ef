//! Normalized parameters of a request. Requests for the same picture have equal recipes.

use crate::Target;
use std::fmt;

/// Maximum requested side in pixels, after multiplication with `dpr`.
pub const REQUESTED_SIDE_PX_MAX: u32 = 16_384;

/// Rule by which a picture is fitted into the box of `width_px` × `height_px`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Fit {
    /// The picture is scaled to the largest size inside the box. This is the only fit that does not
    /// need both sides of the box.
    #[default]
    Inside,
    /// The picture is scaled to cover the box, and the parts outside the box are cropped, equally
    /// on both sides.
    Cover,
    /// The picture is scaled as by `Inside`, then padded to exactly the box.
    Contain,
    /// The picture is stretched to the proportions of the box.
    Fill,
    /// Does the same as [`Fit::Cover`], but leaves the picture unchanged if a side of the box is
    /// longer than that of the picture. WebP Server Go treats `width` together with `height` in
    /// this way.
    CoverOrKeep,
}

/// Normalized image parameters of a request. The [`Display`](fmt::Display) output is a query string
/// that parses to the same recipe. Equal recipes have equal query strings, and the query string of
/// the recipe without parameters is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Recipe {
    /// Width of the box, multiplied with `dpr`: 1…[`REQUESTED_SIDE_PX_MAX`].
    pub width_px: Option<u32>,
    /// Height of the box, multiplied with `dpr`: 1…[`REQUESTED_SIDE_PX_MAX`].
    pub height_px: Option<u32>,
    /// Rule for fitting the picture into the box; [`Fit::Inside`] unless both sides are given.
    pub fit: Fit,
    /// True if the output may be larger than the picture. False if the request states neither width
    /// nor height.
    pub enlarge: bool,
    /// Quality on the JPEG scale, 1…100.
    pub quality_pct: Option<u8>,
    /// Requested output format; `None` means the best one that the client accepts.
    pub format: Option<Target>,
}

impl Recipe {
    /// Returns whether the recipe has no parameters. The response is then the picture at its own
    /// size, in the smallest format.
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
