//! Locks and atomics of `std` that cores share. [`crate::gate`] and [`crate::open`] take theirs
//! from here, so that tests can compile the same files with those of `shuttle`.

pub(crate) use std::sync::atomic::AtomicUsize;
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
