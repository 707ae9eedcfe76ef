//! `CLIENT PAUSE`: commands wait until a deadline.

use std::rc::Rc;

use tokio::sync::Notify;

use crate::clients::Clients;

/// Period during which commands wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub(crate) until_ms: u64,
    /// True if all commands wait; false if only commands that change data wait.
    pub(crate) all: bool,
}

/// The current pause, if there is one.
#[derive(Debug)]
pub(crate) struct Pauses {
    current: Option<Pause>,
    /// Notified when the deadline of the pause changes.
    deadline_changed: Rc<Notify>,
}

impl Pauses {
    pub(crate) fn new(deadline_changed: Rc<Notify>) -> Pauses {
        Pauses {
            current: None,
            deadline_changed,
        }
    }

    /// Returns the current pause, if any.
    pub(crate) fn current(&self) -> Option<Pause> {
        self.current
    }

    /// Returns the time at which the current pause ends, if there is one.
    pub(crate) fn until_ms(&self) -> Option<u64> {
        self.current.map(|pause| pause.until_ms)
    }

    /// Starts a pause, which replaces the current one.
    pub(crate) fn set(&mut self, pause: Pause) {
        self.current = Some(pause);
        self.deadline_changed.notify_one();
    }

    /// Extends the current pause by `pause`. The result ends no earlier, and delays no fewer
    /// commands, than either of the two pauses.
    pub(crate) fn extend(&mut self, pause: Pause) {
        self.set(match self.current {
            None => pause,
            Some(current) => Pause {
                until_ms: current.until_ms.max(pause.until_ms),
                all: current.all || pause.all,
            },
        });
    }

    /// Ends the pause, and wakes the clients whose commands waited for its end.
    pub(crate) fn end(&mut self, clients: &mut Clients) {
        self.current = None;
        for client in clients.iter_mut() {
            if client.postponed {
                client.postponed = false;
                client.wake();
            }
        }
    }
}
