use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a scan is, for whoever watches, and a way to end it. Counters only grow.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files of music and pictures that the walk met.
    pub walked: AtomicU64,
    /// Files to read, once the walk is over.
    pub to_read: AtomicU64,
    /// Files read.
    pub read: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Ends the scan soon, and without an index.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
