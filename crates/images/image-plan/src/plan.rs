//! Plan of one conversion, decided before any pixel is read.

mod cost;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

use crate::effects::EffectInput;
use crate::fit::Geometry;
use crate::{
    Effects, Facts, Format, Frames, Kernel, Orientation, Recipe, Size, Trim, Unsupported, quality,
};
use std::num::{NonZeroU8, NonZeroU32};
use thiserror::Error;

pub use cost::Cost;
pub use wire::{MalformedPlan, PLAN_BYTES};

/// Output format of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// AV1 still picture (AVIF 1.1).
    Avif,
    /// WebP (RFC 9649).
    Webp,
    /// JPEG (ITU-T T.81).
    Jpeg,
    /// PNG (third edition).
    Png,
}

impl Target {
    /// All targets, in order of preference.
    pub const ALL: [Target; 4] = [Target::Avif, Target::Webp, Target::Jpeg, Target::Png];

    /// Returns the file format of the target.
    #[must_use]
    pub const fn format(self) -> Format {
        match self {
            Target::Avif => Format::Avif,
            Target::Webp => Format::Webp,
            Target::Jpeg => Format::Jpeg,
            Target::Png => Format::Png,
        }
    }

    /// Returns the media type, as used in the `Content-Type` field.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        self.format().media_type()
    }

    /// Returns the usual file name extension, without the dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        self.format().extension()
    }

    /// Returns the target for a file name extension, in upper or lower case. `jpg` and `jpeg` both
    /// mean JPEG.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Target> {
        let mut targets = Target::ALL.into_iter();
        targets.find(|target| {
            extension.eq_ignore_ascii_case(target.extension())
                || extension.eq_ignore_ascii_case(target.name())
        })
    }

    /// Returns the target's name as used in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Target::Avif => "avif",
            Target::Webp => "webp",
            Target::Jpeg => "jpeg",
            Target::Png => "png",
        }
    }

    /// Returns the maximum side in pixels that the format, or its encoder library, supports.
    #[must_use]
    pub const fn side_px_max(self) -> u32 {
        match self {
            // AV1's frame header stores sides in 16 bits, and readers of AVIF's `ispe` box have the
            // same limit.
            Target::Avif => 65_535,
            // VP8 and VP8L store sides in 14 bits.
            Target::Webp => 16_383,
            // libjpeg's `JPEG_MAX_DIMENSION`.
            Target::Jpeg => 65_500,
            // Limit of PNG (third edition) §7.1.
            Target::Png => i32::MAX as u32,
        }
    }

    /// Returns whether the format supports pictures of `size`.
    #[must_use]
    pub const fn holds(self, size: Size) -> bool {
        size.width_px <= self.side_px_max() && size.height_px <= self.side_px_max()
    }
}

/// Amount of CPU time that an encoder may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Low effort, used while a client waits: WebP method 2, AVIF speed 9.
    Quick,
    /// High effort, used when cores are idle: WebP method 4, AVIF speed 6.
    Better,
}

/// Output format and all settings of its encoder. The worker changes the settings only if the
/// quality of the output is too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// JPEG, encoded by libjpeg-turbo: baseline with optimized Huffman tables, 4:2:0 unless the
    /// picture is grey. Transparent pixels are blended over white.
    Jpeg {
        /// Quality, 1…100.
        quality: u8,
    },
    /// PNG, always lossless.
    Png,
    /// WebP, encoded by libwebp.
    Webp {
        /// Quality on WebP's scale, 0…100; has no effect if `lossless` is true.
        quality: u8,
        /// Compression method, 0…6; higher is slower.
        method: u8,
        /// True for lossless encoding (VP8L), false for lossy encoding (VP8).
        lossless: bool,
    },
    /// AVIF, encoded by libaom: all-intra, 8 bits per component.
    Avif {
        /// Quality on libavif's scale, 0…100.
        quality: u8,
        /// libaom's `cpu-used`, 0…10; higher is faster.
        speed: u8,
        /// True for lossless encoding: 4:4:4 with the identity matrix and quantizer 0.
        lossless: bool,
    },
}

