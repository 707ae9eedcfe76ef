//! Barrier at which the starting cores wait for each other.

use super::sync::{Condvar, Mutex, MutexGuard, UNPOISONED};

/// Barrier at which every core waits until all cores have started. Without the barrier, the first
/// core would serve clients before the last core has started. These clients could use up resources,
/// such as descriptors, that the last core needs for its start.
pub(crate) struct Gate {
    missing: Mutex<usize>,
    complete: Condvar,
}

impl Gate {
    pub(crate) fn new(cores: usize) -> Gate {
        Gate {
            missing: Mutex::new(cores),
            complete: Condvar::new(),
        }
    }

    fn missing(&self) -> MutexGuard<'_, usize> {
        self.missing.lock().expect(UNPOISONED)
    }
}

/// Pending arrival of one core at the barrier. Dropping this value counts as the arrival of the
/// core. A core that fails to start thus does not block the other cores.
pub(crate) struct Arrival<'a>(pub(crate) &'a Gate);

impl Arrival<'_> {
    /// Arrives, and waits until all cores have arrived.
    pub(crate) fn wait(self) {
        let gate = self.0;
        drop(self);
        let complete = &gate.complete;
        let all = complete.wait_while(gate.missing(), |missing| 0 < *missing);
        drop(all.expect(UNPOISONED));
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        *self.0.missing() -= 1;
        self.0.complete.notify_all();
    }
}
