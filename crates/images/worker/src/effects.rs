//! Effects of a plan on a picture, in the fixed order of [`image_plan::Effects`].

use image_plan::{Plan, Raster, Size, Subsampling};
use pixel::{blur, frame, pixelate, rotate, round_corners, to_packed, tone, unsharp};

/// Applies all effects to the scaled and oriented picture. The result has the plan's size.
pub(crate) fn apply_effects(plan: &Plan, raster: Raster) -> Raster {
    let effects = &plan.effects;
    let raster = match effects.needs_rgb() {
        true => filtered(plan, raster),
        false => raster,
    };
    let raster = frame(raster, plan.target, position(plan), effects.background);
    match effects.round_px {
        0 => raster,
        radius_px => Raster::Packed(round_corners(to_packed(raster), radius_px.into())),
    }
}

/// Applies the effects up to the frame.
fn filtered(plan: &Plan, raster: Raster) -> Raster {
    let effects = &plan.effects;
    let mut packed = to_packed(raster);
    if !effects.angle.is_zero() {
        packed = rotate(packed, effects.angle, plan.rotated());
    }
    if !effects.tone.is_identity() {
        packed = tone(packed, &effects.tone);
    }
    if effects.blur_centipx != 0 {
        packed = blur(packed, f64::from(effects.blur_centipx) / 100.0);
    }
    if let Some(mask) = &effects.unsharp {
        packed = unsharp(packed, mask);
    }
    if effects.pixelate_px != 0 {
        packed = pixelate(packed, effects.pixelate_px.into());
    }
    Raster::Packed(packed)
}

/// Returns the chroma subsampling in which the picture is scaled: `chroma`, unless the margins of
/// `pad` begin inside a chroma sample. Full chroma then keeps the picture at its exact place.
pub(crate) fn margin_chroma(plan: &Plan, chroma: Subsampling) -> Subsampling {
    let (across, down) = chroma.divisors();
    let divisor = across.max(down);
    let is_aligned = |margin_px: u16| u32::from(margin_px).is_multiple_of(divisor);
    let pad = plan.effects.pad;
    match is_aligned(pad.left_px) && is_aligned(pad.top_px) {
        true => chroma,
        false => Subsampling::S444,
    }
}

/// Returns the distances of the rotated picture from the left and the upper edge of the output: the
/// picture is in the middle between the margins of `pad`.
fn position(plan: &Plan) -> (u32, u32) {
    let (pad, rotated) = (plan.effects.pad, plan.rotated());
    let Size {
        width_px,
        height_px,
    } = pad.around(rotated);
    (
        u32::from(pad.left_px) + (plan.target.width_px - width_px) / 2,
        u32::from(pad.top_px) + (plan.target.height_px - height_px) / 2,
    )
}