impl Encoding {
    /// Returns the format that this encoding produces.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Encoding::Jpeg { .. } => Target::Jpeg,
            Encoding::Png => Target::Png,
            Encoding::Webp { .. } => Target::Webp,
            Encoding::Avif { .. } => Target::Avif,
        }
    }

    /// Returns whether the encoding may change samples.
    #[must_use]
    pub const fn is_lossy(self) -> bool {
        match self {
            Encoding::Jpeg { .. } => true,
            Encoding::Png => false,
            Encoding::Webp { lossless, .. } | Encoding::Avif { lossless, .. } => !lossless,
        }
    }

    /// Returns the encoder settings for a quality on the JPEG scale. A quality of 100 means
    /// lossless for WebP and AVIF.
    fn new(target: Target, quality_pct: u8, stage: Stage) -> Encoding {
        let quality = quality::native(quality_pct, target, stage);
        let lossless = quality_pct == 100;
        match target {
            Target::Jpeg => Encoding::Jpeg { quality },
            Target::Png => Encoding::Png,
            Target::Webp => Encoding::Webp {
                quality,
                method: match stage {
                    Stage::Quick => 2,
                    Stage::Better => 4,
                },
                lossless,
            },
            Target::Avif => Encoding::Avif {
                quality,
                speed: match stage {
                    Stage::Quick => 9,
                    Stage::Better => 6,
                },
                lossless,
            },
        }
    }
}

/// Minimum number of pixels that a decoded JPEG must have if the decoder halves its sides; see
/// [`Plan::shrink`].
const HALVED_PIXELS_MIN: u64 = 240_000;
/// Minimum number of pixels that a decoded JPEG must have if the decoder reduces its sides to a
/// quarter or an eighth; see [`Plan::shrink`].
const DECODED_PIXELS_MIN: u64 = 360_000;

/// Maximum number of pixels of a drawing that is rendered so large that scaling is unnecessary.
const DRAWN_PIXELS_MAX: u32 = 32 << 20;

/// Rectangle inside a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Distance from the left edge of the picture.
    pub x: u32,
    /// Distance from the top edge of the picture.
    pub y: u32,
    /// Width and height of the rectangle; never empty.
    pub size: Size,
}

/// Steps of one conversion, in this order: decode, orient, trim, crop, scale, rotate by the angle
/// of the effects, the other effects up to `pad`, round the corners, encode. If the plan has a
/// trim, the crop and the sizes after it are only bounds; see [`Plan::trimmed`].
///
/// ```text
/// stored ─ orientation ─► oriented ─ crop ─► region ─ scale ─► inner
///  inner ─ effects.angle ─► rotated ─ other effects ─ pad ─► target ─► encoding
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Format of the original, detected by magic bytes.
    pub source: Format,
    /// Size stated by the file, before orientation; for a drawing, the size at which it is
    /// rendered.
    pub stored: Size,
    /// Rotation and mirroring: first the orientation that the file states, then the orientation of
    /// the recipe.
    pub orientation: Orientation,
    /// Part of the rotated picture that is kept.
    pub crop: Rect,
    /// Size of the picture after scaling; equal to `crop.size` if nothing is scaled.
    pub inner: Size,
    /// Size of the output. It differs from `inner` only if the picture is rotated by an angle, for
    /// `fit=contain`, and if `effects` has margins. The picture is centred between the margins,
    /// which have the background of `effects`.
    pub target: Size,
    /// Format and encoder settings of the output.
    pub encoding: Encoding,
    /// Number of the page of the original, counted from 1. For a still output of an animated
    /// original, the number of the frame.
    pub page: u16,
    /// Operations on the scaled picture, without those that have no effect on this picture.
    pub effects: Effects,
    /// Removal of borders of one colour, if any.
    pub trim: Option<Trim>,
    /// Maximum number of frames of an animated output; an original with more frames is refused.
    /// `None` for a still output.
    pub frames_max: Option<NonZeroU32>,
    /// Maximum length of a still output in bytes, for which the quality is lowered if necessary.
    pub bytes_max: Option<NonZeroU32>,
    /// SSIMULACRA2 score, 1…100, for which the lowest sufficient quality of a lossy still output is
    /// searched. `None` keeps the quality of `encoding` unless the output is below the quality
    /// floor.
    pub score_min: Option<NonZeroU8>,
}

