//! Answers made and not yet written.

use std::cell::RefCell;

use crate::metrics::Answered;
use crate::request_id::RequestId;

/// Batches kept for the next requests: more than one core's connections are answered at the same moment.
const BATCHES_MAX: usize = 64;
/// Room of a batch that is kept. One that a long answer made larger is not worth it.
const KEPT_BYTES_MAX: usize = 128 << 10;

thread_local! {
    /// Batches that no connection uses. A waiting connection holds none.
    static BATCHES: RefCell<Vec<Batch>> = const { RefCell::new(Vec::new()) };
}

/// What one write sends, and what it counts as. A new one holds nothing.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Heads, with those bodies that are copied.
    pub(crate) out: Vec<u8>,
    /// The answers in `out`, and those that were written on their own.
    pub(crate) answered: Vec<Entry>,
    /// What the access log says of their requests, one after the other; empty when it is off.
    pub(crate) asked: Vec<u8>,
}

/// An answer of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) answered: Answered,
    pub(crate) id: RequestId,
    /// Where its part of `asked` ends.
    pub(crate) asked_end: usize,
}

impl Batch {
    /// An empty batch, with room from earlier ones where there is some.
    pub(crate) fn take() -> Batch {
        BATCHES.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Gives the room back for others. What was in it is gone.
    pub(crate) fn give_back(mut self) {
        self.out.clear();
        self.answered.clear();
        self.asked.clear();
        let kept_bytes = self.out.capacity().max(self.asked.capacity());
        BATCHES.with_borrow_mut(|batches| {
            if batches.len() < BATCHES_MAX && kept_bytes <= KEPT_BYTES_MAX {
                batches.push(self);
            }
        });
    }
}
