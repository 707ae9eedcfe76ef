//! Operations on the pixels of the picture that was fitted into the box: their parameters, the
//! sizes that they lead to, and their spelling in a query.
//!
//! All parameters are integers, so that recipes can be compared, hashed and sent. Percentages of
//! `brightness`, `contrast` and `saturation` are changes: 0 leaves the picture as it is.

#[cfg(test)]
pub(crate) mod tests;
mod wire;

use crate::Size;
use std::f64::consts::PI;
use std::fmt;
use std::num::NonZeroU8;

pub(crate) use wire::EFFECTS_BYTES;

/// Filter by which a picture is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Kernel {
    /// Lanczos3, the sharpest of the filters.
    #[default]
    Lanczos3,
    /// Catmull-Rom spline, a cubic filter.
    Cubic,
    /// Linear interpolation when the picture is enlarged, a triangle filter when it is reduced.
    Linear,
    /// Nearest pixel, without any filter.
    Nearest,
}

impl Kernel {
    /// All kernels, from the sharpest to the simplest.
    pub const ALL: [Kernel; 4] = [
        Kernel::Lanczos3,
        Kernel::Cubic,
        Kernel::Linear,
        Kernel::Nearest,
    ];

    /// Returns the kernel's name as used in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Lanczos3 => "lanczos3",
            Kernel::Cubic => "cubic",
            Kernel::Linear => "linear",
            Kernel::Nearest => "nearest",
        }
    }
}

/// Angle clockwise in hundredths of a degree, below [`Angle::FULL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Angle {
    /// Hundredths of a degree.
    pub centidegrees: u16,
}

impl Angle {
    /// Hundredths of a degree of a full rotation.
    pub const FULL: u16 = 36_000;

    /// Returns whether the angle is 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.centidegrees == 0
    }

    /// Returns the sine and the cosine of the angle, with an error below 10⁻¹². The result is
    /// computed from additions and multiplications only, so it is the same on every processor.
    #[must_use]
    pub fn sin_cos(self) -> (f64, f64) {
        const QUARTER: u16 = Angle::FULL / 4;
        let quarters = self.centidegrees / QUARTER % 4;
        let rest = f64::from(self.centidegrees % QUARTER) * (2.0 * PI / f64::from(Angle::FULL));
        let (sine, cosine) = (series(rest, rest, 1), series(1.0, rest, 0));
        match quarters {
            0 => (sine, cosine),
            1 => (cosine, -sine),
            2 => (-sine, -cosine),
            _ => (-cosine, sine),
        }
    }

    /// Returns the size of the smallest upright frame that contains a picture of `size` after its
    /// rotation by this angle.
    #[must_use]
    pub fn frame(self, size: Size) -> Size {
        /// Part of a pixel by which the picture may exceed the frame. It prevents that a rounding
        /// error adds a whole column or row.
        const TOLERANCE_PX: f64 = 0.01;
        if self.is_zero() {
            return size;
        }
        let (sine, cosine) = self.sin_cos();
        let (width, height) = (f64::from(size.width_px), f64::from(size.height_px));
        // The cast saturates at the longest side that 32 bits hold.
        let side = |length: f64| (length - TOLERANCE_PX).ceil().max(1.0) as u32;
        Size::new(
            side(width * cosine.abs() + height * sine.abs()),
            side(width * sine.abs() + height * cosine.abs()),
        )
    }
}

/// Returns the Taylor series of the sine or cosine at `x`, from 0 to π/2. `first` is the first term
/// and `power` its power of `x`.
fn series(first: f64, x: f64, power: u32) -> f64 {
    let (mut sum, mut term) = (0.0, first);
    for step in 0..12 {
        sum += term;
        let next = f64::from(power + 2 * step + 1);
        term = -term * x * x / (next * (next + 1.0));
    }
    sum
}

/// Colour with alpha in sRGB: red, green, blue and straight alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rgba(pub [u8; 4]);

impl Rgba {
    /// Opaque white.
    pub const WHITE: Rgba = Rgba([255; 4]);
    /// No colour.
    pub const TRANSPARENT: Rgba = Rgba([0; 4]);

