//! Conversion of the system's time to Unix time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the current Unix time in milliseconds.
#[must_use]
pub fn unix_ms() -> u64 {
    since_1970(SystemTime::now()).as_millis() as u64
}

/// Returns the current Unix time in seconds.
#[must_use]
pub fn unix_secs() -> u64 {
    since_1970(SystemTime::now()).as_secs()
}

/// Returns the duration from 1970 to `time`, or zero for an earlier time.
#[must_use]
pub fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests;
