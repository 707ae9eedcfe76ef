//! Values of all counters at one moment.

use report::log::Problems;
use server::figures::Figures;

use crate::host::Process;

/// Values of all counters at one moment, from which the history is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) figures: Figures,
    /// Conversions that succeeded.
    pub(crate) conversions: u64,
    /// Conversions that failed, for any reason except cancellation.
    pub(crate) conversion_failures: u64,
    /// Conversions that were refused because too many were waiting.
    pub(crate) conversions_refused: u64,
    /// CPU time of conversions, in milliseconds.
    pub(crate) conversion_cpu_ms: u64,
    /// Tracks that were transcoded.
    pub(crate) transcodes: u64,
    /// Numbers of warnings and errors in the log.
    pub(crate) problems: Problems,
    pub(crate) process: Process,
}
