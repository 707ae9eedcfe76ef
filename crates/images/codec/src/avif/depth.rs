//! Converts samples of 8 to 16 bits to 8 bits.

use image_plan::Range;

use crate::{Error, ErrorKind};

/// Conversion of samples of a higher bit depth to 8 bits.
pub(super) enum DepthConversion {
    /// No conversion: the samples have 8 bits.
    Identity,
    /// Lookup table from a sample of two bytes, in native byte order, to its 8-bit level.
    Table(Vec<u8>),
}

impl DepthConversion {
    /// Creates the conversion for luma, alpha, and planes of RGB.
    pub(super) fn luma(depth_bits: u32, range: Range) -> Result<DepthConversion, Error> {
        DepthConversion::around(depth_bits, range, 0)
    }

    /// Creates the conversion for chroma, which maps the neutral level to 128.
    pub(super) fn chroma(depth_bits: u32, range: Range) -> Result<DepthConversion, Error> {
        DepthConversion::around(depth_bits, range, 128)
    }

    /// Creates a conversion that keeps the level `middle`: the input `middle << (depth_bits - 8)`
    /// becomes `middle`.
    fn around(depth_bits: u32, range: Range, middle: i64) -> Result<DepthConversion, Error> {
        if depth_bits == 8 {
            return Ok(DepthConversion::Identity);
        }
        if !(9..=16).contains(&depth_bits) {
            let detail = format!("avif: unsupported depth of {depth_bits} bits per sample");
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
        // Input levels are scaled by `to / from`. In limited range the factor is a power of two; in
        // full range the input 2^depth − 1 becomes 255 (ITU-T H.273 §8.3).
        let (from, to) = match range {
            Range::Limited => (1 << (depth_bits - 8), 1),
            Range::Full => ((1 << depth_bits) - 1, 255),
        };
        let middle_wide = middle << (depth_bits - 8);
        let level = |sample: i64| {
            let distance = (sample - middle_wide) * to;
            let rounded = (2 * distance + from).div_euclid(2 * from);
            (middle + rounded).clamp(0, 255) as u8
        };
        Ok(DepthConversion::Table(
            (0..1 << depth_bits).map(level).collect(),
        ))
    }

    /// Returns the number of bytes per input sample.
    pub(super) fn sample_bytes(&self) -> usize {
        match self {
            DepthConversion::Identity => 1,
            DepthConversion::Table(_) => 2,
        }
    }

    /// Converts `wide`, one row of input samples, to 8-bit samples in `out`.
    pub(super) fn apply(&self, wide: &[u8], out: &mut [u8]) {
        match self {
            DepthConversion::Identity => out.copy_from_slice(wide),
            DepthConversion::Table(levels) => {
                let (samples, _) = wide.as_chunks::<2>();
                let highest = levels.len() - 1;
                for (level, sample) in out.iter_mut().zip(samples) {
                    let sample = usize::from(u16::from_ne_bytes(*sample));
                    *level = levels[sample.min(highest)];
                }
            }
        }
    }
}
