//! Pipeline of an animation: each frame is decoded, scaled and changed as a still picture would be,
//! and added to the output before the next frame is decoded.
//!
//! Unlike still pictures, frames are not measured: the quality floor of lossy outputs does not apply
//! to them. Each frame becomes lossy or lossless, whichever is smaller. If borders of one colour are
//! removed, those of the first frame are removed from all frames.

use crate::convert::{ConvertedPicture, profile_action, shaped, with_final_sizes};
use crate::{Error, ErrorKind};
use codec::{AnimationEncoder, AnimationReader, DecodeOptions};
use image_plan::{Plan, Raster, Subsampling};
use pixel::colour::{ProfileAction, SmallProfiles};
use pixel::to_packed;
use std::num::NonZeroU32;

/// Converts an animated original of at most `frames_max` frames to an animation.
///
/// # Errors
/// As [`convert`](crate::convert). An animation is never shortened: if one frame cannot be decoded
/// or encoded, the whole conversion fails.
pub(crate) fn convert_animation(
    plan: &Plan,
    frames_max: NonZeroU32,
    original: &[u8],
) -> Result<ConvertedPicture, Error> {
    let mut options = DecodeOptions::whole(plan.stored);
    options.limits.frames_max = frames_max.get();
    let mut reader = AnimationReader::open(plan.source, original, &options)
        .map_err(|error| Error::decode(&error))?;
    let mut remarks = Vec::new();
    if reader.is_profile_damaged() {
        remarks.push("unreadable colour profile treated as sRGB".to_owned());
    }
    let profile = reader.profile().map(<[u8]>::to_vec);
    let mut output: Option<(AnimationEncoder, ProfileAction, Plan)> = None;
    while let Some(frame) = reader.next_frame().map_err(|error| Error::decode(&error))? {
        let duration_ms = frame.duration_ms;
        let raster = Raster::Packed(frame.picture.clone());
        let (encoder, action, plan) = match &mut output {
            Some(output) => output,
            none => {
                let plan = with_final_sizes(plan, &raster);
                let action = action_for(&plan, profile.as_deref(), &raster, &mut remarks);
                let encoder = new_encoder(&plan, profile.as_deref(), &action)?;
                none.insert((encoder, action, plan))
            }
        };
        let shaped = shaped(plan, raster, action, Subsampling::S444);
        encoder
            .add(&to_packed(shaped), duration_ms)
            .map_err(|error| Error::encode(&error))?;
    }
    let Some((encoder, _, plan)) = output else {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "animation without a frame",
        ));
    };
    let bytes = encoder
        .finish(reader.plays())
        .map_err(|error| Error::encode(&error))?;
    Ok(ConvertedPicture {
        bytes,
        size: plan.target,
        remarks,
    })
}

/// Returns the treatment of the profile, and adds a remark if the profile is unusable.
fn action_for(
    plan: &Plan,
    profile: Option<&[u8]>,
    raster: &Raster,
    remarks: &mut Vec<String>,
) -> ProfileAction {
    let small = match plan.effects.adds_srgb_colour() {
        true => SmallProfiles::Convert,
        false => SmallProfiles::Carry,
    };
    let action = profile_action(profile, raster, small);
    if let ProfileAction::Malformed(why) = &action {
        remarks.push(format!("unusable colour profile treated as sRGB: {why}"));
    }
    action
}

fn new_encoder(
    plan: &Plan,
    profile: Option<&[u8]>,
    action: &ProfileAction,
) -> Result<AnimationEncoder, Error> {
    let carried = profile.filter(|_| matches!(action, ProfileAction::Carry));
    AnimationEncoder::new(plan.target, carried, plan.encoding)
        .map_err(|error| Error::encode(&error))
}
