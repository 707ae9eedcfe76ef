//! Recorded delays, grouped by the kind of event that took too long.

use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) unix_secs: u64,
    pub(crate) took_ms: u64,
}

/// Recorded delays of one kind of event.
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// Samples, oldest first.
    pub(crate) samples: VecDeque<Sample>,
    pub(crate) max_ms: u64,
}

/// Number of columns of a graph. Further samples are drawn in another graph below.
const COLUMNS: usize = 80;
/// Number of rows of a graph.
const ROWS: u64 = 4;
/// Characters that show the height within one row of a graph, the lowest first.
const HEIGHTS: [char; 3] = ['_', 'o', '#'];

impl Event {
    /// Draws the samples as columns, whose heights are scaled from the shortest to the longest
    /// delay. Below each column is the age of its sample, written downwards.
    pub(crate) fn graph(&self, now_secs: u64) -> String {
        let took = self.samples.iter().map(|sample| sample.took_ms);
        let min = took.clone().min().unwrap_or(0);
        let range = took.max().map_or(1, |max| (max - min).max(1));
        let steps = ROWS * HEIGHTS.len() as u64;
        let columns: Vec<(u64, String)> = self
            .samples
            .iter()
            .map(|sample| {
                let above = u128::from(sample.took_ms - min);
                let step = (above * u128::from(steps) / u128::from(range)) as u64;
                let age = age(now_secs.saturating_sub(sample.unix_secs));
                (step.min(steps - 1), age)
            })
            .collect();
        let pieces = columns.chunks(COLUMNS).map(piece);
        pieces.collect::<Vec<_>>().join("\n")
    }
}

/// Draws one graph of at most [`COLUMNS`] columns. Each column is given by its height and its
/// label.
fn piece(columns: &[(u64, String)]) -> String {
    let mut text = String::new();
    let heights = HEIGHTS.len() as u64;
    for row in (0..ROWS).rev() {
        text.extend(columns.iter().map(|(step, _)| match step / heights {
            top if top == row => HEIGHTS[(step % heights) as usize],
            top if top < row => ' ',
            _ => '|',
        }));
        text.push('\n');
    }
    text.extend(columns.iter().map(|_| ' '));
    text.push('\n');
    let longest = columns.iter().map(|(_, label)| label.len()).max();
    for at in 0..longest.unwrap_or(0) {
        let letters = columns.iter().map(|(_, label)| label.as_bytes().get(at));
        text.extend(letters.map(|letter| letter.map_or(' ', |&letter| letter.into())));
        text.push('\n');
    }
    text
}

/// Formats an age in the largest unit that does not exceed it, such as `59s`, `2m`, `3h` or `4d`.
fn age(secs: u64) -> String {
    match secs {
        ..60 => format!("{secs}s"),
        60..3600 => format!("{}m", secs / 60),
        3600..86_400 => format!("{}h", secs / 3600),
        _ => format!("{}d", secs / 86_400),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Latency {
    pub(crate) events: BTreeMap<&'static str, Event>,
}

impl Latency {
    /// Records a delay of an event. If several delays of the same event fall into the same second,
    /// only the longest is kept.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected text is the graph that redis-server 7.0.15 draws for these samples.
    #[test]
    fn a_graph_is_drawn_as_redis_draws_it() {
        let took = [100, 300, 50, 600, 200, 900, 10, 10, 400];
        let ages = [4000, 120, 9, 8, 6, 5, 3, 2, 1];
        let mut event = Event::default();
        for (took_ms, age) in took.into_iter().zip(ages) {
            let unix_secs = 90_000 - age;
            event.samples.push_back(Sample { unix_secs, took_ms });
        }
        let expected =
            "     #   \n   o |   \n _ | |  #\no|_|#|__|\n         \n129865321\nhmsssssss\n";
        assert_eq!(event.graph(90_000), expected);
    }

    #[test]
    fn a_long_graph_continues_below() {
        let mut event = Event::default();
        let sample = Sample {
            unix_secs: 1,
            took_ms: 7,
        };
        event.samples.extend([sample; COLUMNS + 1]);
        let graph = event.graph(90_002);
        let lines: Vec<&str> = graph.lines().collect();
        let rows = [" ", " ", " ", "_", " ", "1", "d"];
        let first = rows.map(|row| row.repeat(COLUMNS));
        assert_eq!(
            lines,
            [&first.each_ref().map(|row| &**row)[..], &[""], &rows].concat()
        );
    }
}
