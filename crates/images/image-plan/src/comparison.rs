//! Comparison of a variant with the original that it was made from: the job that a worker receives,
//! and the layout of its input and output. Each number before a field is its offset in bytes.
//!
//! ```text
//! job      0 "CMP1" · 4 zero u32 · 8 size of the original in bytes, u64 · 16 plan of the variant
//! input    the original's file · the variant's file
//! output   0 SSIMULACRA2 score, f64
//! ```

#[cfg(test)]
mod tests;

use crate::{Cost, MalformedPlan, PLAN_BYTES, Plan};

/// Maximum number of pixels of a variant that is compared. It limits the memory for computing the
/// score to about 400 MB, since SSIMULACRA2 needs about 130 bytes per pixel.
pub const COMPARED_PIXELS_MAX: u64 = 3 << 20;

/// Size of a score in the output of a comparison, in bytes.
pub const SCORE_BYTES: usize = 8;

const MAGIC: [u8; 4] = *b"CMP1";
const HEAD_BYTES: usize = 16;

/// Memory that a comparison needs per pixel of the variant, in bytes: both pictures in linear light
/// and in XYB, and the filtered planes of the metric. Measured with `fast-ssim2`, rounded up.
const SCORE_BYTES_PX: u64 = 130;
/// CPU time of computing the score, in milliseconds per megapixel of the variant.
const SCORE_MS_MP: u64 = 250;

/// Comparison of a variant with its original, by the metric SSIMULACRA2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Plan by which the variant was made.
    pub plan: Plan,
    /// Size of the original's file in bytes. The variant's file follows it in the job's input.
    pub original_bytes: u64,
}

impl Comparison {
    /// Estimates the cost of the comparison, without the memory for its input.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let pixels = self.plan.target.pixels();
        let plan = self.plan.cost();
        Cost {
            memory_bytes: plan
                .memory_bytes
                .saturating_add(pixels.saturating_mul(SCORE_BYTES_PX)),
            cpu_ms: plan
                .cpu_ms
                .saturating_add(pixels.saturating_mul(SCORE_MS_MP) / 1_000_000),
        }
    }

    /// Serializes the comparison; the layout is in the module's documentation.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + PLAN_BYTES);
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(self.original_bytes.to_le_bytes());
        bytes.extend(self.plan.to_bytes());
        bytes
    }

    /// Returns whether `bytes` begin with the magic number of a serialized comparison.
    #[must_use]
    pub fn is_comparison(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Parses a comparison.
    ///
    /// # Errors
    /// [`MalformedPlan`] if the bytes are not exactly one comparison of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Comparison, MalformedPlan> {
        let (head, plan) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(MalformedPlan::Length)?;
        let (magic, rest) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(MalformedPlan::Magic);
        }
        let [0, 0, 0, 0, original_bytes @ ..] = rest else {
            return Err(MalformedPlan::Value);
        };
        let original_bytes = original_bytes
            .try_into()
            .map_err(|_| MalformedPlan::Length)?;
        Ok(Comparison {
            plan: Plan::from_bytes(plan)?,
            original_bytes: u64::from_le_bytes(original_bytes),
        })
    }
}
