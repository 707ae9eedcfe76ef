//! Applies an image request to a picture.

use std::num::{NonZeroU8, NonZeroU16};

use super::{
    IiifError, IiifImage, IiifLimits, IiifRequest, Quality, Region, Rotation, Upscaling, decimal,
};
use crate::fit::{inside, proportional};
use crate::recipe::{Crop, Fit};
use crate::{Angle, Effects, Facts, Orientation, Recipe, Rect, Size, Tone};

/// Luma from which on the quality `bitonal` gives white.
const BITONAL_LEVEL: NonZeroU8 = NonZeroU8::new(128).expect("not zero");

const OUTSIDE: IiifError = IiifError {
    kind: super::IiifErrorKind::Value,
    problem: "region: lies outside the picture",
};
const TOO_LARGE: IiifError = IiifError {
    kind: super::IiifErrorKind::Value,
    problem: "size: exceeds maxWidth or maxArea of info.json",
};
const UPSCALED: IiifError = IiifError {
    kind: super::IiifErrorKind::Value,
    problem: "size: exceeds the region; to enlarge the picture, begin the size with ^",
};

/// Box of a recipe, and the size of the output that follows from it.
struct Scaled {
    width_px: Option<u32>,
    height_px: Option<u32>,
    fit: Fit,
    size: Size,
}

impl IiifRequest {
    /// Applies the request to a picture with `facts`.
    ///
    /// # Errors
    /// [`IiifError`] if the region lies outside the picture, or if the size exceeds the region
    /// without `^`, or the limits.
    pub fn resolve(&self, facts: &Facts, limits: &IiifLimits) -> Result<IiifImage, IiifError> {
        let upright = facts.oriented();
        let region = self.region.of(upright)?;
        let scaled = self.scale(region.size, limits)?;
        let (turn, angle) = self.rotation.parts();
        let place = moved(region, upright, turn);
        let is_whole = region.size == upright;
        let is_scaled = scaled.size != region.size;
        let (width_px, height_px) = match turn.transposes() {
            true => (scaled.height_px, scaled.width_px),
            false => (scaled.width_px, scaled.height_px),
        };
        let is_larger = region.size.width_px < scaled.size.width_px
            || region.size.height_px < scaled.size.height_px;
        let recipe = Recipe {
            orientation: turn,
            crop: (!is_whole).then_some(Crop::Pixels {
                x: place.x,
                y: place.y,
                width_px: place.size.width_px,
                height_px: place.size.height_px,
            }),
            width_px: width_px.filter(|_| is_scaled),
            height_px: height_px.filter(|_| is_scaled),
            fit: match is_scaled {
                true => scaled.fit,
                false => Fit::Inside,
            },
            enlarge: is_larger,
            format: Some(self.format),
            // The API has no animations: an animated picture is its first frame.
            frame: facts.animated.then_some(NonZeroU16::MIN),
            effects: Effects {
                angle,
                tone: self.quality.tone(),
                ..Effects::NONE
            },
            ..Recipe::default()
        };
        let canonical = self.canonical(region, upright, scaled.size, limits);
        Ok(IiifImage { recipe, canonical })
    }

    /// Returns the box and the size for a region of size `region`.
    fn scale(&self, region: Size, limits: &IiifLimits) -> Result<Scaled, IiifError> {
        use super::Size as Wanted;
        let may_enlarge = self.upscaling == Upscaling::Permitted;
        let exact = |size: Size| Scaled {
            width_px: Some(size.width_px),
            height_px: Some(size.height_px),
            fit: Fit::Fill,
            size,
        };
        let one = |width_px: Option<u32>, height_px: Option<u32>| {
            let unbounded = Size::new(width_px.unwrap_or(u32::MAX), height_px.unwrap_or(u32::MAX));
            Scaled {
                width_px,
                height_px,
                fit: Fit::Inside,
                size: inside(region, unbounded, true),
            }
        };
        let scaled = match self.size {
            Wanted::Max => return Ok(exact(largest(region, self.upscaling, limits))),
            Wanted::Confined(width_px, height_px) => {
                let bounds = Size::new(width_px, height_px);
                let size = inside(region, bounds, may_enlarge);
                let largest = largest(region, Upscaling::Permitted, limits);
                return Ok(match limits.admits(size) {
                    true => Scaled {
                        width_px: Some(width_px.min(limits.side_px_max)),
                        height_px: Some(height_px.min(limits.side_px_max)),
                        fit: Fit::Inside,
                        size,
                    },
                    false => exact(largest),
                });
            }
            Wanted::Width(width_px) => one(Some(width_px), None),
            Wanted::Height(height_px) => one(None, Some(height_px)),
            Wanted::Exact(width_px, height_px) => exact(Size::new(width_px, height_px)),
            Wanted::Percent(number) => {
                let side = |length| {
                    let side = decimal::percent_of(length, number).max(1);
                    u32::try_from(side).unwrap_or(u32::MAX)
                };
                exact(Size::new(side(region.width_px), side(region.height_px)))
            }
        };
        let size = scaled.size;
        let exceeds = region.width_px < size.width_px || region.height_px < size.height_px;
        match (exceeds && !may_enlarge, limits.admits(size)) {
            (true, _) => Err(UPSCALED),
            (false, false) => Err(TOO_LARGE),
            (false, true) => Ok(scaled),
        }
    }

