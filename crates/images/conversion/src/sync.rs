//! Locks and atomics that threads of conversions share. [`crate::queue`] and
//! [`crate::single_flight`] import them from here, so that tests can compile the same files with
//! the locks and atomics of `shuttle`.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::AtomicBool;
