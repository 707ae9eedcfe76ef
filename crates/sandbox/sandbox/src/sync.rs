//! Lock types for data that the threads of a pool share. They are the types of `std`. In unit
//! tests, they are the types of `shuttle`, which runs the threads of a test in many interleavings.

#[cfg(test)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(test))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Message of the `expect` on every lock of this crate.
pub(crate) const UNPOISONED: &str = "no thread panics while it holds a lock of the sandbox";
