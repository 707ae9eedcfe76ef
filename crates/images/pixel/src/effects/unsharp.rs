//! Unsharp mask on lightness.

use super::blur::Gaussian;
use image_plan::{Layout, Packed, Unsharp};

/// Sharpens the picture: adds to each pixel the difference between its lightness and the blurred
/// lightness, with the factor of `mask`. All three channels of a pixel change by the same amount,
/// so that edges get no coloured fringes. Lightness is the luma of BT.709, computed from encoded
/// samples: a difference in linear light would sharpen dark edges less than bright ones.
///
/// # Panics
/// If the picture is CMYK.
#[must_use]
pub fn unsharp(mut packed: Packed, mask: &Unsharp) -> Packed {
    assert!(packed.layout != Layout::Cmyk, "CMYK has no lightness");
    let filter = Gaussian::new(f64::from(mask.sigma_centipx) / 100.0);
    let channels = packed.layout.channels();
    let has_alpha = packed.layout == Layout::Rgba;
    let alpha_of = |pixel: &[u8]| if has_alpha { pixel[3] } else { 255 };
    let pixels = packed.data.chunks_exact(channels);
    let weighted = |pixel: &[u8]| {
        let alpha = u32::from(alpha_of(pixel));
        ((u32::from(luma(pixel)) * alpha + 127) / 255) as u16
    };
    let mut blurred: Vec<u16> = pixels.clone().map(weighted).collect();
    filter.blur(&mut blurred, packed.size);
    // Transparent pixels have no weight in the blurred lightness.
    let weights = has_alpha.then(|| {
        let mut alphas: Vec<u16> = pixels.map(|pixel| u16::from(pixel[3]) * 257).collect();
        filter.blur(&mut alphas, packed.size);
        alphas
    });
    let pixels = packed.data.chunks_exact_mut(channels);
    for (at, (pixel, blurred)) in pixels.zip(blurred).enumerate() {
        let blurred = match weights.as_ref().map(|weights| u32::from(weights[at])) {
            None => u32::from(blurred),
            Some(0) => continue,
            Some(weight) => (u32::from(blurred) * 65_535 + weight / 2) / weight,
        };
        let difference = i32::from(luma(pixel)) - blurred.min(WHITE) as i32;
        if difference.unsigned_abs() < u32::from(mask.threshold) << LUMA_BITS {
            continue;
        }
        // The product has at most 16 + 10 bits.
        let added = (difference * i32::from(mask.amount_pct)) as f32 / ((100 << LUMA_BITS) as f32);
        let added = added.round() as i32;
        for sample in &mut pixel[..3] {
            *sample = (i32::from(*sample) + added).clamp(0, 255) as u8;
        }
    }
    packed
}

/// Number of fractional bits of [`luma`].
const LUMA_BITS: u32 = 8;
/// Luma of white.
const WHITE: u32 = 255 << LUMA_BITS;

/// Returns the luma of BT.709.
fn luma(pixel: &[u8]) -> u16 {
    let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u16::from);
    54 * red + 183 * green + 19 * blue
}