    /// Returns whether nothing shows through the colour.
    #[must_use]
    pub const fn is_opaque(self) -> bool {
        self.0[3] == 255
    }
}

impl fmt::Display for Rgba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rgba([red, green, blue, alpha]) = *self;
        write!(f, "{}", Rgb([red, green, blue]))?;
        match alpha {
            255 => Ok(()),
            alpha => write!(f, "{alpha:02x}"),
        }
    }
}

/// Opaque colour in sRGB: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rgb(pub [u8; 3]);

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rgb([red, green, blue]) = *self;
        write!(f, "{red:02x}{green:02x}{blue:02x}")
    }
}

/// Two colours by which a picture is painted: its black becomes `dark`, its white `light`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Duotone {
    /// Colour that replaces black.
    pub dark: Rgb,
    /// Colour that replaces white.
    pub light: Rgb,
}

/// Change of colours, applied in the order of the fields. The definitions are those of the CSS
/// filters of the same names (Filter Effects Module Level 1 §6): they work on encoded sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Tone {
    /// Exponent in hundredths, 10…1000, never 100: a sample `v` from 0 to 1 becomes `v^(1/gamma)`,
    /// so more than 100 brightens. `None` leaves the samples unchanged.
    pub gamma_pct: Option<u16>,
    /// Change of the brightness in percent, −100…300: 100 doubles every sample.
    pub brightness_pct: i16,
    /// Change of the contrast in percent, −100…300: 100 doubles every distance from middle grey.
    pub contrast_pct: i16,
    /// Change of the saturation in percent, −100…300: −100 gives grey, 100 doubles the distance
    /// from grey.
    pub saturation_pct: i16,
    /// True to paint the picture in brown tones.
    pub sepia: bool,
    /// Luma, 1…255, from which on a pixel becomes white; darker pixels become black. `None` keeps
    /// the colours.
    pub bitonal: Option<NonZeroU8>,
    /// Colours by which the picture is painted, if any.
    pub duotone: Option<Duotone>,
    /// True to replace each sample by its distance from white.
    pub invert: bool,
}

impl Tone {
    /// Minimum of the fields in percent.
    pub const PCT_MIN: i16 = -100;
    /// Maximum of the fields in percent.
    pub const PCT_MAX: i16 = 300;
    /// Minimum of `gamma_pct`.
    pub const GAMMA_PCT_MIN: u16 = 10;
    /// Maximum of `gamma_pct`.
    pub const GAMMA_PCT_MAX: u16 = 1_000;

    /// Returns whether the colours stay as they are.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        *self == Tone::default()
    }
}

/// Unsharp mask: adds to each pixel its lightness's difference from the blurred lightness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unsharp {
    /// Standard deviation of the blur in hundredths of a pixel, 1…[`Effects::SIGMA_CENTIPX_MAX`].
    pub sigma_centipx: u16,
    /// Part of the difference that is added, in percent, 1…[`Unsharp::AMOUNT_PCT_MAX`].
    pub amount_pct: u16,
    /// Minimum difference that is added, in levels of 0…255.
    pub threshold: u8,
}

impl Unsharp {
    /// Maximum of `amount_pct`.
    pub const AMOUNT_PCT_MAX: u16 = 1_000;
}

/// Widths of the four margins in pixels, each at most [`Effects::LENGTH_PX_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Padding {
    /// Margin above the picture.
    pub top_px: u16,
    /// Margin on the right of the picture.
    pub right_px: u16,
    /// Margin below the picture.
    pub bottom_px: u16,
    /// Margin on the left of the picture.
    pub left_px: u16,
}

impl Padding {
    /// Returns the size of a picture of `size` with these margins. Sides saturate.
    #[must_use]
    pub fn around(self, size: Size) -> Size {
        let sides = |side: u32, a: u16, b: u16| side.saturating_add(u32::from(a) + u32::from(b));
        Size::new(
            sides(size.width_px, self.left_px, self.right_px),
            sides(size.height_px, self.top_px, self.bottom_px),
        )
    }

