//! State of one core, shared by the core's connections.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::clock::TICK_MS;
use crate::deadline::{DRAIN_GRACE_MS, Table};
use crate::file::CachedRanges;
use crate::{Clock, CoreId, Counters, Limits, allocations};

/// Handle through which connections reach the core that serves them. Cheap to clone; never leaves
/// the core's thread.
#[derive(Clone, Debug)]
pub struct Core(Rc<State>);

#[derive(Debug)]
struct State {
    index: usize,
    id: CoreId,
    limits: Limits,
    clock: Clock,
    table: Table,
    draining: Cell<bool>,
    drain: Notify,
    counters: Arc<[Counters]>,
    cached_ranges: CachedRanges,
}

impl Core {
    pub(crate) fn new(
        index: usize,
        id: CoreId,
        limits: Limits,
        clock: Clock,
        counters: Arc<[Counters]>,
    ) -> Core {
        Core(Rc::new(State {
            index,
            id,
            limits,
            clock,
            table: Table::default(),
            draining: Cell::new(false),
            drain: Notify::new(),
            counters,
            cached_ranges: CachedRanges::default(),
        }))
    }

    /// Returns the core's position among the reactor's cores, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// Returns the processor that the core is pinned to.
    #[must_use]
    pub fn id(&self) -> CoreId {
        self.0.id
    }

    /// Returns the core's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Returns the limits that the reactor runs with.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Returns the core's counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters[self.0.index]
    }

    /// Returns whether the reactor is stopping, so that the next response should be the last on its
    /// connection.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.draining.get()
    }

    /// Waits until the reactor starts to drain. Cancel-safe.
    pub async fn drain_started(&self) {
        let started = self.0.drain.notified();
        if !self.is_draining() {
            started.await;
        }
    }

    /// Returns the record of the file ranges that were in the page cache during this tick.
    pub(crate) fn cached_ranges(&self) -> &CachedRanges {
        &self.0.cached_ranges
    }

    pub(crate) fn table(&self) -> &Table {
        &self.0.table
    }

    /// Sets the clock and wakes the connections whose deadline is due.
    pub(crate) fn tick(&self, now_ms: u64, unix_secs: u64) {
        self.0.clock.set(now_ms, unix_secs);
        self.0.table.sweep(now_ms, self.counters());
        self.publish();
    }

    /// Updates the allocation counter between ticks, for a caller that is about to read it.
    pub fn publish(&self) {
        let allocations = allocations::of_this_thread();
        self.counters().allocations.set(allocations);
    }

    /// Evicts the connection that has waited longest for a request, to make room. Returns whether
    /// such a connection existed.
    pub(crate) fn evict(&self) -> bool {
        let found = self.0.table.evict(self.limits());
        if found {
            self.counters().evicted.count();
        }
        found
    }

    pub(crate) fn start_drain(&self) {
        self.0.draining.set(true);
        self.0.drain.notify_waiters();
        // Adds one tick, because the clock may be up to one tick behind. Otherwise connections
        // could be closed before their grace period ends.
        let due_ms = self.0.clock.now_ms() + TICK_MS + DRAIN_GRACE_MS;
        self.0.table.drain(due_ms);
    }
}