impl Plan {
    /// Returns the size of the rotated picture.
    #[must_use]
    pub const fn oriented(&self) -> Size {
        if self.orientation.transposes() {
            self.stored.transposed()
        } else {
            self.stored
        }
    }

    /// Returns the size of the scaled picture after its rotation by the angle of the effects.
    #[must_use]
    pub fn rotated(&self) -> Size {
        self.effects.angle.frame(self.inner)
    }

    /// Returns the factor by which a JPEG decoder may shrink each side in its DCT: 1, 2, 4 or 8.
    ///
    /// DCT shrinking averages blocks, which is coarser than the scaler's filter. A picture that is
    /// scaled by [`Kernel::Nearest`], without averaging, is therefore not shrunk. A picture that is
    /// trimmed is not shrunk either, because the size of the remaining part is not known. Two
    /// conditions limit the factor for other pictures:
    ///
    /// - After shrinking, the scaler must still reduce both axes by a factor of at least 2, as in
    ///   libvips. A factor of 5/3 suffices if the decoder only halves the sides. If the decoder did
    ///   the whole reduction, this would cost up to 20 points of SSIMULACRA2.
    /// - The decoded picture must have at least [`HALVED_PIXELS_MIN`] pixels if the decoder halves
    ///   the sides, and [`DECODED_PIXELS_MIN`] if it shrinks them further. With fewer pixels,
    ///   little time is saved. These minimums also let all small outputs of a picture, up to about
    ///   300 pixels square, share one decode: for such outputs, the factor does not depend on the
    ///   size of the output.
    #[must_use]
    pub fn shrink(&self) -> u8 {
        let is_averaged = self.effects.kernel != Kernel::Nearest;
        if !self.source.is_decoded_as_jpeg() || !is_averaged || self.trim.is_some() {
            return 1;
        }
        let leaves_enough = |shrink: &u8| {
            let shrink = u64::from(*shrink);
            let (least, of, pixels_min) = match shrink {
                2 => (5, 3, HALVED_PIXELS_MIN),
                _ => (2, 1, DECODED_PIXELS_MIN),
            };
            let leaves =
                |inner: u32, crop: u32| least * shrink * u64::from(inner) <= of * u64::from(crop);
            let (inner, crop) = (self.inner, self.crop.size);
            leaves(inner.width_px, crop.width_px)
                && leaves(inner.height_px, crop.height_px)
                && pixels_min * shrink * shrink <= self.stored.pixels()
        };
        let shrink = [8, 4, 2].into_iter().find(leaves_enough);
        shrink.unwrap_or(1)
    }

    /// Returns the plan of a drawing with the final size `stored`, at which the drawing is
    /// rendered. That size makes scaling unnecessary. A drawing with a trim, or with more than
    /// [`DRAWN_PIXELS_MAX`] pixels at that size, keeps the size that it states.
    fn drawn(self) -> Plan {
        let (oriented, crop, inner) = (self.oriented(), self.crop, self.inner);
        let scaled = |length: u32, inner: u32, crop: u32| {
            (u64::from(length) * u64::from(inner) + u64::from(crop) / 2) / u64::from(crop)
        };
        let across = |length| scaled(length, inner.width_px, crop.size.width_px);
        let down = |length| scaled(length, inner.height_px, crop.size.height_px);
        let (width, height) = (across(oriented.width_px), down(oriented.height_px));
        let is_moderate = u128::from(width) * u128::from(height) <= u128::from(DRAWN_PIXELS_MAX);
        if self.trim.is_some() || !is_moderate {
            return self;
        }
        // The casts lose nothing: no side exceeds the number of pixels, which has 32 bits. Rounding
        // moves the crop by at most half a pixel.
        let rendered = Size::new(width as u32, height as u32);
        Plan {
            stored: match self.orientation.transposes() {
                true => rendered.transposed(),
                false => rendered,
            },
            crop: Rect {
                x: (across(crop.x) as u32).min(rendered.width_px - inner.width_px),
                y: (down(crop.y) as u32).min(rendered.height_px - inner.height_px),
                size: inner,
            },
            ..self
        }
    }

