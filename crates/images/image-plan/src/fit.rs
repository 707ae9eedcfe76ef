//! Exact integer geometry of fitting a picture into the requested box.

#[cfg(test)]
mod tests;

use crate::recipe::{Crop, FRACTION_ONE, Fit, Focus, Recipe};
use crate::{Rect, Size};

/// Crop of the turned picture, the size to which the crop is scaled (`inner`), and the size of the
/// output after the recipe's effects and padding (`target`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) crop: Rect,
    pub(crate) inner: Size,
    pub(crate) target: Size,
}

impl Geometry {
    /// Returns the geometry for `recipe`. `rotated` is the size of the picture after the recipe's
    /// orientation. The picture is first cropped as the recipe says. Then the cropped part is
    /// fitted into the box, rotated by the recipe's angle, and padded.
    pub(crate) fn of(rotated: Size, recipe: &Recipe) -> Geometry {
        let part = recipe
            .crop
            .map(|crop| crop_rect(crop, rotated, recipe.focus));
        let size = part.map_or(rotated, |part| part.size);
        let mut geometry = Geometry::fitted(size, recipe);
        if let Some(part) = part {
            geometry.crop.x += part.x;
            geometry.crop.y += part.y;
        }
        geometry.framed(recipe)
    }

    /// Returns the geometry by which `recipe` is planned before the picture is decoded: the final
    /// geometry, or bounds of it if the recipe trims the picture. No size of the trimmed picture
    /// exceeds the bounds, whatever part of the picture remains.
    pub(crate) fn planned(rotated: Size, recipe: &Recipe) -> Geometry {
        if recipe.trim.is_none() {
            return Geometry::of(rotated, recipe);
        }
        let sides = Size::new(
            recipe.width_px.unwrap_or(u32::MAX),
            recipe.height_px.unwrap_or(u32::MAX),
        );
        let smaller = Size::new(
            rotated.width_px.min(sides.width_px),
            rotated.height_px.min(sides.height_px),
        );
        let has_box = recipe.width_px.is_some() && recipe.height_px.is_some();
        let inner = match recipe.fit {
            Fit::CoverOrKeep => rotated,
            // A trimmed picture is enlarged only if the request states both width and height.
            _ if recipe.enlarge && has_box => sides,
            _ => smaller,
        };
        let bounds = Geometry {
            target: match recipe.fit {
                Fit::Contain if has_box => sides,
                _ => inner,
            },
            inner,
            ..Geometry::scaled(rotated, rotated)
        };
        bounds.framed(recipe)
    }

    /// Returns this geometry with the target that follows from the recipe's rotation and margins.
    fn framed(mut self, recipe: &Recipe) -> Geometry {
        let frame = recipe.effects.angle.frame(self.inner);
        let frame = if recipe.fit == Fit::Contain {
            // The frame is the box, unless a corner of the rotated picture exceeds the box.
            Size::new(
                frame.width_px.max(self.target.width_px),
                frame.height_px.max(self.target.height_px),
            )
        } else {
            frame
        };
        self.target = recipe.effects.pad.around(frame);
        self
    }

    /// Returns the geometry that fits a picture of size `rotated` into the box of `recipe`, without
    /// the recipe's effects.
    ///
    /// Unless the recipe permits enlarging, neither side of the picture is ever scaled up. If the
    /// box is wider or higher than the picture, the result depends on the fit:
    ///
    /// - [`Fit::Inside`]: the picture gets the largest size inside the box that does not exceed its
    ///   own size.
    /// - [`Fit::Contain`]: the picture is scaled as by `Inside`, then padded to the box.
    /// - [`Fit::Cover`], [`Fit::Fill`]: the box is reduced in proportion until it lies inside the
    ///   picture.
    /// - [`Fit::CoverOrKeep`]: the picture is left unchanged.
    fn fitted(rotated: Size, recipe: &Recipe) -> Geometry {
        let (width, height) = match (recipe.width_px, recipe.height_px) {
            (Some(width), Some(height)) => (width, height),
            (None, None) => return Geometry::scaled(rotated, rotated),
            (width, height) => {
                let unbounded = Size::new(width.unwrap_or(u32::MAX), height.unwrap_or(u32::MAX));
                return Geometry::scaled(rotated, inside(rotated, unbounded, recipe.enlarge));
            }
        };
        let bounds = Size::new(width, height);
        let exceeds = rotated.width_px < width || rotated.height_px < height;
        match recipe.fit {
            Fit::Inside => Geometry::scaled(rotated, inside(rotated, bounds, recipe.enlarge)),
            Fit::CoverOrKeep if exceeds => Geometry::scaled(rotated, rotated),
            Fit::Cover | Fit::CoverOrKeep => cover(rotated, bounds, recipe),
            Fit::Contain => Geometry {
                target: bounds,
                ..Geometry::scaled(rotated, inside(rotated, bounds, recipe.enlarge))
            },
            Fit::Fill if exceeds && !recipe.enlarge => {
                Geometry::scaled(rotated, inside(bounds, rotated, true))
            }
            Fit::Fill => Geometry::scaled(rotated, bounds),
        }
    }

