//! Locks and atomics of `std` that cores share. [`crate::gate`] and [`crate::open`] import them
//! from here, so that tests can compile the same files with the locks and atomics of `shuttle`.

pub(crate) use std::sync::atomic::AtomicUsize;
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
