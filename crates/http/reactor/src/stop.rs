//! Signal that stops a reactor.

use std::sync::Arc;

use tokio::sync::watch;

/// Signal that stops a reactor, usable from any thread. All clones share one state.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Creates a signal that has not been triggered.
    #[must_use]
    pub fn new() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }

    /// Starts the drain. Later calls change nothing.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether the signal has been triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the signal is triggered. Works on any runtime, and is cancel-safe.
    pub async fn triggered(&self) {
        self.0
            .subscribe()
            .wait_for(|stopped| *stopped)
            .await
            .expect("the sender is `self`, which lives as long as this future");
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::new()
    }
}
