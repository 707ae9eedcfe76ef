//! A core's clock, set once per tick.

use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

/// Length of the value of a `Date` field: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub const HTTP_DATE_BYTES: usize = 29;

/// Interval at which the clock is set and deadlines are swept.
pub(crate) const TICK_MS: u64 = 500;

/// Time as of the last tick, at most half a second old while the core keeps up.
#[derive(Debug)]
pub struct Clock {
    now_ms: Cell<u64>,
    unix_secs: Cell<u64>,
    http_date: Cell<[u8; HTTP_DATE_BYTES]>,
}

impl Clock {
    pub(crate) fn new(now_ms: u64, unix_secs: u64) -> Clock {
        Clock {
            now_ms: Cell::new(now_ms),
            unix_secs: Cell::new(unix_secs),
            http_date: Cell::new(render(unix_secs)),
        }
    }

    /// Returns the milliseconds since this core started; never decreases.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    /// Returns the seconds since 1970 by the system's clock, which may be set back.
    #[must_use]
    pub fn unix_secs(&self) -> u64 {
        self.unix_secs.get()
    }

    /// Returns [`Clock::unix_secs`] as an IMF-fixdate (RFC 9110 §5.6.7). The text is formatted only
    /// once per second.
    #[must_use]
    pub fn http_date(&self) -> [u8; HTTP_DATE_BYTES] {
        self.http_date.get()
    }

    pub(crate) fn set(&self, now_ms: u64, unix_secs: u64) {
        self.now_ms.set(now_ms);
        if self.unix_secs.replace(unix_secs) != unix_secs {
            self.http_date.set(render(unix_secs));
        }
    }
}

/// Last second of the year 9999; an HTTP date has four digits for the year, so later times are
/// clamped.
const UNIX_SECS_MAX: u64 = 253_402_300_799;

fn render(unix_secs: u64) -> [u8; HTTP_DATE_BYTES] {
    let when = UNIX_EPOCH + Duration::from_secs(unix_secs.min(UNIX_SECS_MAX));
    let mut text = [0; HTTP_DATE_BYTES];
    write!(&mut text[..], "{}", httpdate::HttpDate::from(when))
        .expect("a date of the years 1970 to 9999 takes exactly 29 bytes");
    text
}

#[cfg(test)]
mod tests;
