//! Comparison of our HTTP parser with the oracles (other HTTP parsers), case by case.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::cases::{self, Mutations};
use super::oracle::h11::H11;
use super::oracle::hyper;
use super::ours;
use super::reading::{Difference, End, Reading};
use super::reviewed::{self, Line};

/// Maximum number of findings printed per kind; further findings are only counted.
const SHOWN_MAX: u64 = 3;

/// Compares our parser with the oracles on every case, prints the findings, and returns their
/// number.
///
/// # Errors
/// If h11 does not run.
pub(crate) fn run(python: &Path, mutations: u64, seed: u64) -> io::Result<u64> {
    let table = cases::table();
    let mut mutated = Mutations::new(&table, seed);
    let mut h11 = H11::start(python)?;
    let mut comparison = Comparison::new();
    for case in &table {
        comparison.compare(case, &mut h11)?;
    }
    comparison.find_idle_lines();
    for _ in 0..mutations {
        comparison.compare(&mutated.next(), &mut h11)?;
    }
    h11.stop()?;
    let cases = table.len() as u64 + mutations;
    Ok(comparison.finish(cases))
}

struct Comparison {
    reviewed: Vec<Line>,
    /// Number of differences that each line of the list of reviewed differences covers.
    covered: Vec<u64>,
    /// Number of findings per kind. A kind names the oracle (other HTTP parser) and the difference
    /// between its verdict and ours.
    findings: BTreeMap<String, u64>,
    /// Number of cases in which we accept at least one complete request. Only these cases can yield
    /// findings.
    accepted: u64,
    /// Number of cases that we refuse and an oracle accepts.
    stricter: u64,
}

impl Comparison {
    fn new() -> Comparison {
        let reviewed = reviewed::list();
        Comparison {
            covered: vec![0; reviewed.len()],
            reviewed,
            findings: BTreeMap::new(),
            accepted: 0,
            stricter: 0,
        }
    }

    fn compare(&mut self, case: &[u8], h11: &mut H11) -> io::Result<()> {
        let ours = ours::read(case);
        self.accepted += u64::from(ours.accepts());
        let readings = [("hyper", hyper::read(case)), ("h11", h11.read(case)?)];
        let mut is_stricter = false;
        for (oracle, theirs) in &readings {
            is_stricter |= theirs.difference(&ours).is_some_and(|difference| {
                matches!(difference, Difference::RefusedThere(_)) && theirs.end != End::Closes
            });
            if let Some(difference) = ours.difference(theirs) {
                self.judge(oracle, &difference, case, [&ours, theirs]);
            }
        }
        self.stricter += u64::from(is_stricter);
        Ok(())
    }

    fn judge(
        &mut self,
        oracle: &str,
        difference: &Difference,
        case: &[u8],
        [ours, theirs]: [&Reading; 2],
    ) {
        let shown = case.escape_ascii().to_string();
        let mut lines = self.reviewed.iter();
        if let Some(at) = lines.position(|line| line.covers(oracle, difference, &shown)) {
            self.covered[at] += 1;
            return;
        }
        let count = self.findings.entry(kind(oracle, difference)).or_default();
        *count += 1;
        if *count <= SHOWN_MAX {
            println!("{oracle}: {difference:?}\n  {shown}\n  ours   {ours:?}\n  theirs {theirs:?}");
        }
    }

    /// Adds a finding for each reviewed difference that did not occur in any row of the tables. In
    /// mutated rows, an entry without an example could hide differences that were never reviewed.
    fn find_idle_lines(&mut self) {
        for (line, covered) in self.reviewed.iter().zip(&self.covered) {
            if *covered == 0 {
                self.findings.insert(
                    format!("no case matches this line of reviewed.txt; delete the line: {line:?}"),
                    1,
                );
            }
        }
    }

    /// Prints the totals, and returns the number of findings.
    fn finish(self, cases: u64) -> u64 {
        for (line, covered) in self.reviewed.iter().zip(&self.covered) {
            println!("{covered:>8} reviewed: {line:?}");
        }
        for (what, count) in &self.findings {
            println!("{count:>8} FOUND: {what}");
        }
        let findings = self.findings.values().sum();
        println!(
            "{cases} cases, {} accepted by Pelton, {} refused by Pelton but accepted by another parser, {findings} findings",
            self.accepted, self.stricter
        );
        findings
    }
}

/// Returns the kind of a difference: the oracle's name and the reason. Text after a colon in the
/// reason, such as quoted bytes of the case, is left out.
fn kind(oracle: &str, difference: &Difference) -> String {
    match difference {
        Difference::Framed(what) => format!("{oracle}: {what}"),
        Difference::RefusedThere(why) => {
            let reason = why.split(": ").next().unwrap_or(why);
            format!("{oracle} refuses: {reason}")
        }
    }
}
