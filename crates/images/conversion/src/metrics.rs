//! Counters of picture conversions and audio transcodes, and their output as OpenMetrics text.

use std::sync::atomic::{AtomicU64, Ordering};

use openmetrics::Text;
use sandbox::FailureKind;

/// Counters that all threads and cores increment.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Conversions that succeeded.
    pub conversions: AtomicU64,
    /// CPU time that successful conversions used in their sandboxes, in microseconds.
    pub conversion_cpu_us: AtomicU64,
    /// Variants whose quality was computed.
    pub scores: AtomicU64,
    /// CPU time in cells to compute the quality of variants, in microseconds.
    pub score_cpu_us: AtomicU64,
    failures: [AtomicU64; FAILURES.len()],
    /// Tracks that were transcoded.
    pub transcodes: AtomicU64,
    /// CPU time that transcodes used in their sandboxes, in microseconds.
    pub transcoding_cpu_us: AtomicU64,
    /// Transcodes that were refused because too many were in progress.
    pub transcodes_refused: AtomicU64,
    /// Conversions that were refused because too many were waiting.
    pub refused: AtomicU64,
    /// Conversions that were not tried because their original is in quarantine.
    pub quarantined: AtomicU64,
    /// Conversions that ran out of memory and were retried with the largest memory limit.
    pub retried: AtomicU64,
}

const FAILURES: [(FailureKind, &str); 9] = [
    (FailureKind::Undecodable, "undecodable"),
    (FailureKind::Unsupported, "unsupported"),
    (FailureKind::TooLarge, "too_large"),
    (FailureKind::TimedOut, "timed_out"),
    (FailureKind::Unencodable, "unencodable"),
    (FailureKind::Crashed, "crashed"),
    (FailureKind::ProtocolViolation, "protocol_violation"),
    (FailureKind::Host, "host"),
    (FailureKind::Cancelled, "cancelled"),
];

impl Metrics {
    /// Counts a conversion that failed with the failure `kind`.
    pub fn failed(&self, kind: FailureKind) {
        let row = FAILURES
            .iter()
            .position(|row| row.0 == kind)
            .expect("every kind has a row");
        self.failures[row].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the names and values of the counters of conversions.
    pub fn totals(&self) -> Vec<(&'static str, u64)> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut totals = vec![
            ("conversions", count(&self.conversions)),
            ("conversion_cpu_us", count(&self.conversion_cpu_us)),
            ("refused", count(&self.refused)),
        ];
        let failures = FAILURES.iter().zip(&self.failures);
        totals.extend(failures.map(|((_, name), counter)| (*name, count(counter))));
        totals
    }

    /// Writes the metrics of conversions, quality scores and transcodes; `quarantined` is the
    /// number of originals in quarantine.
    pub fn render(&self, text: &mut Text, quarantined: u64) {
        self.render_conversions(text, quarantined);
        self.render_scores(text);
        self.render_transcodes(text);
    }

    fn render_conversions(&self, text: &mut Text, quarantined: u64) {
        let cpu_s = self.conversion_cpu_us.load(Ordering::Relaxed) as f64 / 1e6;
        let conversions = self.conversions.load(Ordering::Relaxed);
        text.counter(
            "pelton_conversions",
            "conversions that succeeded",
            conversions,
        );
        text.family(
            "pelton_conversion_cpu_seconds",
            "counter",
            "CPU time of successful conversions",
        );
        text.sample("pelton_conversion_cpu_seconds_total", "", cpu_s);
        text.family(
            "pelton_conversion_failures",
            "counter",
            "failed conversions, labelled by the reason",
        );
        for (row, (_, label)) in FAILURES.iter().enumerate() {
            let count = self.failures[row].load(Ordering::Relaxed);
            text.sample(
                "pelton_conversion_failures_total",
                &format!("reason=\"{label}\""),
                count,
            );
        }
        let refused = self.refused.load(Ordering::Relaxed);
        text.counter(
            "pelton_conversions_refused",
            "conversions refused with 503 because too many were waiting",
            refused,
        );
        text.counter(
            "pelton_conversions_quarantined",
            "conversions skipped because their original is in quarantine",
            self.quarantined.load(Ordering::Relaxed),
        );
        text.gauge(
            "pelton_quarantined_originals",
            "originals in quarantine, which are sent unconverted",
            quarantined,
        );
        text.counter(
            "pelton_conversions_retried",
            "conversions that ran out of memory and were retried with the largest limit",
            self.retried.load(Ordering::Relaxed),
        );
    }

    fn render_scores(&self, text: &mut Text) {
        text.counter(
            "pelton_scores",
            "variants whose quality score was computed",
            self.scores.load(Ordering::Relaxed),
        );
        text.family(
            "pelton_score_cpu_seconds",
            "counter",
            "CPU time to compute the quality scores of variants",
        );
        let cpu_s = self.score_cpu_us.load(Ordering::Relaxed) as f64 / 1e6;
        text.sample("pelton_score_cpu_seconds_total", "", cpu_s);
    }

    fn render_transcodes(&self, text: &mut Text) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        text.counter(
            "pelton_transcodes",
            "tracks transcoded",
            count(&self.transcodes),
        );
        text.family(
            "pelton_transcoding_cpu_seconds",
            "counter",
            "CPU time of successful transcodes",
        );
        let cpu_s = count(&self.transcoding_cpu_us) as f64 / 1e6;
        text.sample("pelton_transcoding_cpu_seconds_total", "", cpu_s);
        text.counter(
            "pelton_transcodes_refused",
            "transcodes refused with 429 because too many were in progress",
            count(&self.transcodes_refused),
        );
    }
}
