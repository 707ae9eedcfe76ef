//! Wall clock of this crate. No other module of the crate reads the system time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current Unix time in milliseconds.
#[must_use]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the host's clock is past 1970");
    since.as_millis() as u64
}
