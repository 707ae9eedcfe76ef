//! Estimates of a plan's memory and CPU time, for admission and for the limits of the sandbox.
//!
//! A job has six phases in sequence. Each phase frees the memory of the previous one:
//!
//! ```text
//! phase     memory                                      CPU time
//! decode    decoder × stored + raster × decoded pixels   stored pixels × decoder's rate
//! trim      (raster + 4) × decoded pixels               decoded pixels × TRIM_MS_MP
//! shape     raster × (2 × decoded + inner pixels)       decoded pixels × SHAPE_MS_MP
//! effects   EFFECTS_BYTES_PX × largest picture          largest picture × rate of each effect
//! encode    (raster + encoder) × target pixels          target pixels × encoder's rate
//! measure   raster × target pixels                      MEASURE_MS + target pixels × MEASURE_MS_MP
//! ```
//! In the column `memory`, `raster`, `decoder` and `encoder` are numbers of bytes per pixel. The
//! largest picture is the largest of `inner`, `rotated` and `target`. The phase of the effects
//! exists only if there are any, and that of the trim only if the plan has one. An animation has
//! all phases but the last for each frame, and keeps the canvases of decoder and encoder meanwhile.
//! The last phase, which measures the quality of the output, exists for lossy encodings only.

use super::{Encoding, Plan};
use crate::{Effects, Format, Padding};

/// Estimated cost of a plan, chosen high enough that jobs seldom exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// Peak heap of the worker in bytes, excluding the encoded original and the encoded output.
    pub memory_bytes: u64,
    /// CPU time of the worker in milliseconds.
    pub cpu_ms: u64,
}

/// Cost of a codec: memory in bytes per pixel in addition to the raster, and CPU time in
/// milliseconds per megapixel.
struct Rate {
    bytes_px: u128,
    ms_mp: u128,
}

const fn rate(bytes_px: u128, ms_mp: u128) -> Rate {
    Rate { bytes_px, ms_mp }
}

/// Fixed memory per job in bytes, for the allocator's arena, the codecs' tables and the stacks.
const BASE_BYTES: u128 = 16 << 20;
/// Fixed CPU time per job in milliseconds, for starting a worker whose codecs are already
/// initialized, reading the input and writing the output.
const BASE_MS: u128 = 2;
/// Returns the number of bytes per pixel of a decoded raster. A JPEG has at most three planes,
/// except for CMYK, which is rare enough to be ignored.
const fn raster_bytes_px(source: Format) -> u128 {
    match source {
        Format::Jpeg | Format::Heif | Format::Raw => 3,
        _ => 4,
    }
}

/// Milliseconds per decoded megapixel for orientation, colour conversion and Lanczos3 scaling. The
/// library fast_image_resize needs 0.85 ms per megapixel to scale 16 MP to 0.5 MP, and the library
/// moxcms needs about the same time to convert the colours.
const SHAPE_MS_MP: u128 = 3;

/// Milliseconds per decoded megapixel to find the borders of a picture with alpha, which is
/// converted to RGBA first. Other pictures need less.
const TRIM_MS_MP: u128 = 6;
/// Bytes per decoded pixel of the RGBA copy in which the borders are searched.
const TRIM_BYTES_PX: u128 = 4;

/// Memory for the elements of a drawing, in bytes. It does not depend on the size of the picture.
const DRAWING_BYTES: u128 = 96 << 20;
/// CPU time to parse a drawing and to load the font, in milliseconds.
const DRAWING_MS: u128 = 50;

/// Bytes per pixel of the decoder of JPEG XL, which holds two copies of the planes as 32-bit
/// floats. A generated picture of 24 megapixels needed 24 bytes if it was lossy, and 19 if it was
/// lossless.
const JXL_BYTES_PX: u128 = 28;
/// CPU time of the decoder of JPEG XL in milliseconds per megapixel; the picture of 24 megapixels
/// needed 86.
const JXL_MS_MP: u128 = 100;

/// Bytes per pixel of the effects: the picture as RGBA before and after an effect, and three planes
/// of 16 bits for a blur.
const EFFECTS_BYTES_PX: u128 = 14;

