//! History of the counters: three ring buffers, whose rows cover one, ten and sixty seconds.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::reading::Reading;
use crate::series::{COUNT, Kind, NO_VALUE, SERIES, bucket_of};

/// Seconds per row and number of rows of each ring. The rings cover five minutes, an hour, and a
/// day.
const RINGS: [(u64, usize); 3] = [(1, 300), (10, 360), (60, 1_440)];

/// Values of one interval, in the order of [`SERIES`].
type Row = [u32; COUNT];

/// History of the counters since the start of the process.
#[derive(Debug)]
pub(crate) struct History {
    rings: [Ring; RINGS.len()],
    /// Number of samples that were added after the first sample.
    sequence: u64,
}

/// Ring buffer of rows that cover intervals of one length.
#[derive(Debug)]
struct Ring {
    seconds: u64,
    rows_max: usize,
    rows: VecDeque<Row>,
    /// Values of the counters at the start of the current interval.
    begin: Reading,
    /// Largest values of the gauges in the current interval.
    peaks: Row,
}

impl History {
    /// Returns an empty history whose first interval begins with the sample `first`. Allocates all
    /// memory that the history will use.
    pub(crate) fn new(first: Reading) -> History {
        let ring = |(seconds, rows_max)| Ring {
            seconds,
            rows_max,
            rows: VecDeque::with_capacity(rows_max),
            begin: first,
            peaks: [0; COUNT],
        };
        History {
            rings: RINGS.map(ring),
            sequence: 0,
        }
    }

    /// Returns the number of samples that were added after the first sample.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Adds the sample of the next second.
    pub(crate) fn add(&mut self, now: &Reading) {
        self.sequence += 1;
        for ring in &mut self.rings {
            ring.add(now, self.sequence);
        }
    }

    /// Returns the sum of a counter over the last `seconds / 60` whole minutes and the current,
    /// unfinished minute. Time before the oldest stored minute is not included.
    pub(crate) fn sum(&self, name: &str, seconds: u64) -> u64 {
        let Some(column) = SERIES.iter().position(|series| series.name == name) else {
            return 0;
        };
        let [by_second, _, by_minute] = &self.rings;
        let present = (self.sequence % by_minute.seconds) as usize;
        let minutes = (seconds / by_minute.seconds) as usize;
        let recent = by_second.rows.iter().rev().take(present);
        let earlier = by_minute.rows.iter().rev().take(minutes);
        recent
            .chain(earlier)
            .map(|row| u64::from(row[column]))
            .sum()
    }

    /// Returns the rows that ended after the sample with the number `since`, as JSON.
    pub(crate) fn since(&self, since: u64) -> Value {
        let rings = self.rings.iter();
        rings.map(|ring| ring.since(since, self.sequence)).collect()
    }
}

impl Ring {
    fn add(&mut self, now: &Reading, sequence: u64) {
        for (peak, series) in self.peaks.iter_mut().zip(&SERIES) {
            if let Kind::Gauge(read) = series.kind {
                *peak = (*peak).max(narrow(read(now)));
            }
        }
        if !sequence.is_multiple_of(self.seconds) {
            return;
        }
        let row = std::array::from_fn(|column| match SERIES[column].kind {
            Kind::Counter(read) => narrow(read(now).saturating_sub(read(&self.begin))),
            Kind::Gauge(_) => self.peaks[column],
            Kind::Percentile(buckets, percent) => {
                let (before, now) = (&self.begin.figures.responses, &now.figures.responses);
                bucket_of(buckets(before), buckets(now), percent)
            }
        });
        if self.rows.len() == self.rows_max {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
        self.begin = *now;
        self.peaks = [0; COUNT];
    }

    /// Returns the rows that ended after the sample with the number `since`, as one array per
    /// series. A series is left out if all its values are zero, or if it is a percentile and no row
    /// has a value.
    fn since(&self, since: u64, sequence: u64) -> Value {
        let wanted = sequence / self.seconds - since.min(sequence) / self.seconds;
        let count = (wanted as usize).min(self.rows.len());
        let rows = self.rows.range(self.rows.len() - count..);
        let mut columns = Map::new();
        for (column, series) in SERIES.iter().enumerate() {
            let is_percentile = matches!(series.kind, Kind::Percentile(..));
            let empty = if is_percentile { NO_VALUE } else { 0 };
            if rows.clone().all(|row| row[column] == empty) {
                continue;
            }
            let value = |row: &Row| match row[column] {
                NO_VALUE if is_percentile => Value::Null,
                value => value.into(),
            };
            let values = rows.clone().map(value).collect();
            columns.insert(series.name.to_owned(), Value::Array(values));
        }
        json!({
            "seconds": self.seconds,
            "end": sequence - sequence % self.seconds,
            "count": count,
            "values": columns,
        })
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests;
