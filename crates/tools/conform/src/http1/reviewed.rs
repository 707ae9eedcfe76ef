//! List of the reviewed differences. A reviewed difference is one between our HTTP parser and an
//! oracle (another parser) that a review found to be harmless.

use super::reading::Difference;

const LIST: &str = include_str!("reviewed.txt");

/// Line of the list of reviewed differences. The first line of the file explains the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    oracle: &'static str,
    verdict: &'static str,
    bytes: &'static str,
}

/// Parses the list of reviewed differences.
pub(crate) fn list() -> Vec<Line> {
    let lines = LIST
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(" | ").collect();
            let &[oracle, verdict, bytes, _reason] = words.as_slice() else {
                panic!("a line of reviewed.txt needs four parts: {line}");
            };
            Line {
                oracle,
                verdict,
                bytes,
            }
        })
        .collect()
}

impl Line {
    pub(crate) fn covers(&self, oracle: &str, difference: &Difference, case: &str) -> bool {
        let verdict = match difference {
            Difference::RefusedThere(why) => why.as_str(),
            Difference::Framed(what) => what,
        };
        let (kind, bytes) = verdict.split_once(": ").unwrap_or((verdict, case));
        self.oracle == oracle && self.verdict == kind && bytes.contains(self.bytes)
    }
}