    /// Returns the geometry that scales the whole picture to `inner`, without crop and padding.
    fn scaled(rotated: Size, inner: Size) -> Geometry {
        Geometry {
            crop: Rect {
                x: 0,
                y: 0,
                size: rotated,
            },
            inner,
            target: inner,
        }
    }

    /// Returns whether the geometry neither crops, scales nor pads a picture of size `rotated`.
    pub(crate) fn keeps(&self, rotated: Size) -> bool {
        *self == Geometry::scaled(rotated, rotated)
    }

    /// Returns whether the picture gets margins: by `pad`, by [`Fit::Contain`], or because the
    /// recipe rotates it by an angle. Also returns true if the recipe trims the picture and has
    /// `Contain`, because the margins are then not known yet.
    pub(crate) fn may_have_margins(&self, recipe: &Recipe) -> bool {
        self.inner != self.target || (recipe.trim.is_some() && recipe.fit == Fit::Contain)
    }
}

/// Returns the largest size within `bounds` that has the proportions of `shape`. If `enlarge` is
/// false, the result does not exceed `shape`.
pub(crate) fn inside(shape: Size, bounds: Size, enlarge: bool) -> Size {
    let fits = shape.width_px <= bounds.width_px && shape.height_px <= bounds.height_px;
    if fits && !enlarge {
        return shape;
    }
    // This is `bounds.width / shape.width <= bounds.height / shape.height` without division.
    if cross(bounds.width_px, shape.height_px) <= cross(bounds.height_px, shape.width_px) {
        let height = proportional(shape.height_px, bounds.width_px, shape.width_px);
        Size::new(bounds.width_px, height)
    } else {
        let width = proportional(shape.width_px, bounds.height_px, shape.height_px);
        Size::new(width, bounds.height_px)
    }
}

/// Returns the rectangle that `crop` keeps of a picture of size `rotated`.
fn crop_rect(crop: Crop, rotated: Size, focus: Focus) -> Rect {
    match crop {
        Crop::Pixels {
            x,
            y,
            width_px,
            height_px,
        } => {
            let (x, y) = (x.min(rotated.width_px - 1), y.min(rotated.height_px - 1));
            let width_px = width_px.min(rotated.width_px - x);
            let height_px = height_px.min(rotated.height_px - y);
            Rect {
                x,
                y,
                size: Size::new(width_px, height_px),
            }
        }
        Crop::Fractions {
            x,
            y,
            width,
            height,
        } => {
            let (x, width_px) = fraction_to_pixels(x, width, rotated.width_px);
            let (y, height_px) = fraction_to_pixels(y, height, rotated.height_px);
            Rect {
                x,
                y,
                size: Size::new(width_px, height_px),
            }
        }
        Crop::Ratio { width, height } => {
            let shape = Size::new(width.into(), height.into());
            place_crop(rotated, inside(shape, rotated, true), focus)
        }
    }
}

/// Converts a start and a length, given as fractions of `side` in ten-thousandths, to pixels. Both
/// ends of the interval are rounded to the nearest pixel, and at least one pixel is kept.
fn fraction_to_pixels(start: u16, length: u16, side: u32) -> (u32, u32) {
    let whole = u64::from(FRACTION_ONE);
    let round = |fraction: u64| ((u64::from(side) * fraction + whole / 2) / whole) as u32;
    let end = round(u64::from(start) + u64::from(length));
    let start = round(start.into()).min(side - 1);
    (start, end.saturating_sub(start).max(1))
}

/// Returns the rectangle of size `kept` that lies inside `rotated` and has its centre as near to
/// `focus` as possible.
fn place_crop(rotated: Size, kept: Size, focus: Focus) -> Rect {
    let offset = |side: u32, kept: u32, fraction: u16| {
        let (whole, centre) = (
            u64::from(FRACTION_ONE),
            u64::from(side) * u64::from(fraction),
        );
        let start = (2 * centre).saturating_sub(u64::from(kept) * whole) / (2 * whole);
        (start as u32).min(side - kept)
    };
    Rect {
        x: offset(rotated.width_px, kept.width_px, focus.x),
        y: offset(rotated.height_px, kept.height_px, focus.y),
        size: kept,
    }
}

/// Crops `rotated` to the proportions of `bounds` and scales the crop to `bounds`. If scaling would
/// enlarge the crop, and the recipe does not allow enlarging, the crop is not scaled.
fn cover(rotated: Size, bounds: Size, recipe: &Recipe) -> Geometry {
    let kept = inside(bounds, rotated, true);
    let crop = place_crop(rotated, kept, recipe.focus);
    let grows = kept.width_px < bounds.width_px || kept.height_px < bounds.height_px;
    let inner = if grows && !recipe.enlarge {
        kept
    } else {
        bounds
    };
    Geometry {
        crop,
        inner,
        target: inner,
    }
}

/// Returns `side × numerator ÷ denominator`, rounded to the nearest integer, but at least 1.
/// Results above `u32::MAX` become `u32::MAX`, a side that no output format supports.
pub(crate) fn proportional(side: u32, numerator: u32, denominator: u32) -> u32 {
    let scaled = (2 * u128::from(side) * u128::from(numerator) + u128::from(denominator))
        / (2 * u128::from(denominator));
    u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
}

fn cross(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}
