//! Removal of transparency.

use image_plan::{Layout, Packed};

/// Blends the picture over white, for formats without transparency. Returns pictures without alpha
/// unchanged.
#[must_use]
pub fn flatten(packed: Packed) -> Packed {
    if packed.layout != Layout::Rgba {
        return packed;
    }
    let pixels = packed.data.as_chunks().0.iter();
    Packed {
        size: packed.size,
        layout: Layout::Rgb,
        data: pixels
            .flat_map(|&[r, g, b, a]| [r, g, b].map(|sample| over_white(sample, a)))
            .collect(),
    }
}

fn over_white(sample: u8, alpha: u8) -> u8 {
    let (sample, alpha) = (u16::from(sample), u16::from(alpha));
    ((sample * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}
