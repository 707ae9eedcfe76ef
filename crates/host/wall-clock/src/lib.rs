//! The system's wall clock as Unix time. For intervals, use `Instant`: an operator or NTP may set
//! the wall clock back.
//!
//! Units: each function states its unit. Errors: none; a time before 1970 counts as 1970. Threads:
//! any.

#![forbid(unsafe_code)]

mod unix_time;

pub use unix_time::{since_1970, unix_ms, unix_secs};
