//! Responses that are prepared but not written yet.

use std::cell::RefCell;

use crate::metrics::ResponseRecord;
use crate::request_id::RequestId;

/// Maximum number of unused batches that a core keeps for later requests. Few suffice, since a
/// connection holds a batch only while it prepares and writes responses.
const BATCHES_MAX: usize = 64;
/// Maximum capacity of a batch that is kept for later requests, in bytes. A batch that a long
/// response has enlarged beyond this capacity is freed.
const KEPT_BYTES_MAX: usize = 128 << 10;

thread_local! {
    /// Batches that no connection uses. A connection that waits for a request holds no batch.
    static BATCHES: RefCell<Vec<Batch>> = const { RefCell::new(Vec::new()) };
}

/// Bytes of one write, and records of the responses in these bytes. A new batch allocates no
/// memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Response heads, and the bodies that are copied behind them.
    pub(crate) out: Vec<u8>,
    /// Records of the responses in `out`, and of responses that were written separately.
    pub(crate) entries: Vec<Entry>,
    /// Access-log records of the requests, concatenated; empty if the log is off.
    pub(crate) request_log: Vec<u8>,
}

/// Record of one response of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) record: ResponseRecord,
    pub(crate) id: RequestId,
    /// Offset in [`Batch::request_log`] at which the access-log record of the request ends.
    pub(crate) request_log_end: usize,
}

impl Batch {
    /// Returns an empty batch, which reuses the memory of an earlier batch if possible.
    pub(crate) fn take() -> Batch {
        BATCHES.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Clears the batch, and keeps its memory for later batches.
    pub(crate) fn give_back(mut self) {
        self.out.clear();
        self.entries.clear();
        self.request_log.clear();
        let kept_bytes = self.out.capacity().max(self.request_log.capacity());
        BATCHES.with_borrow_mut(|batches| {
            if batches.len() < BATCHES_MAX && kept_bytes <= KEPT_BYTES_MAX {
                batches.push(self);
            }
        });
    }
}
