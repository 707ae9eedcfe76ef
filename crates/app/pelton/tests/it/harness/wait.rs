//! Waiting for what can be observed.

use std::thread;
use std::time::{Duration, Instant};

/// Nothing that is waited for takes so long, however busy the machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
/// How often a condition is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// What `look` finds once it finds something.
///
/// # Panics
/// When that takes longer than [`DEADLINE`].
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "never happened: {what}");
        thread::park_timeout(PAUSE);
    }
}

/// How often something is done: so often, or as often as `CONFORM_REPETITIONS` says, for runs that take longer than the
/// gate may.
pub(crate) fn repetitions(usual: usize) -> usize {
    match std::env::var("CONFORM_REPETITIONS") {
        Ok(wanted) => wanted.parse().expect("CONFORM_REPETITIONS is a number"),
        Err(_) => usual,
    }
}