    /// Returns the canonical form of the request (§4.7).
    fn canonical(&self, region: Rect, upright: Size, size: Size, limits: &IiifLimits) -> String {
        let Rect { x, y, size: part } = region;
        let place = match part == upright {
            true => "full".to_owned(),
            false => format!("{x},{y},{},{}", part.width_px, part.height_px),
        };
        let is_larger = part.width_px < size.width_px || part.height_px < size.height_px;
        let sign = if is_larger { "^" } else { "" };
        let upscaling = match is_larger {
            true => Upscaling::Permitted,
            false => Upscaling::Refused,
        };
        let scaled = match size == largest(part, upscaling, limits) {
            true => format!("{sign}max"),
            false => format!("{sign}{},{}", size.width_px, size.height_px),
        };
        let quality = match self.quality {
            Quality::Default => "default",
            Quality::Gray => "gray",
            Quality::Bitonal => "bitonal",
        };
        let extension = self.format.extension();
        let rotation = self.rotation.spelled();
        format!("{place}/{scaled}/{rotation}/{quality}.{extension}")
    }
}

impl Region {
    /// Returns the region of an upright picture of size `upright`; parts outside are cut off.
    fn of(self, upright: Size) -> Result<Rect, IiifError> {
        let Size {
            width_px: width,
            height_px: height,
        } = upright;
        match self {
            Region::Full => Ok(Rect {
                x: 0,
                y: 0,
                size: upright,
            }),
            Region::Square => {
                let side = width.min(height);
                Ok(Rect {
                    x: (width - side) / 2,
                    y: (height - side) / 2,
                    size: Size::new(side, side),
                })
            }
            Region::Pixels([x, y, w, h]) => {
                if width <= x || height <= y {
                    return Err(OUTSIDE);
                }
                let size = Size::new(w.min(width - x), h.min(height - y));
                Ok(Rect { x, y, size })
            }
            Region::Percent([x, y, w, h]) => {
                let (x, width_px) = interval(x, w, width).ok_or(OUTSIDE)?;
                let (y, height_px) = interval(y, h, height).ok_or(OUTSIDE)?;
                let size = Size::new(width_px, height_px);
                Ok(Rect { x, y, size })
            }
        }
    }
}

/// Converts a start and a length in percent of `side` to pixels. Returns `None` if the interval
/// begins behind the side.
fn interval(start: u64, length: u64, side: u32) -> Option<(u32, u32)> {
    let end = decimal::percent_of(side, start + length).min(side.into()) as u32;
    let start = u32::try_from(decimal::percent_of(side, start)).ok()?;
    // At least one pixel is kept.
    (start < side).then(|| (start, end.saturating_sub(start).max(1)))
}

/// Returns the largest size that the limits permit for a region, in its proportions.
fn largest(region: Size, upscaling: Upscaling, limits: &IiifLimits) -> Size {
    let may_enlarge = upscaling == Upscaling::Permitted;
    if !may_enlarge && limits.admits(region) {
        return region;
    }
    let sides = Size::new(limits.side_px_max, limits.side_px_max);
    let by_sides = inside(region, sides, may_enlarge);
    if limits.admits(by_sides) {
        return by_sides;
    }
    // `width² · height / width ≤ pixels_max`, so this is the largest width, up to rounding.
    let ratio = u128::from(region.width_px) * u128::from(limits.pixels_max);
    let width = (ratio / u128::from(region.height_px)).isqrt();
    let mut width_px = u32::try_from(width)
        .unwrap_or(u32::MAX)
        .clamp(1, limits.side_px_max);
    loop {
        let height_px = proportional(region.height_px, width_px, region.width_px);
        let size = Size::new(width_px, height_px);
        if limits.admits(size) || width_px == 1 {
            return size;
        }
        width_px -= 1;
    }
}

impl Rotation {
    /// Returns the exchange of whole pixels, and the remaining angle.
    fn parts(self) -> (Orientation, Angle) {
        let mirrored = match self.is_mirrored {
            true => Orientation::Mirror,
            false => Orientation::Upright,
        };
        let (turn, centidegrees) = match self.centidegrees {
            0 => (Orientation::Upright, 0),
            9_000 => (Orientation::Turn90, 0),
            18_000 => (Orientation::Turn180, 0),
            27_000 => (Orientation::Turn270, 0),
            other => (Orientation::Upright, other),
        };
        (mirrored.then(turn), Angle { centidegrees })
    }

    /// Returns the canonical form: no trailing zeros.
    fn spelled(self) -> String {
        let sign = if self.is_mirrored { "!" } else { "" };
        format!("{sign}{}", f64::from(self.centidegrees) / 100.0)
    }
}

impl Quality {
    fn tone(self) -> Tone {
        match self {
            Quality::Default => Tone::default(),
            Quality::Gray => Tone {
                saturation_pct: Tone::PCT_MIN,
                ..Tone::default()
            },
            Quality::Bitonal => Tone {
                bitonal: Some(BITONAL_LEVEL),
                ..Tone::default()
            },
        }
    }
}

/// Returns the place of `region`, a part of a picture of size `whole`, after the whole picture was
/// turned by `turn`.
fn moved(region: Rect, whole: Size, turn: Orientation) -> Rect {
    let Rect { x, y, size } = region;
    let right = whole.width_px - x - size.width_px;
    let bottom = whole.height_px - y - size.height_px;
    let (x, y) = match turn {
        Orientation::Upright => (x, y),
        Orientation::Mirror => (right, y),
        Orientation::Turn180 => (right, bottom),
        Orientation::Flip => (x, bottom),
        Orientation::Transpose => (y, x),
        Orientation::Turn90 => (bottom, x),
        Orientation::Transverse => (bottom, right),
        Orientation::Turn270 => (y, right),
    };
    let size = match turn.transposes() {
        true => size.transposed(),
        false => size,
    };
    Rect { x, y, size }
}
