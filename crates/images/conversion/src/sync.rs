//! Locks and atomics that threads of this crate share. [`crate::queue`] and
//! [`crate::single_flight`] import them from here, so that tests can compile the two files again
//! with the locks and atomics of `shuttle`.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::AtomicBool;
