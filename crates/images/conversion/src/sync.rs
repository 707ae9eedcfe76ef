//! Locks and atomics that threads of this crate share. [`crate::queue`] and
//! [`crate::single_flight`] import them from here: tests compile both files a second time, with the
//! locks and atomics of `shuttle` instead.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::AtomicBool;
