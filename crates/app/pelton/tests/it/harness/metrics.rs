//! Strict parser of `/-/metrics`, which follows OpenMetrics 1.0.

use std::collections::{BTreeMap, BTreeSet};

/// Samples by name, labels included: `pelton_served_total{from="hit"}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metrics(pub(crate) BTreeMap<String, f64>);

/// Metric family, as described by the lines before its samples.
#[derive(Debug)]
struct Family {
    name: String,
    kind: String,
    has_help: bool,
}

impl Metrics {
    /// Parses the response of `/-/metrics`.
    ///
    /// # Panics
    /// The text breaks a rule of the format.
    pub(crate) fn parse(text: &str) -> Metrics {
        let body = text.strip_suffix("# EOF\n").expect("the end is marked");
        let mut samples = BTreeMap::new();
        let mut families = BTreeSet::new();
        let mut family: Option<Family> = None;
        for line in body.lines() {
            if let Some(described) = line.strip_prefix("# TYPE ") {
                let (name, kind) = described.split_once(' ').expect("a type");
                assert!(is_name(name), "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(
                    families.insert(name.to_owned()),
                    "twice or not together: {line}"
                );
                family = Some(Family {
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                    has_help: false,
                });
                continue;
            }
            let family = family.as_mut().expect("a type comes first");
            if let Some(described) = line.strip_prefix("# HELP ") {
                let (name, help) = described.split_once(' ').expect("a text");
                assert_eq!(name, family.name, "{line}");
                assert!(!help.contains(['\\', '"']), "nothing to escape: {line}");
                assert!(!family.has_help, "{line}");
                family.has_help = true;
                continue;
            }
            let (series, value) = sample(line, family);
            assert!(samples.insert(series, value).is_none(), "twice: {line}");
        }
        check_histograms(&samples);
        Metrics(samples)
    }

    /// Returns one sample. All samples that the tests read are whole numbers.
    pub(crate) fn get(&self, name: &str) -> u64 {
        let value = self.0.get(name);
        *value.unwrap_or_else(|| panic!("no sample is called {name}")) as u64
    }

    /// Returns the number of successful conversions.
    pub(crate) fn conversions(&self) -> u64 {
        self.get("pelton_conversions_total")
    }

    /// Returns the number of conversions that ran in a cell, successful or not.
    pub(crate) fn jobs(&self) -> u64 {
        let failures = self.sum("pelton_conversion_failures_total");
        self.conversions() + failures
    }

    /// Returns the sum of all samples of a family.
    pub(crate) fn sum(&self, name: &str) -> u64 {
        let begin = format!("{name}{{");
        let samples = self.0.iter().filter(|(name, _)| name.starts_with(&begin));
        samples.map(|(_, value)| *value as u64).sum()
    }
}

/// Splits a line into the sample's name with its labels, and its value.
fn sample(line: &str, family: &Family) -> (String, f64) {
    let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
    let value: f64 = value.parse().expect("a value is a number");
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}').expect("a closing brace")),
        None => (series, ""),
    };
    let suffix = name.strip_prefix(&family.name).expect("of this family");
    let suffixes: &[&str] = match &family.kind[..] {
        "counter" => &["_total"],
        "gauge" => &[""],
        _ => &["_bucket", "_sum", "_count"],
    };
    assert!(suffixes.contains(&suffix), "{line}");
    assert!(family.kind == "gauge" || 0.0 <= value, "{line}");
    let mut names = BTreeSet::new();
    // The server's label values contain no comma, quote or backslash, so splitting at commas is
    // safe.
    for label in labels.split(',').filter(|_| !labels.is_empty()) {
        let (name, quoted) = label.split_once('=').expect("a label has a value");
        assert!(is_name(name) && !name.contains(':'), "{line}");
        assert!(names.insert(name), "{line}");
        let text = quoted
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        let text = text.expect("a value is quoted");
        assert!(!text.contains(['"', '\\', '\n']), "{line}");
    }
    assert_eq!(names.contains("le"), suffix == "_bucket", "{line}");
    (series.to_owned(), value)
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    bytes.next().is_some_and(is_letter)
        && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Checks that the buckets are cumulative, and that the bucket without a bound equals the count.
fn check_histograms(samples: &BTreeMap<String, f64>) {
    let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (series, value) in samples {
        let Some((begin, bound)) = series.rsplit_once("le=\"") else {
            continue;
        };
        let bound = bound.trim_end_matches("\"}").replace("+Inf", "inf");
        let bound: f64 = bound.parse().expect("a bound is a number");
        let begin = begin.replace("_bucket{", "_count{");
        buckets.entry(begin).or_default().push((bound, *value));
    }
    for (begin, mut bounds) in buckets {
        bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(bounds.is_sorted_by_key(|(_, count)| *count), "{begin}");
        let (bound, count) = bounds.last().expect("it has one");
        assert_eq!(*bound, f64::INFINITY, "{begin}");
        let series = format!("{}}}", begin.trim_end_matches(','));
        let series = series.strip_suffix("{}").unwrap_or(&series);
        assert_eq!(samples.get(series), Some(count), "{series}");
    }
}
