//! Frames that a plan decodes of an animated original.

use super::{Limits, Refusal, Target};
use crate::{Facts, Format, Frames, Recipe, Size};
use std::num::NonZeroU32;

impl Facts {
    /// Returns whether the picture can be converted. The response to a request for it may then
    /// depend on the formats that the client accepts.
    #[must_use]
    pub const fn is_convertible(&self) -> bool {
        self.unsupported.is_none() && (!self.animated || self.has_decodable_frames())
    }

    /// Returns whether the frames of the original can be decoded.
    pub(crate) const fn has_decodable_frames(&self) -> bool {
        self.animated && matches!(self.format, Format::Gif | Format::Png | Format::Webp)
    }
}

/// Fails if the requested frame does not exist, or if an animation would become a still picture
/// although the request does not name a frame.
pub(super) fn check_request(facts: &Facts, recipe: &Recipe, target: Target) -> Result<(), Refusal> {
    if let Frames::Exactly(frames) = facts.frames
        && frames < recipe.frame_number().into()
    {
        return Err(Refusal::NoFrame { frames });
    }
    let is_possible = match recipe.frame {
        None => target == Target::Webp,
        Some(_) => true,
    };
    match facts.animated && !(is_possible && facts.has_decodable_frames()) {
        true => Err(Refusal::AnimatedSource),
        false => Ok(()),
    }
}

/// Returns the maximum number of frames of the output, whose size is `target`. Returns `None` for a
/// still output.
pub(super) fn frames_max(
    facts: &Facts,
    recipe: &Recipe,
    target: Size,
    limits: &Limits,
) -> Result<Option<NonZeroU32>, Refusal> {
    if !facts.animated {
        return Ok(None);
    }
    // All frames before a requested frame are decoded, too.
    let counted = match recipe.frame {
        None => facts.frames.counted(),
        Some(frame) => frame.get().into(),
    };
    let frame_pixels = match recipe.frame {
        None => facts.stored.pixels().max(target.pixels()).max(1),
        Some(_) => facts.stored.pixels().max(1),
    };
    if limits.animation_frames_max < counted {
        return Err(Refusal::TooManyFrames {
            frames: counted,
            frames_max: limits.animation_frames_max,
        });
    }
    let pixels = frame_pixels.saturating_mul(counted.into());
    if limits.animation_pixels_max < pixels {
        return Err(Refusal::AnimationTooLarge {
            pixels,
            pixels_max: limits.animation_pixels_max,
        });
    }
    let frames_max = match (recipe.frame, facts.frames) {
        (Some(_), _) => return Ok(None),
        (None, Frames::Exactly(frames)) => frames,
        (None, Frames::AtLeast(_)) => {
            let fitting = limits.animation_pixels_max / frame_pixels;
            limits
                .animation_frames_max
                .min(u32::try_from(fitting).unwrap_or(u32::MAX))
        }
    };
    Ok(NonZeroU32::new(frames_max))
}
