//! Removal of borders of one colour. The worker finds the borders after it has decoded the picture,
//! so a plan with a [`Trim`] has bounds instead of final sizes. [`Plan::trimmed`] computes the
//! final sizes.

#[cfg(test)]
pub(crate) mod tests;
mod wire;

use crate::fit::Geometry;
use crate::{Crop, Effects, Fit, Focus, Plan, Recipe, Rect};

pub(crate) use wire::TRIM_BYTES;

/// Removal of borders of one colour, and the parameters by which the rest is cropped and fitted
/// into its box. The fields after `threshold` have the meaning that they have in a [`Recipe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trim {
    /// Maximum difference of a border's pixel from the top left pixel, in levels of 0…255.
    pub threshold: u8,
    /// Part of the trimmed picture that is kept; `None` means the whole trimmed picture.
    pub crop: Option<Crop>,
    /// Point that stays in the picture if it is cropped to a ratio or to the box.
    pub focus: Focus,
    /// Width of the box.
    pub width_px: Option<u32>,
    /// Height of the box.
    pub height_px: Option<u32>,
    /// Rule for fitting the picture into the box.
    pub fit: Fit,
    /// True if the output may be larger than the trimmed picture. Then the box has both sides, so
    /// that it bounds the output.
    pub enlarge: bool,
}

impl Trim {
    /// Returns the trim of `recipe`, if it has one.
    pub(crate) fn of(recipe: &Recipe) -> Option<Trim> {
        Some(Trim {
            threshold: recipe.trim?,
            crop: recipe.crop,
            focus: recipe.focus,
            width_px: recipe.width_px,
            height_px: recipe.height_px,
            fit: recipe.fit,
            enlarge: recipe.enlarge,
        })
    }

    /// Returns the recipe by which the trimmed picture is cropped, fitted, rotated and padded.
    pub(crate) fn recipe(&self, effects: Effects) -> Recipe {
        Recipe {
            crop: self.crop,
            focus: self.focus,
            width_px: self.width_px,
            height_px: self.height_px,
            fit: self.fit,
            enlarge: self.enlarge,
            trim: Some(self.threshold),
            effects,
            ..Recipe::default()
        }
    }
}

impl Plan {
    /// Returns the plan with its final crop and sizes, if the borders around `kept` are removed.
    /// `kept` is a part of the oriented picture. No size exceeds the bound in `self`. A plan
    /// without a trim is returned unchanged.
    ///
    /// # Panics
    /// If `kept` is not inside the oriented picture.
    #[must_use]
    pub fn trimmed(&self, kept: Rect) -> Plan {
        let Some(trim) = &self.trim else {
            return *self;
        };
        let oriented = self.oriented();
        let is_inside = |start: u32, length: u32, side: u32| {
            u64::from(start) + u64::from(length) <= u64::from(side)
        };
        assert!(
            is_inside(kept.x, kept.size.width_px, oriented.width_px)
                && is_inside(kept.y, kept.size.height_px, oriented.height_px),
            "{kept:?} of {oriented:?}"
        );
        let geometry = Geometry::of(kept.size, &trim.recipe(self.effects));
        Plan {
            crop: Rect {
                x: kept.x + geometry.crop.x,
                y: kept.y + geometry.crop.y,
                size: geometry.crop.size,
            },
            inner: geometry.inner,
            target: geometry.target,
            ..*self
        }
    }
}
