//! Serialized plans, sent by the server to a worker of the same build. In the table, `@` precedes
//! the offset of a field in bytes; `inner` and `target` each consist of width u32 and height u32.
//!
//! ```text
//! @0 "PLN5" · @4 source u8 · orientation u8 · encoder u8 · lossless u8
//! @8 quality u8 · effort u8 · page u16 · @12 stored: width u32 · height u32
//! @20 crop: x u32 · y u32 · width u32 · height u32 · @36 inner · @44 target
//! @52 effects · @96 trim · @128 maximum number of frames u32, 0 for a still output
//! @132 maximum length of the output u32, 0 for none
//! @136 score that the quality is searched for u32, 1…100, 0 for none · @140 end
//! ```

use super::{Encoding, Plan, Rect, Target};
use crate::effects::EFFECTS_BYTES;
use crate::fit::Geometry;
use crate::trim::TRIM_BYTES;
use crate::{Effects, Format, Orientation, Size, Trim};
use std::num::{NonZeroU8, NonZeroU32};
use thiserror::Error;

/// Size of a serialized plan in bytes.
pub const PLAN_BYTES: usize = SCORE_MIN_AT + SCORE_MIN_BYTES;

/// Offset of the effects in bytes.
const EFFECTS_AT: usize = 52;
/// Offset of the trim in bytes.
const TRIM_AT: usize = EFFECTS_AT + EFFECTS_BYTES;
/// Offset of the maximum number of frames in bytes.
const FRAMES_AT: usize = TRIM_AT + TRIM_BYTES;
const FRAMES_BYTES: usize = 4;
/// Offset of the maximum length of the output in bytes.
const BYTES_MAX_AT: usize = FRAMES_AT + FRAMES_BYTES;
const BYTES_MAX_BYTES: usize = 4;
/// Offset of the score that the quality is searched for in bytes.
const SCORE_MIN_AT: usize = BYTES_MAX_AT + BYTES_MAX_BYTES;
const SCORE_MIN_BYTES: usize = 4;

const MAGIC: [u8; 4] = *b"PLN5";

/// Reason why bytes are not a valid plan. Malformed plans are the server's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MalformedPlan {
    /// The length is not exactly [`PLAN_BYTES`].
    #[error("plan has the wrong length")]
    Length,
    /// The bytes do not begin with the magic number of this version.
    #[error("not a plan of this build")]
    Magic,
    /// A format, orientation or encoder is unknown, or a setting is out of range.
    #[error("plan has an unknown format or setting")]
    Value,
    /// A side is 0, the crop exceeds the picture, the picture and its margins exceed the output, or
    /// the output is too large for its format.
    #[error("plan has contradictory sizes")]
    Geometry,
}

