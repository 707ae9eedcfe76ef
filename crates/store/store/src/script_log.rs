//! Lines that scripts and functions write into the log of the store with `redis.log`.

use script::Level;

/// Writes a line of a script with the severity that the script chose.
pub(crate) fn write(level: Level, text: &str) {
    match level {
        Level::Debug => tracing::trace!(target: "script", "{text}"),
        Level::Verbose => tracing::debug!(target: "script", "{text}"),
        Level::Notice => tracing::info!(target: "script", "{text}"),
        Level::Warning => tracing::warn!(target: "script", "{text}"),
    }
}
