//! Locks and atomics of `std`. [`crate::gate`] and [`crate::open`] import them from here: tests
//! compile both files a second time, with the locks and atomics of `shuttle` instead.

pub(crate) use std::sync::atomic::AtomicUsize;
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Message of the `expect` on every lock of this crate.
pub(crate) const UNPOISONED: &str = "no thread panics while it holds this lock";
