//! What one core owns and its connections share.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::clock::TICK_MS;
use crate::deadline::{DRAIN_GRACE_MS, Table};
use crate::file::Found;
use crate::{Clock, CoreId, Counters, Limits, allocations};

/// One core, as its connections see it. Cheap to clone; never leaves its thread.
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
    found: Found,
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
            found: Found::default(),
        }))
    }

    /// Position among the reactor's cores, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// The processor the core is pinned to.
    #[must_use]
    pub fn id(&self) -> CoreId {
        self.0.id
    }

    /// The core's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The limits the reactor runs with.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The core's counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters[self.0.index]
    }

    /// Whether the reactor is stopping, so that an answer should be the connection's last.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.draining.get()
    }

    /// Waits until the reactor is stopping. Cancel-safe.
    pub async fn drain_begun(&self) {
        let begun = self.0.drain.notified();
        if !self.is_draining() {
            begun.await;
        }
    }

    /// Parts of files that were in the page cache a moment ago.
    pub(crate) fn found(&self) -> &Found {
        &self.0.found
    }

    pub(crate) fn table(&self) -> &Table {
        &self.0.table
    }

    /// Sets the clock and wakes the connections whose time is over.
    pub(crate) fn tick(&self, now_ms: u64, unix_secs: u64) {
        self.0.clock.set(now_ms, unix_secs);
        self.0.table.sweep(now_ms, self.counters());
        self.publish();
    }

    /// Brings those counters up to date that a tick sets, for whoever is about to read them.
    pub fn publish(&self) {
        let allocations = allocations::of_this_thread();
        self.counters().allocations.set(allocations);
    }

    /// Ends the connection that has been without a request longest to make room, if there is one.
    pub(crate) fn evict(&self) -> bool {
        let found = self.0.table.evict(self.limits());
        if found {
            self.counters().evicted.count();
        }
        found
    }

    pub(crate) fn begin_drain(&self) {
        self.0.draining.set(true);
        self.0.drain.notify_waiters();
        // The clock may be a whole tick behind.
        let due_ms = self.0.clock.now_ms() + TICK_MS + DRAIN_GRACE_MS;
        self.0.table.drain(due_ms);
    }
}