impl Plan {
    /// Serializes the plan.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PLAN_BYTES] {
        let (quality, effort, lossless) = match self.encoding {
            Encoding::Jpeg { quality } => (quality, 0, false),
            Encoding::Png => (0, 0, true),
            Encoding::Webp {
                quality,
                method,
                lossless,
            } => (quality, method, lossless),
            Encoding::Avif {
                quality,
                speed,
                lossless,
            } => (quality, speed, lossless),
        };
        let target = self.encoding.target();
        let (source, orientation) = (self.source as u8, self.orientation as u8);
        let mut bytes = [0; PLAN_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&[source, orientation, target as u8, lossless.into()]);
        bytes[8..10].copy_from_slice(&[quality, effort]);
        bytes[10..12].copy_from_slice(&self.page.to_le_bytes());
        let numbers = [
            self.stored.width_px,
            self.stored.height_px,
            self.crop.x,
            self.crop.y,
            self.crop.size.width_px,
            self.crop.size.height_px,
            self.inner.width_px,
            self.inner.height_px,
            self.target.width_px,
            self.target.height_px,
        ];
        for (field, number) in bytes[12..EFFECTS_AT].chunks_exact_mut(4).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        bytes[EFFECTS_AT..TRIM_AT].copy_from_slice(&self.effects.to_bytes());
        bytes[TRIM_AT..FRAMES_AT].copy_from_slice(&Trim::to_bytes(self.trim.as_ref()));
        let frames_max = self.frames_max.map_or(0, NonZeroU32::get);
        bytes[FRAMES_AT..BYTES_MAX_AT].copy_from_slice(&frames_max.to_le_bytes());
        let bytes_max = self.bytes_max.map_or(0, NonZeroU32::get);
        bytes[BYTES_MAX_AT..SCORE_MIN_AT].copy_from_slice(&bytes_max.to_le_bytes());
        let score_min = self.score_min.map_or(0, |score| u32::from(score.get()));
        bytes[SCORE_MIN_AT..].copy_from_slice(&score_min.to_le_bytes());
        bytes
    }

    /// Parses a plan and checks that its parts are consistent.
    ///
    /// # Errors
    /// [`MalformedPlan`] if the bytes are not exactly one plan of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, MalformedPlan> {
        let bytes: &[u8; PLAN_BYTES] = bytes.try_into().map_err(|_| MalformedPlan::Length)?;
        if bytes[..4] != MAGIC {
            return Err(MalformedPlan::Magic);
        }
        let mut numbers = [0; 10];
        for (number, field) in numbers
            .iter_mut()
            .zip(bytes[12..EFFECTS_AT].chunks_exact(4))
        {
            *number = u32::from_le_bytes(*field.first_chunk().expect("each chunk has four bytes"));
        }
        let [
            stored_w,
            stored_h,
            x,
            y,
            crop_w,
            crop_h,
            inner_w,
            inner_h,
            target_w,
            target_h,
        ] = numbers;
        let plan = Plan {
            source: format(bytes[4]).ok_or(MalformedPlan::Value)?,
            stored: Size::new(stored_w, stored_h),
            orientation: Orientation::from_exif(bytes[5].into()).ok_or(MalformedPlan::Value)?,
            crop: Rect {
                x,
                y,
                size: Size::new(crop_w, crop_h),
            },
            inner: Size::new(inner_w, inner_h),
            target: Size::new(target_w, target_h),
            encoding: encoding(bytes[6..10].try_into().expect("the slice has four bytes"))
                .ok_or(MalformedPlan::Value)?,
            page: u16::from_le_bytes([bytes[10], bytes[11]]),
            effects: effects(bytes).ok_or(MalformedPlan::Value)?,
            trim: trim(bytes).ok_or(MalformedPlan::Value)?,
            frames_max: number(bytes, FRAMES_AT),
            bytes_max: number(bytes, BYTES_MAX_AT),
            score_min: score_min(bytes).ok_or(MalformedPlan::Value)?,
        };
        let is_reduced_animation = plan.frames_max.is_some() && plan.bytes_max.is_some();
        let is_searched = plan.score_min.is_some();
        let may_be_searched = plan.encoding.is_lossy() && plan.frames_max.is_none();
        if plan.page == 0
            || !plan.may_be_animated()
            || is_reduced_animation
            || (is_searched && !may_be_searched)
        {
            return Err(MalformedPlan::Value);
        }
        if plan.is_consistent() {
            Ok(plan)
        } else {
            Err(MalformedPlan::Geometry)
        }
    }

    /// Returns whether the output is still, or whether source and output formats can be animated.
    fn may_be_animated(&self) -> bool {
        self.frames_max.is_none()
            || (self.encoding.target() == Target::Webp
                && matches!(self.source, Format::Gif | Format::Png | Format::Webp))
    }

    /// Returns whether the parts of the plan are consistent: no size is empty, the crop lies inside
    /// the upright picture, the rotated picture and the margins lie inside `target`, the output
    /// format supports `target`, and a plan with a trim has the bounds that follow from the trim.
    fn is_consistent(&self) -> bool {
        let within = |offset: u32, length: u32, whole: u32| {
            length != 0 && u64::from(offset) + u64::from(length) <= u64::from(whole)
        };
        let (upright, crop, rotated) = (self.oriented(), self.crop, self.rotated());
        let Some(framed) = self.effects.pad.within(self.target) else {
            return false;
        };
        let is_bounded = self.trim.is_none_or(|trim| {
            let recipe = trim.recipe(self.effects);
            let bounds = Geometry::planned(upright, &recipe);
            (bounds.crop, bounds.inner, bounds.target) == (crop, self.inner, self.target)
        });
        is_bounded
            && within(crop.x, crop.size.width_px, upright.width_px)
            && within(crop.y, crop.size.height_px, upright.height_px)
            && self.inner.pixels() != 0
            && within(0, rotated.width_px, framed.width_px)
            && within(0, rotated.height_px, framed.height_px)
            && self.encoding.target().holds(self.target)
    }
}

fn effects(plan: &[u8; PLAN_BYTES]) -> Option<Effects> {
    Effects::from_bytes(plan[EFFECTS_AT..].first_chunk::<EFFECTS_BYTES>()?)
}

/// Returns the number of 32 bits at offset `at`, unless it is 0.
fn number(plan: &[u8; PLAN_BYTES], at: usize) -> Option<NonZeroU32> {
    let number = plan[at..].first_chunk()?;
    NonZeroU32::new(u32::from_le_bytes(*number))
}

/// Returns the score that the quality is searched for, if any. Returns `None` for an impossible
/// score.
fn score_min(plan: &[u8; PLAN_BYTES]) -> Option<Option<NonZeroU8>> {
    let Some(score) = number(plan, SCORE_MIN_AT) else {
        return Some(None);
    };
    let score = NonZeroU8::try_from(score).ok()?;
    (score.get() <= 100).then_some(Some(score))
}

fn trim(plan: &[u8; PLAN_BYTES]) -> Option<Option<Trim>> {
    Trim::from_bytes(plan[TRIM_AT..].first_chunk()?)
}

/// Returns the format with this number in a serialized plan.
fn format(number: u8) -> Option<Format> {
    let mut formats = Format::ALL.into_iter();
    formats.find(|format| *format as u8 == number)
}

/// Parses the encoder and its settings from the bytes 6 to 9 of a serialized plan. Unused bytes
/// must have the values that `to_bytes` writes.
fn encoding(fields: [u8; 4]) -> Option<Encoding> {
    let [target, lossless, quality @ 0..=100, effort] = fields else {
        return None;
    };
    let lossless = match lossless {
        0 => false,
        1 => true,
        _ => return None,
    };
    let mut targets = Target::ALL.into_iter();
    let target = targets.find(|known| *known as u8 == target)?;
    match (target, lossless, quality, effort) {
        (Target::Jpeg, false, 1.., 0) => Some(Encoding::Jpeg { quality }),
        (Target::Png, true, 0, 0) => Some(Encoding::Png),
        (Target::Webp, _, _, method @ 0..=6) => Some(Encoding::Webp {
            quality,
            method,
            lossless,
        }),
        (Target::Avif, _, _, speed @ 0..=10) => Some(Encoding::Avif {
            quality,
            speed,
            lossless,
        }),
        _ => None,
    }
}
