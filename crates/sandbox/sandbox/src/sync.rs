//! Locks through which the threads of a pool meet.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Text of the `expect` on every lock of this crate.
pub(crate) const UNPOISONED: &str = "no thread panics while it holds this lock";
