//! Estimates of a plan's memory and CPU time, for admission and for the limits of the sandbox.
//!
//! A job has four phases in sequence; each frees the memory of the one before:
//!
//! ```text
//! phase     memory                                      CPU time
//! decode    decoder's own + raster × decoded pixels     stored pixels × decoder's rate
//! shape     raster × (2 × decoded + inner pixels)       decoded pixels × SHAPE_MS_MP
//! encode    (raster + encoder's own) × target pixels    target pixels × encoder's rate
//! measure   raster × target pixels                      MEASURE_MS + target pixels × MEASURE_MS_MP
//! ```
//! The last phase, which measures the quality of the output, exists for lossy encodings only.

use super::{Encoding, Plan};
use crate::Format;

/// Estimated cost of a plan, chosen high enough that jobs seldom exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// Peak heap of the worker, without the bytes of the original and of the output.
    pub memory_bytes: u64,
    /// CPU time in milliseconds.
    pub cpu_ms: u64,
}

/// Cost of a codec: bytes per pixel in addition to the raster, and milliseconds per megapixel.
struct Rate {
    bytes_px: u128,
    ms_mp: u128,
}

const fn rate(bytes_px: u128, ms_mp: u128) -> Rate {
    Rate { bytes_px, ms_mp }
}

/// Fixed memory: arena, codec tables, stacks.
const BASE_BYTES: u128 = 16 << 20;
/// Fixed CPU time: starting on warm pages, reading input and writing output.
const BASE_MS: u128 = 2;
/// Returns the bytes per pixel of a decoded raster. A JPEG has at most three planes, except for
/// CMYK, which is rare.
const fn raster_bytes_px(source: Format) -> u128 {
    match source {
        Format::Jpeg => 3,
        _ => 4,
    }
}

/// Milliseconds per megapixel for orientation, colour conversion and Lanczos3 scaling.
/// fast_image_resize takes 0.85 from 16 MP to 0.5 MP, moxcms about as much. (The figures of the
/// design document cover codecs only.)
const SHAPE_MS_MP: u128 = 3;

/// Milliseconds to compute SSIMULACRA2 of a sample, whose size is the same for all but small
/// pictures.
const MEASURE_MS: u128 = 12;
/// Milliseconds per megapixel to decode the output for the measurement.
const MEASURE_MS_MP: u128 = 8;

impl Plan {
    /// Estimates the cost of the plan. Saturates at `u64::MAX`, which sides of 32 bits can reach.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let [stored, inner, target] =
            [self.stored, self.inner, self.target].map(|size| u128::from(size.pixels()));
        let decoded = u128::from(self.decoded_pixels());
        let (decode, encode) = (decode_rate(self.source), encode_rate(self.encoding));
        let raster_bytes_px = raster_bytes_px(self.source);
        let decoding = stored * decode.bytes_px + decoded * raster_bytes_px;
        let shaping = (2 * decoded + inner) * raster_bytes_px;
        let encoding = target * (raster_bytes_px + encode.bytes_px);
        let (measure_ms, measure_ms_mp) = match self.encoding.is_lossy() {
            true => (MEASURE_MS, MEASURE_MS_MP),
            false => (0, 0),
        };
        let encode_ms_mp = encode.ms_mp + measure_ms_mp;
        let cpu_us = stored * decode.ms_mp + decoded * SHAPE_MS_MP + target * encode_ms_mp;
        let clamped = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        Cost {
            memory_bytes: clamped(BASE_BYTES + decoding.max(shaping).max(encoding)),
            cpu_ms: clamped(BASE_MS + measure_ms + cpu_us.div_ceil(1000) / 1000),
        }
    }
}

/// Returns the decoder's cost. The time of JPEG is the figure of the design document (§4), doubled
/// for progressive files; the other rates are estimates from published throughput.
const fn decode_rate(source: Format) -> Rate {
    match source {
        // The decoder of a progressive file keeps all coefficients: 2 bytes × 3 components at
        // 4:4:4.
        Format::Jpeg => rate(6, 10),
        // The decoder of an interlaced or 16-bit file keeps a second raster of up to 8 bytes per
        // pixel.
        Format::Png => rate(8, 12),
        Format::Gif => rate(2, 10),
        Format::Webp => rate(4, 10),
        Format::Avif => rate(8, 15),
        Format::Bmp => rate(1, 3),
        Format::Svg => rate(0, 0),
    }
}

/// Returns the encoder's cost. The times of lossy WebP and AVIF are figures of the design document
/// (§4). The bytes of lossy WebP follow oximg: 5.8 up to method 2, and 18.9 above. The other rates
/// are estimates until the lab has measured them.
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
