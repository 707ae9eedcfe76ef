//! Normalized parameters of a request. Requests for the same picture have equal recipes.

use crate::effects::Hundredths;
use crate::{Effects, Facts, Orientation, Target};
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

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
    /// Does the same as [`Fit::Cover`], except if a side of the box is longer than the same side of
    /// the picture. Then the picture stays unchanged. WebP Server Go treats `width` together with
    /// `height` in this way.
    CoverOrKeep,
}

/// Width or height of the whole picture, in the unit of [`Crop::Fractions`] and [`Focus`].
pub const FRACTION_ONE: u16 = 10_000;

/// Part of the rotated picture that is kept, and then fitted into the box.
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
    Fractions {
        /// Distance from the left edge.
        x: u16,
        /// Distance from the top edge.
        y: u16,
        /// Width, at least 1.
        width: u16,
        /// Height, at least 1.
        height: u16,
    },
    /// Largest rectangle with the aspect ratio `width:height`. The two numbers have no common
    /// divisor. The recipe's [`Focus`] determines the position of the rectangle.
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
    /// Distance from the left edge, at most [`FRACTION_ONE`].
    pub x: u16,
    /// Distance from the top edge, at most [`FRACTION_ONE`].
    pub y: u16,
}

impl Default for Focus {
    /// Returns the centre.
    fn default() -> Focus {
        Focus {
            x: FRACTION_ONE / 2,
            y: FRACTION_ONE / 2,
        }
    }
}

/// Normalized image parameters of a request. The [`Display`](fmt::Display) output is a query string
/// that parses to the same recipe. Equal recipes have equal query strings, and the query string of
/// the recipe without parameters is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Recipe {
    /// Rotation and mirroring of the upright picture, before it is cropped.
    pub orientation: Orientation,
    /// Threshold by which borders of one colour are removed before the picture is cropped: the
    /// maximum difference of a border's pixel from the top left pixel, in levels of 0…255. `None`
    /// keeps all borders.
    pub trim: Option<u8>,
    /// Part of the picture that is kept; `None` means the whole picture.
    pub crop: Option<Crop>,
    /// Point that stays in the picture if [`Crop::Ratio`], [`Fit::Cover`] or [`Fit::CoverOrKeep`]
    /// crops it.
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
    /// Quality on the JPEG scale, 1…100; `None` means the default quality.
    pub quality_pct: Option<u8>,
    /// True if the quality is chosen for each picture, by its score. Then `quality_pct` is `None`.
    pub is_quality_auto: bool,
    /// Maximum length of the output in bytes, for which the quality is lowered if necessary. `None`
    /// means no maximum. Animations and PNGs cannot be reduced, and other outputs not below what
    /// the lowest quality takes.
    pub bytes_max: Option<NonZeroU32>,
    /// Requested output format; `None` means the best one that the client accepts.
    pub format: Option<Target>,
    /// Number of the requested page, counted from 1. `None` means the first page, which is never
    /// stated by its number.
    pub page: Option<NonZeroU16>,
    /// Number of the requested frame of an animation, counted from 1; the response is then a still
    /// picture. `None` means all frames.
    pub frame: Option<NonZeroU16>,
    /// Operations on the pixels of the fitted picture.
    pub effects: Effects,
}