    /// Returns the number of pixels that the decoder produces, after shrinking.
    #[must_use]
    pub fn decoded_pixels(&self) -> u64 {
        let shrink = u64::from(self.shrink());
        self.stored.pixels().div_ceil(shrink * shrink)
    }
}

/// Bounds on plans, which limit a worker's memory and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of pixels of a decoded original; see [`Plan::decoded_pixels`].
    pub source_pixels_max: u64,
    /// Maximum number of pixels of an output.
    pub target_pixels_max: u64,
    /// Maximum size of an original's ICC profile in bytes, as stored.
    pub profile_bytes_max: u64,
    /// Maximum number of frames of an animation that is decoded.
    pub animation_frames_max: u32,
    /// Maximum number of pixels of an animation: the pixels of the original's or the output's
    /// canvas, whichever is larger, multiplied by the number of frames.
    pub animation_pixels_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // 120 million pixels occupy 480 MB as 8-bit RGBA. Cameras of 2026 produce up to 102 MP;
            // phones produce 50 to 200 MP in their highest mode, which is seldom used.
            source_pixels_max: 120_000_000,
            target_pixels_max: 120_000_000,
            // Display profiles have less than 10 KB, profiles of printing presses up to 3 MB.
            profile_bytes_max: 4 << 20,
            // 40 seconds at 50 frames per second.
            animation_frames_max: 2_000,
            // 650 frames of 640 × 480 pixels: about 15 seconds of CPU time, for which a client
            // waits.
            animation_pixels_max: 200_000_000,
        }
    }
}

/// Reason for which a picture is not converted. All reasons are a fault of the original, except
/// `TargetTooLarge`, `NoPage` and `NoFrame`, which are a fault of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Refusal {
    /// The decoded original would have more pixels than the limit.
    #[error("original of {pixels} pixels is too large, at most {pixels_max} are decoded")]
    TooManyPixels {
        /// Number of pixels of the original as stored, before the decoder shrinks it.
        pixels: u64,
        /// Limit that was exceeded: [`Limits::source_pixels_max`].
        pixels_max: u64,
    },
    /// The original's ICC profile exceeds [`Limits::profile_bytes_max`].
    #[error("original's colour profile of {profile_bytes} bytes exceeds the limit")]
    ProfileTooLarge {
        /// Size of the profile in bytes, as stated by the header.
        profile_bytes: u64,
    },
    /// The original is valid, but of a kind that is sent unchanged.
    #[error("original is not converted: {0}")]
    UnsupportedSource(Unsupported),
    /// The original has far too few bytes for its pixels; see [`Facts::sparse`].
    #[error("original has too few bytes for its pixels")]
    SparseSource,
    /// The original is animated, but the output cannot be; a conversion would keep only one frame.
    #[error("original is animated")]
    AnimatedSource,
    /// The animation has more frames than [`Limits::animation_frames_max`].
    #[error("animation of {frames} or more frames is too long, at most {frames_max} are decoded")]
    TooManyFrames {
        /// Number of frames that were counted.
        frames: u32,
        /// Limit that was exceeded.
        frames_max: u32,
    },
    /// The animation has more pixels in all its frames than [`Limits::animation_pixels_max`].
    #[error(
        "animation of {pixels} or more pixels in all frames is too large, at most {pixels_max} are converted"
    )]
    AnimationTooLarge {
        /// Number of pixels of all frames that were counted.
        pixels: u64,
        /// Limit that was exceeded.
        pixels_max: u64,
    },
    /// The output would exceed [`Limits::target_pixels_max`] or the maximum size of its format.
    #[error("output of {} x {} pixels is too large", .size.width_px, .size.height_px)]
    TargetTooLarge {
        /// Size that the output would have.
        size: Size,
    },
    /// The original has fewer pages than requested.
    #[error("original has no such page, its pages are numbered from 1 to {pages}")]
    NoPage {
        /// Number of pages of the original.
        pages: u16,
    },
    /// The original has fewer frames than requested.
    #[error("original has no such frame, its frames are numbered from 1 to {frames}")]
    NoFrame {
        /// Number of frames of the original.
        frames: u32,
    },
}

