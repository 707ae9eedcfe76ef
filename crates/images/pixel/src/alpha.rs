//! Removal of transparency.

use crate::effects::blend_over;
use image_plan::{Packed, Rgba};

/// Blends the picture over white, for formats without transparency. Returns pictures without alpha
/// unchanged.
#[must_use]
pub fn flatten(packed: Packed) -> Packed {
    blend_over(packed, Rgba::WHITE)
}
