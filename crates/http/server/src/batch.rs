//! Responses that are prepared and not yet written.

use std::cell::RefCell;

use crate::metrics::ResponseRecord;
use crate::request_id::RequestId;

/// Batches that are kept for later requests: more than the connections of one core that are
/// answered at the same moment.
const BATCHES_MAX: usize = 64;
/// Largest capacity of a kept batch, in bytes. A long response may have enlarged it.
const KEPT_BYTES_MAX: usize = 128 << 10;

thread_local! {
    /// Batches that no connection uses. A waiting connection holds none.
    static BATCHES: RefCell<Vec<Batch>> = const { RefCell::new(Vec::new()) };
}

/// Content of one write, and its records. A new batch holds no memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Heads, and the bodies that are copied behind them.
    pub(crate) out: Vec<u8>,
    /// Responses in `out`, and those that were written separately.
    pub(crate) answered: Vec<Entry>,
    /// Records of their requests for the access log, one behind the other; empty if the log is off.
    pub(crate) asked: Vec<u8>,
}

/// Response of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) answered: ResponseRecord,
    pub(crate) id: RequestId,
    /// End of its part of `asked`.
    pub(crate) asked_end: usize,
}

impl Batch {
    /// Returns an empty batch, with capacity of an earlier one if available.
    pub(crate) fn take() -> Batch {
        BATCHES.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Releases the capacity for others. The content is dropped.
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
