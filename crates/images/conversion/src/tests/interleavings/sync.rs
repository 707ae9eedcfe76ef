//! Locks of `shuttle` with the interface of `parking_lot`. Time does not pass under `shuttle`, so
//! no wait times out.

pub(crate) use shuttle::sync::atomic::AtomicBool;

use std::ops::{Deref, DerefMut};
use std::time::Duration;

const UNPOISONED: &str = "a panic fails the test at once";

/// Mutex of `shuttle`, with the interface of `parking_lot`.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Guard of a [`Mutex`]. Contains `None` only during [`Condvar::wait`].
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

/// Condition variable of `shuttle`, with the interface of `parking_lot`.
#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect(UNPOISONED)))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("no wait is in progress")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("no wait is in progress")
    }
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar::default()
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let waiting = guard.0.take().expect("no other wait is in progress");
        guard.0 = Some(self.0.wait(waiting).expect(UNPOISONED));
    }

    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _longest: Duration) {
        self.wait(guard);
    }
}