/// Milliseconds per megapixel to decode a frame that precedes the requested frame of an animation.
const SKIPPED_FRAME_MS_MP: u64 = 15;

/// Milliseconds to compute SSIMULACRA2 of a sample of the output. The sample has a fixed size,
/// except for small pictures.
const MEASURE_MS: u128 = 24;
/// Number of encodings of an output whose quality is searched: the maximum for a score. For a
/// maximum length, there may be one more than twice as many, but few outputs need all.
const ATTEMPTS: u128 = 4;
/// Milliseconds per megapixel to decode the output, so that its quality can be measured.
const MEASURE_MS_MP: u128 = 8;

impl Plan {
    /// Estimates the cost of the plan. Sides may have 32 bits, so the numbers could exceed 64 bits;
    /// they are limited to `u64::MAX`.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let one = self.picture_cost();
        match self.frames_max {
            None if self.source == Format::Tiff || self.page == 1 => one,
            // A still output of an animation: the frames before the requested frame are decoded
            // too.
            None => {
                let frame_ms = self.stored.pixels().saturating_mul(SKIPPED_FRAME_MS_MP) / 1_000_000;
                let skipped_ms = (1 + frame_ms).saturating_mul(u64::from(self.page));
                Cost {
                    cpu_ms: one.cpu_ms.saturating_add(skipped_ms),
                    memory_bytes: one.memory_bytes.saturating_add(self.canvas_bytes()),
                }
            }
            Some(frames_max) => Cost {
                cpu_ms: one.cpu_ms.saturating_mul(frames_max.get().into()),
                memory_bytes: one.memory_bytes.saturating_add(self.canvas_bytes()),
            },
        }
    }

    /// Returns the memory of the decoder of an animation: the canvas, and the part of the canvas
    /// that the disposal of a frame restores.
    fn canvas_bytes(&self) -> u64 {
        self.stored.pixels().saturating_mul(8)
    }

    /// Estimates the cost of a still output, or of one frame of an animation.
    fn picture_cost(&self) -> Cost {
        let [stored, inner, target] =
            [self.stored, self.inner, self.target].map(|size| u128::from(size.pixels()));
        let decoded = u128::from(self.decoded_pixels());
        let decode = decode_rate(self.source);
        let encode = match self.frames_max {
            None => encode_rate(self.encoding),
            Some(_) => animation_rate(self.encoding),
        };
        let raster_bytes_px = raster_bytes_px(self.source);
        let (drawing_bytes, drawing_ms) = match self.source.is_drawing() {
            true => (DRAWING_BYTES, DRAWING_MS),
            false => (0, 0),
        };
        let decoding = drawing_bytes + stored * decode.bytes_px + decoded * raster_bytes_px;
        let (trim_bytes_px, trim_ms_mp) = match self.trim {
            Some(_) => (TRIM_BYTES_PX, TRIM_MS_MP),
            None => (0, 0),
        };
        let trimming = decoded * (raster_bytes_px + trim_bytes_px);
        let shaping = (2 * decoded + inner) * raster_bytes_px;
        // For a maximum length, the picture is kept beside the encoder's input, and may be encoded
        // at several qualities.
        let (pictures, attempts) = match (self.bytes_max, self.score_min) {
            (Some(_), _) => (2, ATTEMPTS),
            (None, Some(_)) => (1, ATTEMPTS),
            (None, None) => (1, 1),
        };
        let measured = self.score_min.map_or(1, |_| ATTEMPTS);
        let encoding = target * (pictures * raster_bytes_px + encode.bytes_px);
        let (measure_ms, measure_ms_mp) =
            match self.encoding.is_lossy() && self.frames_max.is_none() {
                true => (measured * MEASURE_MS, measured * MEASURE_MS_MP),
                false => (0, 0),
            };
        let encode_ms_mp = attempts * encode.ms_mp + measure_ms_mp;
        let effects_ms_mp = effects_ms_mp(&self.effects);
        let largest = inner.max(target).max(u128::from(self.rotated().pixels()));
        let effects = match effects_ms_mp {
            0 => 0,
            _ => largest * EFFECTS_BYTES_PX,
        };
        let cpu_us = stored * decode.ms_mp
            + decoded * (trim_ms_mp + SHAPE_MS_MP)
            + largest * effects_ms_mp
            + target * encode_ms_mp;
        let memory = decoding
            .max(trimming)
            .max(shaping)
            .max(effects)
            .max(encoding);
        let clamped = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        Cost {
            memory_bytes: clamped(BASE_BYTES + memory),
            cpu_ms: clamped(BASE_MS + drawing_ms + measure_ms + cpu_us.div_ceil(1000) / 1000),
        }
    }
}

