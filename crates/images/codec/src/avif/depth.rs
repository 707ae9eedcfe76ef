//! Samples of 8, 10 or 12 bits to 8.

use image_plan::Range;

use crate::{Error, ErrorKind};

/// How samples become 8 bits wide.
pub(super) enum Narrow {
    /// They are.
    Not,
    /// Two bytes each, native order: the level at the index of the sample.
    By(Vec<u8>),
}

impl Narrow {
    /// For luma, alpha, and planes of RGB.
    pub(super) fn luma(depth_bits: u32, range: Range) -> Result<Narrow, Error> {
        Narrow::around(depth_bits, range, 0)
    }

    /// For chroma, whose middle stays in the middle.
    pub(super) fn chroma(depth_bits: u32, range: Range) -> Result<Narrow, Error> {
        Narrow::around(depth_bits, range, 128)
    }

    /// Keeps `middle`, which is `middle << (depth_bits - 8)` at the larger depth.
    fn around(depth_bits: u32, range: Range, middle: i64) -> Result<Narrow, Error> {
        if depth_bits == 8 {
            return Ok(Narrow::Not);
        }
        if !(9..=16).contains(&depth_bits) {
            let detail = format!("avif: {depth_bits} bits a sample");
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
        // Limited range grows by powers of two, full range from 255 to 2^depth − 1 (ITU-T H.273 §8.3).
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
        Ok(Narrow::By((0..1 << depth_bits).map(level).collect()))
    }

    /// Bytes of a wide sample.
    pub(super) fn sample_bytes(&self) -> usize {
        match self {
            Narrow::Not => 1,
            Narrow::By(_) => 2,
        }
    }

    /// Narrows a row.
    pub(super) fn apply(&self, wide: &[u8], out: &mut [u8]) {
        match self {
            Narrow::Not => out.copy_from_slice(wide),
            Narrow::By(levels) => {
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
