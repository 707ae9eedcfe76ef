//! What a worker is to do with one picture, decided before a pixel is read.

mod cost;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

use crate::fit::Geometry;
use crate::{Facts, Format, Orientation, Recipe, Size, Unsupported, quality};
use std::{error, fmt};

pub use cost::Cost;
pub use wire::{MalformedPlan, PLAN_BYTES};

/// Formats that Pelton writes.
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
    /// Every target, in order of preference.
    pub const ALL: [Target; 4] = [Target::Avif, Target::Webp, Target::Jpeg, Target::Png];

    /// The format it writes.
    #[must_use]
    pub const fn format(self) -> Format {
        match self {
            Target::Avif => Format::Avif,
            Target::Webp => Format::Webp,
            Target::Jpeg => Format::Jpeg,
            Target::Png => Format::Png,
        }
    }

    /// Value for `Content-Type`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        self.format().media_type()
    }

    /// The usual ending of file names, without the dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        self.format().extension()
    }

    /// The target that a file name's ending means, in any case; `jpg` and `jpeg` are one.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Target> {
        let mut targets = Target::ALL.into_iter();
        targets.find(|target| {
            extension.eq_ignore_ascii_case(target.extension())
                || extension.eq_ignore_ascii_case(target.name())
        })
    }

    /// Name in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Target::Avif => "avif",
            Target::Webp => "webp",
            Target::Jpeg => "jpeg",
            Target::Png => "png",
        }
    }

    /// Longest side that the format, or the library that writes it, can hold.
    #[must_use]
    pub const fn side_px_max(self) -> u32 {
        match self {
            // AV1's frame header counts sides in 16 bits, and `ispe` readers stop there too.
            Target::Avif => 65_535,
            // VP8 and VP8L count sides in 14 bits.
            Target::Webp => 16_383,
            // libjpeg's JPEG_MAX_DIMENSION.
            Target::Jpeg => 65_500,
            // PNG (third edition) §7.1.
            Target::Png => i32::MAX as u32,
        }
    }

    /// Whether the format can hold a picture of `size`.
    #[must_use]
    pub const fn holds(self, size: Size) -> bool {
        size.width_px <= self.side_px_max() && size.height_px <= self.side_px_max()
    }
}

/// How hard the encoder tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// While a client waits: WebP method 2, AVIF speed 9.
    Quick,
    /// When cores are idle: WebP method 4, AVIF speed 6.
    Better,
}

/// An encoder's own settings; nothing is left for the worker to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// libjpeg-turbo, baseline with its own Huffman tables, 4:2:0 unless the picture is grey; transparency is laid over
    /// white.
    Jpeg {
        /// 1…100.
        quality: u8,
    },
    /// Lossless.
    Png,
    /// libwebp.
    Webp {
        /// 0…100; unused when lossless.
        quality: u8,
        /// 0…6.
        method: u8,
        /// VP8L instead of VP8.
        lossless: bool,
    },
    /// libaom, all-intra, 8 bit.
    Avif {
        /// 0…100, as libavif counts it.
        quality: u8,
        /// 0…10, libaom's `cpu-used`.
        speed: u8,
        /// 4:4:4 with the identity matrix and quantiser 0.
        lossless: bool,
    },
}

impl Encoding {
    /// The format this encoding produces.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Encoding::Jpeg { .. } => Target::Jpeg,
            Encoding::Png => Target::Png,
            Encoding::Webp { .. } => Target::Webp,
            Encoding::Avif { .. } => Target::Avif,
        }
    }

    /// Whether samples change.
    #[must_use]
    pub const fn is_lossy(self) -> bool {
        match self {
            Encoding::Jpeg { .. } => true,
            Encoding::Png => false,
            Encoding::Webp { lossless, .. } | Encoding::Avif { lossless, .. } => !lossless,
        }
    }

    /// The settings for a quality on the JPEG scale; 100 is lossless where the format can be.
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

/// Pixels that a JPEG decoder leaves when it halves, and when it shrinks further; see [`Plan::shrink`].
const HALVED_PIXELS_MIN: u64 = 240_000;
const DECODED_PIXELS_MIN: u64 = 360_000;

/// A rectangle inside a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Distance from the left edge.
    pub x: u32,
    /// Distance from the top edge.
    pub y: u32,
    /// Extent; never empty.
    pub size: Size,
}

/// One job's picture work, in the order it is done: decode, orient, crop, scale, pad, encode.
///
/// ```text
/// stored ─ orientation ─► oriented ─ crop ─► region ─ scale ─► inner ─ pad ─► target ─► encoding
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Format of the original, by its magic bytes.
    pub source: Format,
    /// Size as the file states it, before orientation.
    pub stored: Size,
    /// Turns and mirrors that make the picture upright.
    pub orientation: Orientation,
    /// Part of the upright picture that is kept.
    pub crop: Rect,
    /// Size after scaling; equal to `crop.size` when nothing is scaled.
    pub inner: Size,
    /// Size of the answer. Larger than `inner` only for `fit=contain`, which centres the picture on white, or on
    /// transparency where the picture has any.
    pub target: Size,
    /// Format and settings of the answer.
    pub encoding: Encoding,
}

