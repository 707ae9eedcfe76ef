//! Work beside the commands of clients, one piece a turn, at a pace that leaves them the core.
//!
//! As long as clients ask for something, such work takes a third of the core at most: a thread that is always busy is one that
//! the kernel lets wait for others of its processor. When no client asks, it goes on at once.

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::sleep;

use crate::clock::thread_cpu_time;
use crate::connection::Shared;
use crate::state::State;

/// CPU time of the pieces between two rests.
const WORK: Duration = Duration::from_micros(500);
/// Length of a rest: the least that a timer of the runtime can wait.
const REST: Duration = Duration::from_millis(1);

/// What one piece of work after the other has taken.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// CPU time of the pieces since the last rest.
    worked: Duration,
    /// CPU time of the last piece.
    pub(crate) last: Duration,
    /// Commands that clients had sent until the last rest.
    commands: u64,
}

impl Pace {
    /// Does one piece of work.
    pub(crate) fn work<R>(&mut self, shared: &Shared, piece: impl FnOnce(&mut State) -> R) -> R {
        let state = &mut *shared.state.borrow_mut();
        let begun = thread_cpu_time();
        let result = piece(state);
        self.last = thread_cpu_time() - begun;
        self.worked += self.last;
        result
    }

    /// Gives clients their turn, with a rest behind it if the pieces since the last one have taken long enough.
    pub(crate) async fn rest(&mut self, shared: &Shared) {
        if self.worked < WORK {
            return yield_now().await;
        }
        self.worked = Duration::ZERO;
        let before = self.commands;
        self.commands = shared.state.borrow().stats.commands;
        match before == self.commands {
            true => yield_now().await,
            false => sleep(REST).await,
        }
    }
}