    /// Returns the size of a picture that has `size` including these margins. Returns `None` if
    /// there is no room for the picture.
    pub(crate) fn within(self, size: Size) -> Option<Size> {
        let margins = self.around(Size::new(0, 0));
        let width_px = size.width_px.checked_sub(margins.width_px)?;
        let height_px = size.height_px.checked_sub(margins.height_px)?;
        (width_px != 0 && height_px != 0).then_some(Size::new(width_px, height_px))
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Padding {
            top_px,
            right_px,
            bottom_px,
            left_px,
        } = *self;
        if top_px == right_px && top_px == bottom_px && top_px == left_px {
            write!(f, "{top_px}")
        } else {
            write!(f, "{top_px},{right_px},{bottom_px},{left_px}")
        }
    }
}

/// Operations on pixels, in the order in which they are executed. The default changes nothing.
///
/// ```text
/// fitted ─ angle ─ tone ─ blur ─ unsharp ─ pixelate ─ pad, background ─ round ─► output
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Effects {
    /// Filter by which the picture is scaled into its box.
    pub kernel: Kernel,
    /// Rotation after fitting, never a multiple of 90°: [`crate::Recipe::orientation`] has those.
    pub angle: Angle,
    /// Change of colours.
    pub tone: Tone,
    /// Standard deviation of a Gaussian blur in hundredths of a pixel, at most
    /// [`Effects::SIGMA_CENTIPX_MAX`]; 0 means no blur.
    pub blur_centipx: u16,
    /// Unsharp mask, if any.
    pub unsharp: Option<Unsharp>,
    /// Side of the blocks of one colour, 2…[`Effects::PIXELATE_PX_MAX`]; 0 means no blocks.
    pub pixelate_px: u16,
    /// Margins around the picture.
    pub pad: Padding,
    /// Colour of margins, and behind transparent pixels. `None` means white for the margins of an
    /// opaque picture, and transparency otherwise.
    pub background: Option<Rgba>,
    /// Radius of the corners, at most [`Effects::LENGTH_PX_MAX`]; a radius above half of the
    /// shorter side has the effect of that half.
    pub round_px: u16,
}

impl Default for Effects {
    /// Returns [`Effects::NONE`].
    fn default() -> Effects {
        Effects::NONE
    }
}

impl Effects {
    /// Effects that change nothing.
    pub const NONE: Effects = Effects {
        kernel: Kernel::Lanczos3,
        angle: Angle { centidegrees: 0 },
        tone: Tone {
            gamma_pct: None,
            brightness_pct: 0,
            contrast_pct: 0,
            saturation_pct: 0,
            sepia: false,
            bitonal: None,
            duotone: None,
            invert: false,
        },
        blur_centipx: 0,
        unsharp: None,
        pixelate_px: 0,
        pad: Padding {
            top_px: 0,
            right_px: 0,
            bottom_px: 0,
            left_px: 0,
        },
        background: None,
        round_px: 0,
    };

    /// Maximum standard deviation of a blur, in hundredths of a pixel.
    pub const SIGMA_CENTIPX_MAX: u16 = 25_000;
    /// Maximum side of the blocks of `pixelate`, in pixels.
    pub const PIXELATE_PX_MAX: u16 = 1_000;
    /// Maximum margin and maximum radius of a corner, in pixels.
    pub const LENGTH_PX_MAX: u16 = 16_384;

    /// Returns whether the operations can change a picture. `is_resized` is true if the picture is
    /// scaled, `has_alpha` is true if it has an alpha channel.
    pub(crate) fn is_identity_for(&self, is_resized: bool, has_alpha: bool) -> bool {
        let without_effect = Effects {
            kernel: self.kernel,
            background: self.background,
            ..Effects::NONE
        };
        *self == without_effect && !is_resized && (self.background.is_none() || !has_alpha)
    }

    /// Returns whether any operation needs the picture's pixels as RGB instead of planes.
    #[must_use]
    pub fn needs_rgb(&self) -> bool {
        let planar = Effects {
            kernel: self.kernel,
            pad: self.pad,
            ..Effects::NONE
        };
        *self != planar
    }