/// Plans the conversion of a picture with `facts`, those of the page that `recipe` requests, into
/// `target`.
///
/// ```text
///  orientations of file and recipe    recipe's crop, box and fit         quality table
/// stored ─────────────────► oriented ─────────► crop ─► inner ─► target ─► encoding
/// ```
///
/// # Errors
/// [`Refusal`] if the picture or the output exceeds the limits, or if Pelton does not convert
/// pictures of this kind.
pub fn plan(
    facts: &Facts,
    recipe: &Recipe,
    target: Target,
    stage: Stage,
    limits: &Limits,
) -> Result<Plan, Refusal> {
    if facts.pages < recipe.page_number() {
        return Err(Refusal::NoPage { pages: facts.pages });
    }
    if let Some(unsupported) = facts.unsupported {
        return Err(Refusal::UnsupportedSource(unsupported));
    }
    check_frames(facts, recipe, target)?;
    let recipe = &recipe.applied_to(facts);
    let geometry = Geometry::planned(facts.rotated(recipe.orientation), recipe);
    let size = geometry.target;
    let trim = Trim::of(recipe);
    let has_box = recipe.width_px.is_some() || recipe.height_px.is_some();
    let input = EffectInput {
        // A later frame may make parts of the canvas transparent, even if the first frame is
        // opaque.
        has_alpha: facts.alpha || facts.animated,
        is_scaled: match trim {
            None => geometry.inner != geometry.crop.size,
            Some(_) => has_box,
        },
        is_padded: geometry.may_have_margins(recipe),
        is_flattened: target == Target::Jpeg,
    };
    let quality_pct = recipe.quality_pct.unwrap_or(quality::DEFAULT_QUALITY_PCT);
    let frames_max = frames_max(facts, recipe, size, limits)?;
    let plan = Plan {
        source: facts.format,
        stored: facts.stored,
        orientation: facts.orientation.then(recipe.orientation),
        crop: geometry.crop,
        inner: geometry.inner,
        target: size,
        encoding: Encoding::new(target, quality_pct, stage),
        page: match facts.animated {
            true => recipe.frame_number(),
            false => recipe.page_number(),
        },
        effects: recipe.effects.relevant(&input),
        trim,
        frames_max,
        // An animation is not encoded again and again: that would take too long.
        bytes_max: recipe.bytes_max.filter(|_| frames_max.is_none()),
        score_min: quality::AUTO_SCORE
            .filter(|_| recipe.is_quality_auto && frames_max.is_none() && target != Target::Png),
    };
    let plan = match facts.format.is_drawing() {
        true => plan.drawn(),
        false => plan,
    };
    check_sizes(&plan, facts, limits)?;
    Ok(plan)
}

/// Fails if the original or the output is too large.
fn check_sizes(plan: &Plan, facts: &Facts, limits: &Limits) -> Result<(), Refusal> {
    let (size, target) = (plan.target, plan.encoding.target());
    if limits.source_pixels_max < plan.decoded_pixels() {
        return Err(Refusal::TooManyPixels {
            pixels: facts.stored.pixels(),
            pixels_max: limits.source_pixels_max,
        });
    }
    if facts.sparse {
        return Err(Refusal::SparseSource);
    }
    if limits.profile_bytes_max < facts.profile_bytes {
        return Err(Refusal::ProfileTooLarge {
            profile_bytes: facts.profile_bytes,
        });
    }
    if limits.target_pixels_max < size.pixels() || !target.holds(size) {
        return Err(Refusal::TargetTooLarge { size });
    }
    Ok(())
}

/// Fails if the requested frame does not exist, if the frames of an animation cannot be decoded, or
/// if an animation would become a still picture although the request does not name a frame.
fn check_frames(facts: &Facts, recipe: &Recipe, target: Target) -> Result<(), Refusal> {
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

/// Returns the maximum number of frames of the output, whose size is `target`, or `None` for a
/// still output. Fails if the animation exceeds the limits.
fn frames_max(
    facts: &Facts,
    recipe: &Recipe,
    target: Size,
    limits: &Limits,
) -> Result<Option<NonZeroU32>, Refusal> {
    if !facts.animated {
        return Ok(None);
    }
    // All frames before a requested frame are decoded too, so they count.
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
