//! Several answers from one decode: the order that a worker gets, and how its answers come back.
//!
//! ```text
//! order    0 "ORD1" · 4 plans u8 · look u8 · zero u16 · 8 plans, each as its own bytes
//! answers  the first answer · the second · … · the look, if one was asked for · length of each, u32
//! ```
//! The lengths come last, so that the first answer begins where a single one would.

#[cfg(test)]
mod tests;

use crate::{LOOK_BYTES, MalformedPlan, PLAN_BYTES, Plan};
use std::ops::Range;

/// Plans of one order; a cover is asked for in fewer sizes.
pub const ORDER_PLANS_MAX: usize = 8;

const MAGIC: [u8; 4] = *b"ORD1";
const HEAD_BYTES: usize = 8;
const LENGTH_BYTES: usize = 4;

/// What is to be made of one original that is decoded once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    plans: Vec<Plan>,
    look: bool,
}

impl Order {
    /// These plans, and the original's look besides.
    ///
    /// # Panics
    /// When there are no plans or more than [`ORDER_PLANS_MAX`], or they are not of one decode: a bug of the caller.
    #[must_use]
    pub fn new(plans: &[Plan], look: bool) -> Order {
        assert!(
            (1..=ORDER_PLANS_MAX).contains(&plans.len()),
            "{} plans",
            plans.len()
        );
        assert!(
            plans.iter().all(|plan| plan.shares_decode(&plans[0])),
            "plans of several decodes"
        );
        Order {
            plans: plans.to_vec(),
            look,
        }
    }

    /// The plans, in the order of their answers.
    #[must_use]
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Whether the look is wanted.
    #[must_use]
    pub fn look(&self) -> bool {
        self.look
    }

    /// How many answers there will be, the look among them.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.plans.len() + usize::from(self.look)
    }

    /// Bytes that answers take beyond those of the plans: the look, and their lengths.
    #[must_use]
    pub fn extra_bytes(&self) -> u64 {
        let look = if self.look { LOOK_BYTES } else { 0 };
        (look + LENGTH_BYTES * self.answers()) as u64
    }

    /// The order's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + PLAN_BYTES * self.plans.len());
        bytes.extend(MAGIC);
        bytes.extend([self.plans.len() as u8, self.look.into(), 0, 0]);
        self.plans
            .iter()
            .for_each(|plan| bytes.extend(plan.to_bytes()));
        bytes
    }

    /// Whether bytes are meant as an order, and not as a plan.
    #[must_use]
    pub fn is_order(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Reads an order and checks that its plans are of one decode.
    ///
    /// # Errors
    /// [`MalformedPlan`] when the bytes are not exactly one order of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Order, MalformedPlan> {
        let (head, rest) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(MalformedPlan::Length)?;
        let [magic @ .., count, look, 0, 0] = head else {
            return Err(MalformedPlan::Value);
        };
        if *magic != MAGIC {
            return Err(MalformedPlan::Magic);
        }
        let count = usize::from(*count);
        if !(1..=ORDER_PLANS_MAX).contains(&count) || rest.len() != count * PLAN_BYTES {
            return Err(MalformedPlan::Length);
        }
        let look = match look {
            0 => false,
            1 => true,
            _ => return Err(MalformedPlan::Value),
        };
        let plans = rest.chunks_exact(PLAN_BYTES).map(Plan::from_bytes);
        let plans = plans.collect::<Result<Vec<Plan>, _>>()?;
        if plans.iter().any(|plan| !plan.shares_decode(&plans[0])) {
            return Err(MalformedPlan::Geometry);
        }
        Ok(Order { plans, look })
    }
}

impl Plan {
    /// Whether one decode serves both plans.
    #[must_use]
    pub fn shares_decode(&self, other: &Plan) -> bool {
        let decode = |plan: &Plan| (plan.source, plan.stored, plan.orientation, plan.shrink());
        decode(self) == decode(other)
    }
}

/// Answers one after the other, with their lengths behind them.
///
/// # Panics
/// When one has 4 GiB or more: no order's limits allow that.
#[must_use]
pub fn join_answers(answers: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = answers.concat();
    for answer in answers {
        let length = u32::try_from(answer.len()).expect("answers are bounded");
        bytes.extend(length.to_le_bytes());
    }
    bytes
}

/// Bytes at the end of `count` answers that say how long each is.
#[must_use]
pub const fn lengths_bytes(count: usize) -> usize {
    count * LENGTH_BYTES
}

/// Where each answer lies among `total_bytes`, as their last bytes allege. `None` when they contradict each other, which
/// no honest worker's do.
#[must_use]
pub fn split_answers(lengths: &[u8], total_bytes: u64) -> Option<Vec<Range<u64>>> {
    let (lengths, rest) = lengths.as_chunks::<LENGTH_BYTES>();
    let mut start = 0_u64;
    let mut found = Vec::with_capacity(lengths.len());
    for length in lengths {
        let end = start + u64::from(u32::from_le_bytes(*length));
        found.push(start..end);
        start = end;
    }
    let all = start.checked_add(lengths_bytes(lengths.len()) as u64)?;
    (rest.is_empty() && all == total_bytes && found.iter().all(|range| !range.is_empty()))
        .then_some(found)
}
