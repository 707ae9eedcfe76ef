//! `/-/metrics`, read.

use std::collections::BTreeMap;

/// Samples by name, labels included: `pelton_served_total{from="hit"}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metrics(pub(crate) BTreeMap<String, f64>);

impl Metrics {
    pub(crate) fn parse(text: &str) -> Metrics {
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a sample has a value");
            let value = value.parse().expect("a value is a number");
            (name.to_owned(), value)
        });
        Metrics(samples.collect())
    }

    /// One sample; all that are asked for are whole numbers.
    pub(crate) fn get(&self, name: &str) -> u64 {
        let value = self.0.get(name);
        *value.unwrap_or_else(|| panic!("no sample is called {name}")) as u64
    }

    /// Conversions that gave an answer.
    pub(crate) fn conversions(&self) -> u64 {
        self.get("pelton_conversions_total")
    }

    /// Jobs that were given to a cell, whatever came of them.
    pub(crate) fn jobs(&self) -> u64 {
        let failures = self.sum("pelton_conversion_failures_total");
        self.conversions() + failures
    }

    /// All samples of a family.
    pub(crate) fn sum(&self, name: &str) -> u64 {
        let begin = format!("{name}{{");
        let samples = self.0.iter().filter(|(name, _)| name.starts_with(&begin));
        samples.map(|(_, value)| *value as u64).sum()
    }
}
