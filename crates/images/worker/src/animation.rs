//! Pipeline of an animation: each frame is decoded, scaled and changed as a still picture would be,
//! and added to the output before the next frame is decoded.
//!
//! Unlike still pictures, frames are not measured: the quality floor of lossy outputs does not
//! apply to them. In a lossy output, each frame becomes lossy or lossless, whichever is smaller. At
//! high effort, a lossless output is made too, and the smaller output is kept: drawings are often
//! smaller if all of their frames are lossless, because equal parts of successive frames then stay
//! equal.
//!
//! If borders of one colour are removed, those of the first frame are removed from all frames.

use crate::convert::{ConvertedPicture, profile_action, shaped, with_final_sizes};
use crate::{Error, ErrorKind};
use codec::{AnimationEncoder, AnimationReader, DecodeOptions};
use image_plan::{Encoding, Plan, Raster, Subsampling};
use pixel::colour::{ProfileAction, SmallProfiles};
use pixel::to_packed;
use std::num::NonZeroU32;

/// Lowest method of WebP, the measure of effort, at which a lossy conversion also makes a lossless
/// output. Clients do not wait for conversions at such an effort.
const LOSSLESS_METHOD_MIN: u8 = 3;

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
        remarks.push(
            "the colour profile is unreadable, so the colours are treated as sRGB".to_owned(),
        );
    }
    let profile = reader.profile().map(<[u8]>::to_vec);
    let mut output: Option<(Vec<AnimationEncoder>, ProfileAction, Plan)> = None;
    while let Some(frame) = reader.next_frame().map_err(|error| Error::decode(&error))? {
        let duration_ms = frame.duration_ms;
        let raster = Raster::Packed(frame.picture.clone());
        let (encoders, action, plan) = match &mut output {
            Some(output) => output,
            none => {
                let plan = with_final_sizes(plan, &raster);
                let action = action_for(&plan, profile.as_deref(), &raster, &mut remarks);
                let encoders = new_encoders(&plan, profile.as_deref(), &action)?;
                none.insert((encoders, action, plan))
            }
        };
        let picture = to_packed(shaped(plan, raster, action, Subsampling::S444));
        for encoder in encoders {
            let added = encoder.add(&picture, duration_ms);
            added.map_err(|error| Error::encode(&error))?;
        }
    }
    let (encoders, size) = match output {
        Some((encoders, _, plan)) => (encoders, plan.target),
        None => (Vec::new(), plan.target),
    };
    let files = encoders
        .into_iter()
        .map(|encoder| encoder.finish(reader.plays()));
    let files: Vec<Vec<u8>> = files
        .collect::<Result<_, _>>()
        .map_err(|error| Error::encode(&error))?;
    let Some(bytes) = files.into_iter().min_by_key(Vec::len) else {
        let detail = "the animation has no frame";
        return Err(Error::new(ErrorKind::Undecodable, detail));
    };
    Ok(ConvertedPicture {
        bytes,
        size,
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
        remarks.push(format!(
            "the colour profile is unusable, so the colours are treated as sRGB: {why}"
        ));
    }
    action
}

/// Returns one or two encoders of the animation. The caller keeps the smallest output.
fn new_encoders(
    plan: &Plan,
    profile: Option<&[u8]>,
    action: &ProfileAction,
) -> Result<Vec<AnimationEncoder>, Error> {
    let carried = profile.filter(|_| matches!(action, ProfileAction::Carry));
    let lossless = match plan.encoding {
        Encoding::Webp {
            quality,
            method: method @ LOSSLESS_METHOD_MIN..,
            lossless: false,
        } => Some(Encoding::Webp {
            quality,
            method,
            lossless: true,
        }),
        _ => None,
    };
    let encodings = std::iter::once(plan.encoding).chain(lossless);
    let encoders = encodings.map(|encoding| AnimationEncoder::new(plan.target, carried, encoding));
    encoders
        .collect::<Result<_, _>>()
        .map_err(|error| Error::encode(&error))
}
