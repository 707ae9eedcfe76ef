//! Number of open connections over all cores.

use std::sync::atomic::Ordering::Relaxed;

use super::sync::AtomicUsize;

/// Number of open connections over all cores.
pub(crate) struct OpenConnections(AtomicUsize);

impl OpenConnections {
    pub(crate) fn new() -> OpenConnections {
        OpenConnections(AtomicUsize::new(0))
    }

    /// Counts one more connection if fewer than `connections_max` are open. Returns whether the
    /// connection was counted. One atomic operation compares and counts, so cores that accept at
    /// the same time do not exceed the limit.
    pub(crate) fn try_add(&self, connections_max: usize) -> bool {
        let add = |open| (open < connections_max).then(|| open + 1);
        self.0.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Counts one more connection, even if the limit is reached.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Subtracts one connection from the count.
    pub(crate) fn remove(&self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
