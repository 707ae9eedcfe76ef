//! Counters of each core, readable from any thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Steering, Wait};

/// Counters of one core. Only that core writes them. The alignment places the counters of each core
/// in separate cache lines, so cores do not slow each other down.
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
    /// Returns the number of connections passed to the handler.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.value()
    }

    /// Returns the number of connections whose task has ended.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.closed.value()
    }

    /// Returns the number of connections open now.
    #[must_use]
    pub fn open(&self) -> u64 {
        // Reads `closed` first: a connection that ends between the two reads then counts as open.
        // In the other order, the difference could be negative.
        let closed = self.closed();
        self.accepted().saturating_sub(closed)
    }

    /// Returns the number of connections shed on accept for lack of room or of descriptors.
    #[must_use]
    pub fn shed(&self) -> u64 {
        self.shed.value()
    }

    /// Returns the number of connections shed because their client's address had the maximum number
    /// of connections already.
    #[must_use]
    pub fn shed_by_address(&self) -> u64 {
        self.shed_by_address.value()
    }

    /// Returns the number of connections without a request that were ended to make room.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted.value()
    }

    /// Returns the number of failed accepts: no descriptors, no memory, or a client that had gone
    /// already.
    #[must_use]
    pub fn accept_failed(&self) -> u64 {
        self.accept_failed.value()
    }

    /// Returns the number of `accept` system calls, successful or failed.
    #[must_use]
    pub fn accepts(&self) -> u64 {
        self.accepts.value()
    }

    /// Returns the number of system calls that read from a connection or checked the page cache for
    /// a file.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.value()
    }

    /// Returns the number of system calls that wrote to a connection, including `sendfile`.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes.value()
    }

    /// Returns how often the core ran out of work and blocked. The non-blocking polls of the
    /// sockets, one after every 61 tasks, are not counted.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits.value()
    }

    /// Returns the number of connections for which the core asked the kernel which processor
    /// received their packets. The core asks this for one connection in eight.
    #[must_use]
    pub fn located(&self) -> u64 {
        self.located.value()
    }

    /// Returns the number of connections whose packets arrived on the core's own processor, among
    /// those that [`Counters::located`] counts.
    #[must_use]
    pub fn local(&self) -> u64 {
        self.local.value()
    }

    /// Returns the method by which connections are currently spread over the cores; never `Auto`.
    #[must_use]
    pub fn steering(&self) -> Steering {
        Steering::ALL[self.steering.value() as usize]
    }

    /// Returns the number of allocations on the core's thread, as of the last tick; 0 unless the
    /// program's allocator is a [`crate::CountingAllocator`].
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations.value()
    }

    /// Returns the number of connections that waited for the event `wait` at the last tick.
    #[must_use]
    pub fn waiting(&self, wait: Wait) -> u64 {
        self.waiting[wait as usize].value()
    }

    /// Returns the number of connections that did not wait for their client at the last tick: the
    /// server was preparing their responses.
    #[must_use]
    pub fn working(&self) -> u64 {
        self.working.value()
    }

    /// Returns the number of response bytes in memory that waited, at the last tick, for room in
    /// their sockets.
    #[must_use]
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes.value()
    }

    /// Returns the number of connections ended because the event `wait`, which they waited for, did
    /// not occur in time.
    #[must_use]
    pub fn timed_out(&self, wait: Wait) -> u64 {
        self.timed_out[wait as usize].value()
    }
}

/// Counter with one writer, so that an increment is a plain load and store instead of a locked
/// instruction.
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