impl Recipe {
    /// Returns whether the recipe has no parameters. The response is then the picture at its own
    /// size, in the smallest format.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        *self == Recipe::default()
    }

    /// Returns the recipe with the quality `quality_pct`, unless the recipe has a quality.
    #[must_use]
    pub fn with_default_quality(self, quality_pct: u8) -> Recipe {
        Recipe {
            quality_pct: match self.is_quality_auto {
                true => None,
                false => self.quality_pct.or(Some(quality_pct)),
            },
            ..self
        }
    }

    /// Returns the number of the requested frame, counted from 1; 1 if all frames are requested.
    #[must_use]
    pub fn frame_number(&self) -> u16 {
        self.frame.map_or(1, NonZeroU16::get)
    }

    /// Returns the recipe as it applies to a picture with `facts`. A drawing is rendered at the
    /// size of the box, so it may become larger than it states, unless the recipe trims it.
    #[must_use]
    pub(crate) fn applied_to(&self, facts: &Facts) -> Recipe {
        Recipe {
            enlarge: self.enlarge || (facts.format.is_drawing() && self.trim.is_none()),
            ..*self
        }
    }

    /// Returns the number of the requested page, counted from 1.
    #[must_use]
    pub fn page_number(&self) -> u16 {
        self.page.map_or(1, NonZeroU16::get)
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
            // the numbers are fractions and not pixels.
            Crop::Fractions {
                x,
                y,
                width,
                height,
            } => {
                let [y, width, height] = [y, width, height].map(Fraction);
                let x = f64::from(x) / f64::from(FRACTION_ONE);
                write!(f, "{x:?},{y},{width},{height}")
            }
            Crop::Ratio { width, height } => write!(f, "{width}:{height}"),
        }
    }
}

impl fmt::Display for Focus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", Fraction(self.x), Fraction(self.y))
    }
}

/// Fraction in ten-thousandths. It is displayed as the shortest decimal fraction.
struct Fraction(u16);

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / f64::from(FRACTION_ONE))
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
        let (rotate, is_flipped, is_flopped) = match self.orientation {
            Orientation::Upright => (None, false, false),
            Orientation::Turn90 => (Some("90"), false, false),
            Orientation::Turn180 => (Some("180"), false, false),
            Orientation::Turn270 => (Some("270"), false, false),
            Orientation::Mirror => (None, false, true),
            Orientation::Flip => (None, true, false),
            Orientation::Transpose => (Some("90"), false, true),
            Orientation::Transverse => (Some("270"), false, true),
        };
        // A query has only one rotation. Beside an angle that is not a multiple of
        // 90°, a rotation of the orientation by 180° is written as two mirrorings.
        let angle = self.effects.angle;
        let (rotate, is_flipped, is_flopped) = match (angle.is_zero(), self.orientation) {
            (true, _) => (rotate.map(str::to_owned), is_flipped, is_flopped),
            (false, orientation) => {
                let degrees = Hundredths(angle.centidegrees).to_string();
                let is_turned = orientation == Orientation::Turn180;
                (
                    Some(degrees),
                    is_flipped || is_turned,
                    is_flopped || is_turned,
                )
            }
        };
        let flag = |is_set: bool| is_set.then(|| "true".to_owned());
        let focus = (self.focus != Focus::default()).then_some(self.focus);
        let fields = [
            ("rotate", rotate),
            ("flip", flag(is_flipped)),
            ("flop", flag(is_flopped)),
            ("trim", self.trim.map(|threshold| number(threshold.into()))),
            ("crop", self.crop.map(|crop| crop.to_string())),
            ("focus", focus.map(|focus| focus.to_string())),
            (width, self.width_px.map(number)),
            (height, self.height_px.map(number)),
            ("fit", fit.map(str::to_owned)),
            ("enlarge", flag(self.enlarge)),
        ];
        let quality = match self.is_quality_auto {
            true => Some("auto".to_owned()),
            false => self.quality_pct.map(|quality| number(quality.into())),
        };
        let last_fields = [
            ("format", self.format.map(|target| target.name().to_owned())),
            ("q", quality),
            ("max_bytes", self.bytes_max.map(|bytes| bytes.to_string())),
            ("page", self.page.map(|page| page.to_string())),
            ("frame", self.frame.map(|frame| frame.to_string())),
        ];
        let effects = self.effects.parameters();
        let mut separator = "";
        for (name, value) in fields.into_iter().chain(effects).chain(last_fields) {
            if let Some(value) = value {
                write!(f, "{separator}{name}={value}")?;
                separator = "&";
            }
        }
        Ok(())
    }
}
