//! Delays that were seen, by event.

use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) unix_secs: u64,
    pub(crate) took_ms: u64,
}

/// The samples of one event.
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// The oldest first.
    pub(crate) samples: VecDeque<Sample>,
    pub(crate) max_ms: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Latency {
    pub(crate) events: BTreeMap<&'static str, Event>,
}

impl Latency {
    /// Notes a delay; of those within a second the longest stays.
    pub(crate) fn add(&mut self, event: &'static str, sample: Sample, samples_max: usize) {
        let event = self.events.entry(event).or_default();
        event.max_ms = event.max_ms.max(sample.took_ms);
        if let Some(last) = event.samples.back_mut()
            && last.unix_secs == sample.unix_secs
        {
            last.took_ms = last.took_ms.max(sample.took_ms);
            return;
        }
        if event.samples.len() == samples_max {
            event.samples.pop_front();
        }
        event.samples.push_back(sample);
    }
}
