//! Locks of `shuttle` with the interface of `parking_lot`.

pub(crate) use shuttle::sync::atomic::AtomicBool;

use std::ops::{Deref, DerefMut};

const UNPOISONED: &str = "a panic fails the test at once";

/// Lock of `shuttle`.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Guard of a [`Mutex`].
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
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
