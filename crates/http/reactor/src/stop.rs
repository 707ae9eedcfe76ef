//! Telling a reactor to stop.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops a reactor from any thread. Clones stop the same one.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// A stop that has not been triggered.
    #[must_use]
    pub fn new() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }

    /// Begins the drain. Later calls change nothing.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }

    /// Whether it has been triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is triggered, on any runtime. Cancel-safe.
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
