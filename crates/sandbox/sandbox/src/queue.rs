//! Queue of the slots of a pool, through which callers and the supervisor exchange slots.
//!
//! ```text
//! supervisor ── push ──► ready ── acquire ──► caller ── drop ──► gone
//!     ▲                                          │
//!     └── take_returned ◄── returned ◄────────── give_back
//! ```
//!
//! The queue has one lock, which is held only while a list or a number changes. A slot has one
//! owner at a time: the supervisor, this queue, or the caller that acquired it. A caller also holds
//! a [`Permit`] while its job runs. Apart from this lock, the queue makes system calls only through
//! its [`Signal`]. The tests replace the signal, so they can run the queue without processes, and
//! try many interleavings of threads.

use crate::place::{CoreId, Cores};
use crate::posture::Posture;
use crate::sync::{Condvar, Mutex, MutexGuard, UNPOISONED};
use std::collections::VecDeque;
use std::time::Duration;

/// Signal that wakes the supervisor. A raised signal stays raised until the supervisor clears it.
pub(crate) trait Signal {
    fn raise(&self);
    fn clear(&self);
}

/// Slots of type `S`, and the signal to the supervisor.
pub(crate) struct Queue<S, W> {
    state: Mutex<State<S>>,
    /// Notified once for each slot that becomes ready, and once for each permit that is dropped.
    changed: Condvar,
    /// Maximum number of jobs that run at a time.
    concurrency: u32,
    /// Signal to the supervisor that a slot was returned, or that the pool stops.
    pub(crate) wake: W,
}

/// State of a queue, protected by its lock.
pub(crate) struct State<S> {
    /// Slots ready for a job. Single-use slots are in the order in which they were forked, so that
    /// the children of a retired zygote are used first.
    ready: VecDeque<S>,
    /// Slots that finished a job and are not yet ready for the next job.
    returned: Vec<S>,
    running: u32,
    /// Cores on which the running jobs started.
    cores: Cores,
    stopping: bool,
    pub(crate) zygote: ZygoteFacts,
}

/// State of the pool's zygotes, which callers of the pool can read.
#[derive(Default)]
pub(crate) struct ZygoteFacts {
    /// Isolation mechanisms in force in the zygote that last became ready.
    pub(crate) posture: Option<Posture>,
    /// Page tables of the guest, as text. The zygote that last became ready reported this text. It
    /// is empty if the cells are processes.
    pub(crate) page_tables: String,
    /// Latest reason why the pool could not start a zygote or a child. `None` again once a zygote
    /// has become ready.
    pub(crate) trouble: Option<String>,
}

/// Permission to run one job, returned to the queue when dropped.
pub(crate) struct Permit<'a, S, W: Signal> {
    queue: &'a Queue<S, W>,
    /// Core on which the job is to start, unless the kernel chooses.
    pub(crate) core: Option<CoreId>,
}

impl<S, W: Signal> Queue<S, W> {
    /// Returns an empty queue for at most `slots_max` slots and at most `concurrency` jobs at a
    /// time.
    pub(crate) fn new(slots_max: usize, concurrency: u32, cores: Cores, wake: W) -> Queue<S, W> {
        Queue {
            state: Mutex::new(State {
                ready: VecDeque::with_capacity(slots_max),
                returned: Vec::new(),
                running: 0,
                cores,
                stopping: false,
                zygote: ZygoteFacts::default(),
            }),
            changed: Condvar::new(),
            concurrency,
            wake,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().expect(UNPOISONED)
    }

    /// Adds a slot that has not run a job yet.
    pub(crate) fn push(&self, slot: S) {
        self.lock().ready.push_back(slot);
        self.changed.notify_one();
    }

    /// Adds a slot that has run a job. The slot goes to the front of the queue, because its memory
    /// is likely to be in the CPU's cache.
    pub(crate) fn push_again(&self, slot: S) {
        self.lock().ready.push_front(slot);
        self.changed.notify_one();
    }

    /// Removes the ready slots for which `is_gone` returns true, and returns these slots.
    pub(crate) fn remove_ready(&self, is_gone: impl Fn(&S) -> bool) -> Vec<S> {
        let mut gone = Vec::new();
        let mut state = self.lock();
        for _ in 0..state.ready.len() {
            let slot = state.ready.pop_front().expect("as many as there were");
            if is_gone(&slot) {
                gone.push(slot);
            } else {
                state.ready.push_back(slot);
            }
        }
        gone
    }

    /// Waits at most `longest` for a slot and the permission to run a job in this slot. Returns
    /// `None` if no slot became ready in time. `is_idle` is true for a job that runs only while a
    /// core is otherwise idle. The queue chooses no core for an idle job.
    pub(crate) fn acquire(
        &self,
        longest: Duration,
        is_idle: bool,
    ) -> Option<(S, Permit<'_, S, W>)> {
        let (mut state, _) = self
            .changed
            .wait_timeout_while(self.lock(), longest, |state| {
                self.concurrency <= state.running || state.ready.is_empty()
            })
            .expect(UNPOISONED);
        if self.concurrency <= state.running {
            return None;
        }
        let slot = state.ready.pop_front()?;
        state.running += 1;
        // A job with idle priority does not delay other jobs, so it is not counted on any core.
        let core = if is_idle { None } else { state.cores.take() };
        Some((slot, Permit { queue: self, core }))
    }

    /// Gives a used slot back to the supervisor, which makes it ready for the next job.
    pub(crate) fn give_back(&self, slot: S) {
        self.lock().returned.push(slot);
        self.wake.raise();
    }

    /// Removes and returns the slots that were given back.
    pub(crate) fn take_returned(&self) -> Vec<S> {
        // The signal is cleared first: if a slot is given back after this line, the signal is
        // raised again.
        self.wake.clear();
        std::mem::take(&mut self.lock().returned)
    }

    /// Stops the supervisor.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.wake.raise();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().stopping
    }
}

impl<S> State<S> {
    pub(crate) fn ready(&self) -> &VecDeque<S> {
        &self.ready
    }

    pub(crate) fn running(&self) -> u32 {
        self.running
    }
}

impl<S, W: Signal> Drop for Permit<'_, S, W> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.running -= 1;
        if let Some(core) = self.core {
            state.cores.leave(core);
        }
        drop(state);
        self.queue.changed.notify_one();
    }
}

#[cfg(test)]
mod tests;
