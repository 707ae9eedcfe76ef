//! Locks and atomics of `std`. [`crate::gate`] and [`crate::open`] import them from here: tests
//! compile both files a second time, with the locks and atomics of `shuttle` instead.

pub(crate) use std::sync::atomic::AtomicUsize;
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