/// Returns the CPU time of the effects in milliseconds per megapixel.
fn effects_ms_mp(effects: &Effects) -> u128 {
    let has = |is_set: bool, ms_mp: u128| if is_set { ms_mp } else { 0 };
    has(effects.needs_rgb(), 6)
        + has(!effects.angle.is_zero(), 60)
        + has(!effects.tone.is_identity(), 10)
        + has(effects.blur_centipx != 0, 60)
        + has(effects.unsharp.is_some(), 40)
        + has(effects.pixelate_px != 0, 10)
        + has(effects.pad != Padding::default(), 3)
        + has(effects.background.is_some(), 5)
        + has(effects.round_px != 0, 5)
}

/// Returns the cost of the decoder for `source`. The times of JPEG and JPEG XL were measured; that
/// of JPEG is doubled to allow for progressive files. The other rates are estimates from published
/// throughput.
const fn decode_rate(source: Format) -> Rate {
    match source {
        // The decoder of a progressive file holds all coefficients: 2 bytes × 3 components at
        // 4:4:4.
        Format::Jpeg | Format::Heif | Format::Raw => rate(6, 10),
        // The decoder of an interlaced or 16-bit file holds a second raster of up to 8 bytes per
        // pixel.
        Format::Png => rate(8, 12),
        Format::Gif => rate(2, 10),
        Format::Webp => rate(4, 10),
        Format::Avif => rate(8, 15),
        Format::Bmp => rate(1, 3),
        Format::Jxl => rate(JXL_BYTES_PX, JXL_MS_MP),
        // The renderer holds a few layers at a time, for groups and filters.
        Format::Svg | Format::Svgz => rate(24, 60),
        // A strip of JPEG can be as large as the picture; its planes and pixels are held beside it.
        Format::Tiff => rate(8, 20),
        Format::Ico => rate(8, 12),
        Format::Tga | Format::Qoi => rate(1, 8),
        // Samples as text are the slowest.
        Format::Pnm => rate(1, 20),
        Format::Hdr => rate(1, 30),
        Format::Psd => rate(2, 15),
    }
}

/// Returns the cost of the encoder. The times of lossy WebP and AVIF were measured. The memory of
/// lossy WebP follows the figures of the program oximg: 5.8 bytes per pixel up to method 2, and
/// 18.9 above. The other rates are estimates.
const fn encode_rate(encoding: Encoding) -> Rate {
    match encoding {
        Encoding::Jpeg { .. } => rate(8, 10),
        Encoding::Png => rate(5, 60),
        Encoding::Webp { lossless: true, .. } => rate(30, 600),
        Encoding::Webp { method: 0..=2, .. } => rate(6, 32),
        Encoding::Webp { method: 3..=4, .. } => rate(19, 87),
        Encoding::Webp { .. } => rate(19, 250),
        Encoding::Avif { lossless: true, .. } => rate(30, 900),
        Encoding::Avif { speed: 9.., .. } => rate(12, 22),
        Encoding::Avif { speed: 8, .. } => rate(16, 114),
        Encoding::Avif { speed: 7, .. } => rate(16, 370),
        Encoding::Avif { speed: 6, .. } => rate(16, 440),
        Encoding::Avif { .. } => rate(20, 4000),
    }
}

/// Returns the cost of the encoder of animations; its time is that of one frame. The encoder keeps
/// four canvases of 4 bytes per pixel, and encodes many frames both lossy and lossless. At methods
/// above 2, a second encoder makes a lossless output.
const fn animation_rate(encoding: Encoding) -> Rate {
    match encoding {
        Encoding::Webp { method: 0..=2, .. } => rate(46, 120),
        _ => rate(62, 700),
    }
}
