//! Normalized parameters of a request. Requests for the same picture have equal recipes.

use crate::{Orientation, Target};
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
    /// The picture is scaled to cover the box, and the parts outside the box are cropped. The
    /// recipe's [`Focus`] determines which part is kept.
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

/// Width or height of the whole picture, in the unit of [`Crop::Shares`] and [`Focus`].
pub const WHOLE_SHARE: u16 = 10_000;

/// Part of the upright picture that is kept before it is fitted into the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Crop {
    /// Rectangle in pixels. Any part of it outside the picture is cut off. If the whole rectangle
    /// lies outside, the nearest pixels of the picture are kept instead.
    Pixels {
        /// Distance from the left edge.
        x: u32,
        /// Distance from the top edge.
        y: u32,
        /// Width, at least 1.
        width_px: u32,
        /// Height, at least 1.
        height_px: u32,
    },
    /// Rectangle in ten-thousandths of the picture's width and height, inside the picture.
    Shares {
        /// Distance from the left edge.
        x: u16,
        /// Distance from the top edge.
        y: u16,
        /// Width, at least 1.
        width: u16,
        /// Height, at least 1.
        height: u16,
    },
    /// Largest part with the proportions `width` to `height`, which have no common divisor. The
    /// recipe's [`Focus`] determines its position.
    Ratio {
        /// Width, at least 1.
        width: u16,
        /// Height, at least 1.
        height: u16,
    },
}

/// Point of a picture that a crop keeps as near to its centre as possible, in ten-thousandths of
/// the picture's width and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Focus {
    /// Distance from the left edge, at most [`WHOLE_SHARE`].
    pub x: u16,
    /// Distance from the top edge, at most [`WHOLE_SHARE`].
    pub y: u16,
}

impl Default for Focus {
    /// Returns the centre.
    fn default() -> Focus {
        Focus {
            x: WHOLE_SHARE / 2,
            y: WHOLE_SHARE / 2,
        }
    }
}

/// Normalized image parameters of a request. The [`Display`](fmt::Display) output is a query string
/// that parses to the same recipe. Equal recipes have equal query strings, and the query string of
/// the recipe without parameters is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Recipe {
    /// Rotation and mirroring of the upright picture, before it is cropped.
    pub turn: Orientation,
    /// Part of the picture that is kept; `None` means the whole picture.
    pub crop: Option<Crop>,
    /// Position of the parts that [`Crop::Ratio`], [`Fit::Cover`] and [`Fit::CoverOrKeep`] keep.
    pub focus: Focus,
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

impl fmt::Display for Crop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Crop::Pixels {
                x,
                y,
                width_px,
                height_px,
            } => write!(f, "{x},{y},{width_px},{height_px}"),
            // The first number is always written with a decimal point, which tells the parser that
            // the numbers are shares and not pixels.
            Crop::Shares {
                x,
                y,
                width,
                height,
            } => {
                let [y, width, height] = [y, width, height].map(Share);
                let x = f64::from(x) / f64::from(WHOLE_SHARE);
                write!(f, "{x:?},{y},{width},{height}")
            }
            Crop::Ratio { width, height } => write!(f, "{width}:{height}"),
        }
    }
}

impl fmt::Display for Focus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", Share(self.x), Share(self.y))
    }
}

/// Share of a whole, in ten-thousandths. It is displayed as the shortest decimal fraction.
struct Share(u16);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / f64::from(WHOLE_SHARE))
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
        let (rotate, mirror) = match self.turn {
            Orientation::Upright => (None, None),
            Orientation::Turn90 => (Some("90"), None),
            Orientation::Turn180 => (Some("180"), None),
            Orientation::Turn270 => (Some("270"), None),
            Orientation::Mirror => (None, Some("flop")),
            Orientation::Flip => (None, Some("flip")),
            Orientation::Transpose => (Some("90"), Some("flop")),
            Orientation::Transverse => (Some("270"), Some("flop")),
        };
        let focus = (self.focus != Focus::default()).then_some(self.focus);
        let fields = [
            ("rotate", rotate.map(str::to_owned)),
            (mirror.unwrap_or("flop"), mirror.map(|_| "true".to_owned())),
            ("crop", self.crop.map(|crop| crop.to_string())),
            ("focus", focus.map(|focus| focus.to_string())),
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