    /// Returns whether an operation adds a colour of its own, given in sRGB, to the picture. White
    /// and transparency are the same in every RGB colour space.
    #[must_use]
    pub fn adds_srgb_colour(&self) -> bool {
        let is_neutral = |colour| [Rgba::WHITE, Rgba::TRANSPARENT].contains(&colour);
        self.tone.duotone.is_some() || self.background.is_some_and(|colour| !is_neutral(colour))
    }

    /// Returns the operations without the parameters that have no effect on a picture, so that
    /// requests with the same result have the same plan.
    pub(crate) fn relevant(mut self, picture: &EffectInput) -> Effects {
        if !picture.is_scaled {
            self.kernel = Kernel::default();
        }
        let has_margin = !self.angle.is_zero() || picture.is_padded;
        let shows_corners = self.round_px != 0 && picture.is_flattened;
        let is_visible = picture.has_alpha || has_margin || shows_corners;
        // A transparent background changes nothing behind a picture with alpha, and is the default
        // behind a rotated one. Margins are white by default if the picture turns out to be opaque.
        let is_default = self.background == Some(Rgba::TRANSPARENT)
            && (!self.angle.is_zero() || !has_margin && !shows_corners);
        if !is_visible || is_default {
            self.background = None;
        }
        self
    }

    /// Returns whether the output has transparent pixels. `has_alpha` tells whether the original
    /// has an alpha channel, `is_padded` whether margins are added.
    pub(crate) fn leaves_alpha(&self, has_alpha: bool, is_padded: bool) -> bool {
        let has_alpha = has_alpha || !self.angle.is_zero();
        let has_alpha = match self.background {
            Some(colour) if colour.is_opaque() => false,
            Some(_) => has_alpha || is_padded,
            None => has_alpha,
        };
        has_alpha || self.round_px != 0
    }

    /// Returns the names and values of the parameters that differ from the default, in the order in
    /// which a query is written. `angle` is not among them, because it shares the parameter
    /// `rotate` with the orientation.
    pub(crate) fn parameters(&self) -> [(&'static str, Option<String>); 15] {
        let flag = |is_set: bool| is_set.then(|| "true".to_owned());
        let positive = |number: u16| (number != 0).then(|| number.to_string());
        let signed = |number: i16| (number != 0).then(|| number.to_string());
        let tone = &self.tone;
        let kernel = (self.kernel != Kernel::default()).then(|| self.kernel.name().to_owned());
        let blur = (self.blur_centipx != 0).then(|| Hundredths(self.blur_centipx).to_string());
        let unsharp = self.unsharp.map(|unsharp| {
            let numbers = [unsharp.sigma_centipx, unsharp.amount_pct].map(Hundredths);
            format!("{},{},{}", numbers[0], numbers[1], unsharp.threshold)
        });
        let duotone = tone.duotone.map(|it| format!("{},{}", it.dark, it.light));
        let pad = (self.pad != Padding::default()).then(|| self.pad.to_string());
        [
            ("kernel", kernel),
            (
                "gamma",
                tone.gamma_pct.map(|gamma| Hundredths(gamma).to_string()),
            ),
            ("brightness", signed(tone.brightness_pct)),
            ("contrast", signed(tone.contrast_pct)),
            ("saturation", signed(tone.saturation_pct)),
            ("sepia", flag(tone.sepia)),
            ("bitonal", tone.bitonal.map(|level| level.to_string())),
            ("duotone", duotone),
            ("invert", flag(tone.invert)),
            ("blur", blur),
            ("unsharp", unsharp),
            ("pixelate", positive(self.pixelate_px)),
            ("pad", pad),
            ("bg", self.background.map(|colour| colour.to_string())),
            ("round", positive(self.round_px)),
        ]
    }
}

/// Properties of a picture on which the effect of some operations depends.
pub(crate) struct EffectInput {
    /// True if the original has an alpha channel.
    pub(crate) has_alpha: bool,
    /// True if the picture is scaled.
    pub(crate) is_scaled: bool,
    /// True if margins are added.
    pub(crate) is_padded: bool,
    /// True if the output format has no alpha channel.
    pub(crate) is_flattened: bool,
}

/// Number in hundredths. It is displayed as the shortest decimal fraction.
pub(crate) struct Hundredths(pub(crate) u16);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 100.0)
    }
}
