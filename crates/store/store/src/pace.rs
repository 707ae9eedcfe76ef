//! Background work on the core: one piece per pass of the event loop, with rests so that clients
//! get most of the core's time.
//!
//! While clients send commands, background work uses at most a third of the core. The work rests
//! between pieces: if the thread never slept, the kernel's scheduler would suspend it at times in
//! favour of other threads on the same processor, and clients would have to wait. While no client
//! sends commands, the work continues without rests.

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::sleep;

use crate::clock::thread_cpu_time;
use crate::shared::Shared;
use crate::state::State;

/// CPU time that the pieces may use between two rests.
const WORK: Duration = Duration::from_micros(500);
/// Length of a rest: the shortest that the runtime's timer can wait.
const REST: Duration = Duration::from_millis(1);

/// Measurements that decide when background work rests.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// CPU time of the pieces of work since the last rest.
    worked: Duration,
    /// CPU time of the last piece of work.
    pub(crate) last: Duration,
    /// Number of commands received from clients up to the last rest.
    commands: u64,
}

impl Pace {
    /// Runs one piece of work and measures its CPU time.
    pub(crate) fn work<R>(&mut self, shared: &Shared, piece: impl FnOnce(&mut State) -> R) -> R {
        let state = &mut *shared.state.borrow_mut();
        let started = thread_cpu_time();
        let result = piece(state);
        self.last = thread_cpu_time() - started;
        self.worked += self.last;
        result
    }

    /// Yields to clients. Rests for [`REST`] instead if the pieces since the last rest used
    /// [`WORK`] or more and clients are active.
    pub(crate) async fn rest(&mut self, shared: &Shared) {
        if self.worked < WORK {
            return yield_now().await;
        }
        self.worked = Duration::ZERO;
        let before = self.commands;
        self.commands = shared.state.borrow().stats.counters.commands;
        match before == self.commands {
            true => yield_now().await,
            false => sleep(REST).await,
        }
    }
}
