//! Waiting for observable conditions.

use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a condition. It is generous, so that a busy machine does not fail the tests.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
/// Interval between checks of a condition.
const PAUSE: Duration = Duration::from_millis(5);

/// Calls `check` until it returns a value, and returns that value.
///
/// # Panics
/// `check` has returned no value within [`DEADLINE`].
pub(crate) fn eventually<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "never happened: {what}");
        thread::park_timeout(PAUSE);
    }
}

/// Returns the number of repetitions: `usual`, or the value of `CONFORM_REPETITIONS`, if set. Runs
/// that may take longer than the usual checks set this variable.
pub(crate) fn repetitions(usual: usize) -> usize {
    match std::env::var("CONFORM_REPETITIONS") {
        Ok(wanted) => wanted.parse().expect("CONFORM_REPETITIONS is a number"),
        Err(_) => usual,
    }
}
