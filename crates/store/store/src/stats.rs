//! Counters for `INFO`.

use std::collections::BTreeMap;

use keyspace::Command;

use crate::clock::Turns;

/// Number of samples that are averaged into a rate.
const RATE_SAMPLES: usize = 16;

/// Number of histogram buckets for call durations. The last bucket counts all calls of more than 18
/// minutes.
const RANGES: usize = 31;

/// Statistics about the calls of one command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) took_us: u64,
    /// Number of calls that were refused before they ran.
    pub(crate) rejected: u64,
    /// Number of calls that were answered with an error.
    pub(crate) failed: u64,
    /// Number of calls per range of durations, as in Redis: the first range ends at 1,024 ns, and
    /// each further range ends at twice the end of the previous range.
    by_time: [u64; RANGES],
}

impl Calls {
    /// Counts a call that ran.
    pub(crate) fn ran(&mut self, took_us: u64, failed: bool) {
        self.calls += 1;
        self.took_us += took_us;
        self.failed += u64::from(failed);
    }

    /// Counts a call's duration in the histogram.
    pub(crate) fn track(&mut self, took_us: u64) {
        let units = took_us.saturating_mul(1000).div_ceil(1024).max(1);
        let range = units.next_power_of_two().trailing_zeros() as usize;
        self.by_time[range.min(RANGES - 1)] += 1;
    }

    /// Returns the number of calls in the histogram.
    pub(crate) fn tracked(&self) -> u64 {
        self.by_time.iter().sum()
    }

    /// Returns, for each non-empty bucket of the histogram, its upper bound in microseconds and the
    /// number of calls in this and all lower buckets.
    pub(crate) fn histogram(&self) -> Vec<(u64, u64)> {
        let mut sum = 0;
        let ranges = (0..).zip(&self.by_time).filter(|(_, count)| **count != 0);
        let ranges = ranges.map(|(range, count)| {
            sum += count;
            ((1024 << range) / 1000, sum)
        });
        ranges.collect()
    }

    /// Returns the upper bound, in microseconds, of the histogram bucket that contains this
    /// percentile.
    pub(crate) fn percentile_us(&self, percent: f64) -> u64 {
        let wanted = (self.tracked() as f64 * percent / 100.0).ceil() as u64;
        let histogram = self.histogram();
        let found = histogram.iter().find(|(_, sum)| wanted <= *sum);
        found.map_or(0, |(us, _)| *us)
    }
}

#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) started_ms: u64,
    pub(crate) commands: u64,
    /// Total duration of all commands, in microseconds.
    pub(crate) commands_us: u64,
    pub(crate) net_input_bytes: u64,
    pub(crate) net_output_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) error_replies: u64,
    /// Statistics of the commands that were called, each at its command's index in the command
    /// table.
    calls: Vec<Option<(&'static str, Calls)>>,
    /// Number of error replies, by the first word of the reply.
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) peak_bytes: u64,
    pub(crate) ops: Rate,
    pub(crate) input: Rate,
    pub(crate) output: Rate,
    pub(crate) turns: Rate,
    pub(crate) turns_us: Rate,
}

impl Stats {
    pub(crate) fn new(now_ms: u64) -> Stats {
        Stats {
            started_ms: now_ms,
            commands: 0,
            commands_us: 0,
            net_input_bytes: 0,
            net_output_bytes: 0,
            reads: 0,
            writes: 0,
            error_replies: 0,
            calls: Vec::new(),
            errors: BTreeMap::new(),
            peak_bytes: 0,
            ops: Rate::default(),
            input: Rate::default(),
            output: Rate::default(),
            turns: Rate::default(),
            turns_us: Rate::default(),
        }
    }

    /// Resets the counters, for `CONFIG RESETSTAT`.
    pub(crate) fn reset(&mut self, now_ms: u64) {
        *self = Stats {
            started_ms: self.started_ms,
            ..Stats::new(now_ms)
        };
    }

    /// Returns the statistics of one command, so that the caller can update them.
    pub(crate) fn calls_of(&mut self, command: &'static Command) -> &mut Calls {
        let index = command.index();
        if self.calls.len() <= index {
            self.calls.resize(index + 1, None);
        }
        let (_, calls) = self.calls[index].get_or_insert((command.name, Calls::default()));
        calls
    }

    /// Returns the name and the statistics of every command that was called or refused.
    pub(crate) fn all_calls(&self) -> impl Iterator<Item = (&'static str, &Calls)> {
        let calls = self.calls.iter().flatten();
        calls.map(|(name, calls)| (*name, calls))
    }

    pub(crate) fn sample(&mut self, now_ms: u64, turns: Turns) {
        self.turns.sample(now_ms, turns.count);
        self.turns_us.sample(now_ms, turns.took_us);
        self.ops.sample(now_ms, self.commands);
        self.input.sample(now_ms, self.net_input_bytes);
        self.output.sample(now_ms, self.net_output_bytes);
    }

    /// Counts an error reply under its code, the first word of the text.
    pub(crate) fn error(&mut self, text: &[u8], names_max: usize) {
        self.error_replies += 1;
        let code = text.split(|byte| *byte == b' ').next().unwrap_or(text);
        let code = crate::text::lossy(code);
        // The number of distinct error codes is limited to bound the memory, as in Redis.
        if self.errors.len() < names_max || self.errors.contains_key(&code) {
            *self.errors.entry(code).or_default() += 1;
        }
    }
}

/// Growth of a counter per second.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    last_ms: u64,
    last: u64,
    per_second: [u64; RATE_SAMPLES],
    next: usize,
}

impl Rate {
    fn sample(&mut self, now_ms: u64, count: u64) {
        let passed_ms = now_ms.saturating_sub(self.last_ms);
        if 0 < self.last_ms && 0 < passed_ms {
            let grown = count.saturating_sub(self.last);
            self.per_second[self.next] = grown * 1000 / passed_ms;
            self.next = (self.next + 1) % RATE_SAMPLES;
        }
        self.last_ms = now_ms;
        self.last = count;
    }

    pub(crate) fn mean(&self) -> u64 {
        self.per_second.iter().sum::<u64>() / RATE_SAMPLES as u64
    }
}
