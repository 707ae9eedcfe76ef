//! Measurements of commands: counters, slow commands and delays.

use keyspace::Command;

use crate::Limits;
use crate::latency::{Latency, Sample};
use crate::slowlog::Slowlog;
use crate::stats::{Calls, Stats};

/// Measurements of commands.
#[derive(Debug)]
pub(crate) struct Statistics {
    pub(crate) counters: Stats,
    pub(crate) slowlog: Slowlog,
    pub(crate) latency: Latency,
    /// Maximum number of distinct error names that are counted separately.
    error_names_max: usize,
    /// Maximum number of samples that [`Latency`] keeps per event.
    latency_samples_max: usize,
}

impl Statistics {
    pub(crate) fn new(limits: &Limits, now_ms: u64) -> Statistics {
        Statistics {
            counters: Stats::new(now_ms),
            slowlog: Slowlog::default(),
            latency: Latency::default(),
            error_names_max: limits.error_names_max,
            latency_samples_max: limits.latency_samples_max,
        }
    }

    /// Counts an error reply under its code, the first word of the text.
    pub(crate) fn error(&mut self, text: &[u8]) {
        self.counters.error(text, self.error_names_max);
    }

    /// Counts a call that was refused before it ran.
    pub(crate) fn rejected(&mut self, command: &'static Command) {
        self.counters.calls_of(command).rejected += 1;
    }

    /// Counts a call that ran, and returns the counters of its command.
    #[inline]
    pub(crate) fn ran(
        &mut self,
        command: &'static Command,
        took_us: u64,
        failed: bool,
    ) -> &mut Calls {
        self.counters.commands += 1;
        self.counters.commands_us += took_us;
        let calls = self.counters.calls_of(command);
        calls.ran(took_us, failed);
        calls
    }

    /// Records an occurrence of the latency event `event`, such as `command`, that took `took_ms`.
    pub(crate) fn delayed(&mut self, event: &'static str, now_ms: u64, took_ms: u64) {
        let sample = Sample {
            unix_secs: now_ms / 1000,
            took_ms,
        };
        self.latency.add(event, sample, self.latency_samples_max);
    }

    /// Raises the recorded peak of the memory use if `used_bytes` is higher.
    pub(crate) fn note_peak(&mut self, used_bytes: u64) {
        self.counters.peak_bytes = self.counters.peak_bytes.max(used_bytes);
    }
}
