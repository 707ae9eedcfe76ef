//! What each core counts, readable from any thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Steering, Wait};

/// One core's counters. Only that core writes them; cache lines of their own keep cores from disturbing each
/// other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    pub(crate) accepted: Counter,
    pub(crate) closed: Counter,
    pub(crate) shed: Counter,
    pub(crate) evicted: Counter,
    pub(crate) shed_by_address: Counter,
    pub(crate) accept_failed: Counter,
    pub(crate) accepts: Counter,
    pub(crate) reads: Counter,
    pub(crate) writes: Counter,
    pub(crate) waits: Counter,
    pub(crate) allocations: Counter,
    pub(crate) located: Counter,
    pub(crate) local: Counter,
    pub(crate) steering: Counter,
    pub(crate) waiting: [Counter; Wait::COUNT],
    pub(crate) working: Counter,
    pub(crate) queued_bytes: Counter,
    pub(crate) timed_out: [Counter; Wait::COUNT],
}

impl Counters {
    /// Connections handed to the handler.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.value()
    }

    /// Connections whose task has ended.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.closed.value()
    }

    /// Connections open now.
    #[must_use]
    pub fn open(&self) -> u64 {
        // `closed` is read first, so that a connection that ends in between is counted as open, not as minus one.
        let closed = self.closed();
        self.accepted().saturating_sub(closed)
    }

    /// Connections turned away at once, for want of room or of descriptors.
    #[must_use]
    pub fn shed(&self) -> u64 {
        self.shed.value()
    }

    /// Connections turned away because their address has too many.
    #[must_use]
    pub fn shed_by_address(&self) -> u64 {
        self.shed_by_address.value()
    }

    /// Connections without a request that were ended to make room.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted.value()
    }

    /// Failures of accept: no descriptors, no memory, or a client gone before its turn.
    #[must_use]
    pub fn accept_failed(&self) -> u64 {
        self.accept_failed.value()
    }

    /// System calls that took a connection, or failed to.
    #[must_use]
    pub fn accepts(&self) -> u64 {
        self.accepts.value()
    }

    /// System calls that read from a connection, or looked for a file in the page cache.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.value()
    }

    /// System calls that wrote to a connection, `sendfile` among them.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes.value()
    }

    /// Times that the core found nothing to do and waited. Between two waits it looks at its sockets without waiting
    /// after every 61 tasks, which is not counted.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits.value()
    }

    /// Connections of which it is known where they arrived: every eighth.
    #[must_use]
    pub fn located(&self) -> u64 {
        self.located.value()
    }

    /// Of these, those that arrived on the core's own processor.
    #[must_use]
    pub fn local(&self) -> u64 {
        self.local.value()
    }

    /// How the core's connections are steered at the moment; never `Auto`.
    #[must_use]
    pub fn steering(&self) -> Steering {
        Steering::ALL[self.steering.value() as usize]
    }

    /// How often the core has asked for memory, as of the last tick; 0 unless the program's allocator is a
    /// [`crate::CountingAllocator`].
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations.value()
    }

    /// Connections that waited for `wait` at the last tick.
    #[must_use]
    pub fn waiting(&self, wait: Wait) -> u64 {
        self.waiting[wait as usize].value()
    }

    /// Connections that waited for nothing from outside at the last tick: their answers were being made.
    #[must_use]
    pub fn working(&self) -> u64 {
        self.working.value()
    }

    /// Bytes in memory that clients had not taken yet at the last tick.
    #[must_use]
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes.value()
    }

    /// Connections ended because `wait` took too long.
    #[must_use]
    pub fn timed_out(&self, wait: Wait) -> u64 {
        self.timed_out[wait as usize].value()
    }
}

/// A counter with one writer, so that counting is a plain load and store and no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
