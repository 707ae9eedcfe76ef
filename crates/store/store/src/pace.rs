//! Pace of background work on the core. The work is done piece by piece, one piece per pass of the
//! event loop. The work rests between pieces, so that clients get most of the core's time.
//!
//! While clients send commands, background work uses at most about a third of the core's time.
//! During a rest, the thread may sleep. If the thread never slept, the kernel would at times
//! suspend it in favour of other threads on the same processor, and clients would have to wait.
//! While no client sends commands, the work continues without rests.

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
    /// CPU time that the work has used since the last rest.
    worked: Duration,
    /// CPU time of the last piece of work.
    pub(crate) last: Duration,
    /// Total number of commands from clients at the last call of [`Pace::rest`], which compares the
    /// current total with it to see whether clients have sent commands since.
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

    /// Yields to clients. If clients send commands, and the work since the last rest has used at
    /// least [`WORK`], rests for [`REST`] instead.
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