impl Plan {
    /// Size of the upright picture.
    #[must_use]
    pub const fn oriented(&self) -> Size {
        if self.orientation.transposes() {
            self.stored.transposed()
        } else {
            self.stored
        }
    }

    /// By how much a JPEG decoder may shrink each side in its DCT: 1, 2, 4 or 8.
    ///
    /// DCT shrinking averages blocks, which is coarser than the scaler's filter. So it must leave the scaler a factor of
    /// two or more on both axes, as libvips does, or five thirds where it only halves; shrinking all the way costs up to 20
    /// points of SSIMULACRA2. And it must leave a quarter of a megapixel, or a third where it does more than halve: below that
    /// little time is saved, and all the small sizes of a picture, up to 300 pixels square, come from one decode.
    #[must_use]
    pub fn shrink(&self) -> u8 {
        if self.source != Format::Jpeg {
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
}

/// Bounds on what is planned. A worker's memory and time follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pixels of an original.
    pub source_pixels_max: u64,
    /// Pixels of an answer.
    pub target_pixels_max: u64,
    /// Bytes of an original's ICC profile, as stored.
    pub profile_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // 400 MB as 8-bit RGBA. Cameras of 2026 make up to 102 MP, phones 50 to 200 MP in their rarest mode.
            source_pixels_max: 120_000_000,
            target_pixels_max: 120_000_000,
            // Display profiles take under 10 KB, those of presses up to 3 MB.
            profile_bytes_max: 4 << 20,
        }
    }
}

/// Why a picture is not converted. Of the originals' making, except for `TargetTooLarge`, which was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The original has more pixels than the limit.
    TooManyPixels {
        /// As its header states.
        pixels: u64,
        /// [`Limits::source_pixels_max`].
        pixels_max: u64,
    },
    /// The original's profile exceeds [`Limits::profile_bytes_max`].
    ProfileTooLarge {
        /// As its header states.
        profile_bytes: u64,
    },
    /// The original is sound, but of a kind that is passed through.
    UnsupportedSource(Unsupported),
    /// The original is too short for nearly all of its pixels.
    SparseSource,
    /// The original moves; converting it would freeze it.
    AnimatedSource,
    /// The answer would exceed [`Limits::target_pixels_max`], or what its format can hold.
    TargetTooLarge {
        /// Of the answer.
        size: Size,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooManyPixels { pixels, pixels_max } => {
                write!(
                    f,
                    "original has {pixels} pixels, at most {pixels_max} are converted"
                )
            }
            Refusal::ProfileTooLarge { profile_bytes } => {
                write!(f, "original has a colour profile of {profile_bytes} bytes")
            }
            Refusal::UnsupportedSource(unsupported) => {
                write!(f, "original is not converted: {unsupported}")
            }
            Refusal::SparseSource => f.write_str("original is too short for its pixels"),
            Refusal::AnimatedSource => f.write_str("original is animated"),
            Refusal::TargetTooLarge { size } => {
                let Size {
                    width_px,
                    height_px,
                } = size;
                write!(f, "answer of {width_px} x {height_px} pixels is too large")
            }
        }
    }
}

impl error::Error for Refusal {}

/// Decides everything about making `target` out of a picture with `facts`.
///
/// ```text
///            orientation          recipe's box and fit                      quality table
/// stored ─────────────────► oriented ─────────► crop ─► inner ─► target ─► encoding
/// ```
///
/// # Errors
/// [`Refusal`] when the picture or the answer exceeds the limits or what Pelton converts.
pub fn plan(
    facts: &Facts,
    recipe: &Recipe,
    target: Target,
    stage: Stage,
    limits: &Limits,
) -> Result<Plan, Refusal> {
    if facts.animated {
        return Err(Refusal::AnimatedSource);
    }
    if let Some(unsupported) = facts.unsupported {
        return Err(Refusal::UnsupportedSource(unsupported));
    }
    if limits.source_pixels_max < facts.stored.pixels() {
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
    let geometry = Geometry::of(facts.oriented(), recipe);
    let size = geometry.target;
    if limits.target_pixels_max < size.pixels() || !target.holds(size) {
        return Err(Refusal::TargetTooLarge { size });
    }
    let quality_pct = recipe.quality_pct.unwrap_or(quality::DEFAULT_QUALITY_PCT);
    Ok(Plan {
        source: facts.format,
        stored: facts.stored,
        orientation: facts.orientation,
        crop: geometry.crop,
        inner: geometry.inner,
        target: size,
        encoding: Encoding::new(target, quality_pct, stage),
    })
}
