//! Batch of several outputs from one decode: the job that a worker receives, and the layout of its
//! outputs. In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! batch    @0 "ORD1" · @4 number of plans u8 · placeholder u8 · zero u16 · @8 plans
//! outputs  first output · second · … · placeholder, if requested · length of each, u32
//! ```
//! The lengths come last, so that the first output begins at offset 0, as a single output does.

#[cfg(test)]
mod tests;

use crate::{MalformedPlan, PLACEHOLDER_BYTES, PLAN_BYTES, Plan};
use std::ops::Range;

/// Maximum number of plans in one batch.
pub const BATCH_PLANS_MAX: usize = 8;

const MAGIC: [u8; 4] = *b"ORD1";
const HEAD_BYTES: usize = 8;
const LENGTH_BYTES: usize = 4;

/// Several conversions of one original, which is decoded only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    plans: Vec<Plan>,
    placeholder: bool,
}

impl Batch {
    /// Creates a batch of `plans`, which also requests the original's placeholder if `placeholder`
    /// is true.
    ///
    /// # Panics
    /// If there are no plans or more than [`BATCH_PLANS_MAX`], or if the plans do not share one
    /// decode: a bug of the caller.
    #[must_use]
    pub fn new(plans: &[Plan], placeholder: bool) -> Batch {
        assert!(
            (1..=BATCH_PLANS_MAX).contains(&plans.len()),
            "{} plans",
            plans.len()
        );
        assert!(
            plans.iter().all(|plan| plan.shares_decode(&plans[0])),
            "plans do not share one decode"
        );
        Batch {
            plans: plans.to_vec(),
            placeholder,
        }
    }

    /// Returns the plans, in the order of their outputs.
    #[must_use]
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Returns whether the batch requests the original's placeholder.
    #[must_use]
    pub fn placeholder(&self) -> bool {
        self.placeholder
    }

    /// Returns the number of outputs, including the placeholder.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.plans.len() + usize::from(self.placeholder)
    }

    /// Returns the number of bytes of a reply that do not belong to a plan's output: the size of
    /// the placeholder, if requested, plus the size of the list of lengths.
    #[must_use]
    pub fn extra_bytes(&self) -> u64 {
        let placeholder = if self.placeholder {
            PLACEHOLDER_BYTES
        } else {
            0
        };
        (placeholder + LENGTH_BYTES * self.outputs()) as u64
    }

    /// Serializes the batch; the layout is in the module's documentation.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + PLAN_BYTES * self.plans.len());
        bytes.extend(MAGIC);
        bytes.extend([self.plans.len() as u8, self.placeholder.into(), 0, 0]);
        self.plans
            .iter()
            .for_each(|plan| bytes.extend(plan.to_bytes()));
        bytes
    }

    /// Returns whether `bytes` begin with the magic number of a batch; a single plan begins
    /// differently.
    #[must_use]
    pub fn is_batch(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Parses a batch and checks that its plans share one decode.
    ///
    /// # Errors
    /// [`MalformedPlan`] if the bytes are not exactly one batch of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Batch, MalformedPlan> {
        let (head, rest) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(MalformedPlan::Length)?;
        let [magic @ .., count, placeholder, 0, 0] = head else {
            return Err(MalformedPlan::Value);
        };
        if *magic != MAGIC {
            return Err(MalformedPlan::Magic);
        }
        let count = usize::from(*count);
        if !(1..=BATCH_PLANS_MAX).contains(&count) || rest.len() != count * PLAN_BYTES {
            return Err(MalformedPlan::Length);
        }
        let placeholder = match placeholder {
            0 => false,
            1 => true,
            _ => return Err(MalformedPlan::Value),
        };
        let plans = rest.chunks_exact(PLAN_BYTES).map(Plan::from_bytes);
        let plans = plans.collect::<Result<Vec<Plan>, _>>()?;
        if plans.iter().any(|plan| !plan.shares_decode(&plans[0])) {
            return Err(MalformedPlan::Geometry);
        }
        Ok(Batch { plans, placeholder })
    }
}

impl Plan {
    /// Returns whether both plans need the same decode: equal source format, page, number of
    /// frames, stored size, orientation, and factor by which the JPEG decoder shrinks.
    #[must_use]
    pub fn shares_decode(&self, other: &Plan) -> bool {
        let decode = |plan: &Plan| {
            let part = (plan.source, plan.page, plan.frames_max);
            (part, plan.stored, plan.orientation, plan.shrink())
        };
        decode(self) == decode(other)
    }
}

/// Concatenates `outputs`, the outputs of a batch, and appends the list of their lengths.
#[must_use]
pub fn join_outputs(outputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = outputs.concat();
    for answer in outputs {
        let length = u32::try_from(answer.len()).expect("the limits keep each output below 4 GiB");
        bytes.extend(length.to_le_bytes());
    }
    bytes
}

/// Returns the size in bytes of the list of lengths for `count` outputs.
#[must_use]
pub const fn length_table_bytes(count: usize) -> usize {
    count * LENGTH_BYTES
}

/// Returns the range of each output within a reply of `total_bytes` bytes. `lengths` is the list of
/// lengths at the end of the reply. Returns `None` if the lengths contradict `total_bytes` or an
/// output is empty, which is a protocol violation by the worker.
#[must_use]
pub fn split_outputs(lengths: &[u8], total_bytes: u64) -> Option<Vec<Range<u64>>> {
    let (lengths, rest) = lengths.as_chunks::<LENGTH_BYTES>();
    let mut start = 0_u64;
    let mut ranges = Vec::with_capacity(lengths.len());
    for length in lengths {
        let end = start + u64::from(u32::from_le_bytes(*length));
        ranges.push(start..end);
        start = end;
    }
    let all = start.checked_add(length_table_bytes(lengths.len()) as u64)?;
    (rest.is_empty() && all == total_bytes && ranges.iter().all(|range| !range.is_empty()))
        .then_some(ranges)
}
