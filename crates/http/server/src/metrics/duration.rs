//! Durations of responses, by method and status.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http1::Method;

use openmetrics::Text;

use super::add;

/// Upper bounds of the buckets, in microseconds. From 5 ms on, they are the bounds that
/// OpenTelemetry defines for `http.server.request.duration`. Smaller bounds are added because the
/// first standard bucket would contain every cache hit.
pub(super) const BOUNDS_US: [u64; 26] = [
    10, 25, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000,
    75_000, 100_000, 250_000, 500_000, 750_000, 1_000_000, 2_500_000, 5_000_000, 7_500_000,
    10_000_000,
];

/// OpenTelemetry's name of each [`Method`]. A request that could not be parsed is counted under the
/// last name.
const METHODS: [&str; 4] = ["GET", "HEAD", "OPTIONS", "_OTHER"];

/// Statuses that are counted separately, frequent ones first. All others are counted under 500, the
/// last status of this list.
const STATUSES: [u16; 21] = [
    200, 206, 304, 404, 204, 303, 308, 400, 405, 408, 412, 413, 414, 416, 421, 422, 431, 501, 503,
    505, 500,
];

/// Durations of one core's responses, by status and method.
#[derive(Debug)]
pub(super) struct Durations([[Histogram; METHODS.len()]; STATUSES.len()]);

/// Number of buckets of a histogram. The last bucket has no upper bound.
pub(super) const BUCKETS: usize = BOUNDS_US.len() + 1;

/// Durations of one core's responses that were cache hits, or of those that were misses.
#[derive(Debug)]
pub(super) struct SourceDurations(Histogram);

impl Default for SourceDurations {
    fn default() -> SourceDurations {
        SourceDurations(Histogram::empty())
    }
}

impl SourceDurations {
    pub(super) fn count(&self, duration_us: u64) {
        self.0.count(duration_us);
    }

    /// Returns the counter of one bucket.
    pub(super) fn bucket(&self, bucket: usize) -> &AtomicU64 {
        &self.0.buckets[bucket]
    }

    /// Returns the counter of the total duration, in microseconds.
    pub(super) fn sum_us(&self) -> &AtomicU64 {
        &self.0.sum_us
    }
}

/// Histogram of durations.
#[derive(Debug)]
struct Histogram {
    /// Number of responses per bucket; the last bucket has no upper bound.
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

impl Histogram {
    fn empty() -> Histogram {
        Histogram {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_us: AtomicU64::new(0),
        }
    }

    fn count(&self, duration_us: u64) {
        let bucket = BOUNDS_US.partition_point(|bound_us| *bound_us < duration_us);
        add(&self.buckets[bucket], 1);
        add(&self.sum_us, duration_us);
    }
}

impl Default for Durations {
    fn default() -> Durations {
        Durations(std::array::from_fn(|_| {
            std::array::from_fn(|_| Histogram::empty())
        }))
    }
}

impl Durations {
    pub(super) fn count(&self, method: Method, status: u16, duration_us: u64) {
        let row = STATUSES.iter().position(|known| *known == status);
        let histogram = &self.0[row.unwrap_or(STATUSES.len() - 1)][method as usize];
        histogram.count(duration_us);
    }

    /// Returns the number of responses with `status`, or 0 if this status is not counted
    /// separately.
    pub(super) fn responses(&self, status: u16) -> u64 {
        let row = STATUSES.iter().position(|known| *known == status);
        let methods = row.map_or(&[][..], |row| &self.0[row]);
        let buckets = methods.iter().flat_map(|histogram| &histogram.buckets);
        buckets.map(|bucket| bucket.load(Relaxed)).sum()
    }
}

/// Writes the histograms, summed over all cores. Omits empty histograms, since the histograms
/// together would take about 2,400 lines per scrape.
pub(super) fn render<'a>(text: &mut Text, cores: impl Iterator<Item = &'a Durations> + Clone) {
    const NAME: &str = "http_server_request_duration_seconds";
    text.family(
        NAME,
        "histogram",
        "time from reading a request's last byte to passing its response to the kernel",
    );
    for (row, status) in STATUSES.iter().enumerate() {
        for (column, method) in METHODS.iter().enumerate() {
            let sum = |pick: &dyn Fn(&Histogram) -> &AtomicU64| -> u64 {
                let picked = cores
                    .clone()
                    .map(|core| pick(&core.0[row][column]).load(Relaxed));
                picked.sum()
            };
            let labels =
                format!("http_request_method=\"{method}\",http_response_status_code=\"{status}\"");
            let counts = (0..=BOUNDS_US.len()).map(|bucket| sum(&|one| &one.buckets[bucket]));
            let counts: Vec<u64> = counts.collect();
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            let total = render_buckets(text, NAME, &labels, &counts);
            let sum_s = sum(&|one| &one.sum_us) as f64 / 1e6;
            text.sample(&format!("{NAME}_sum"), &labels, sum_s);
            text.sample(&format!("{NAME}_count"), &labels, total);
        }
    }
}

/// Writes the durations of responses by source. Each element of `sources` has the name of a source,
/// the counts of its buckets, and its total duration in microseconds.
pub(super) fn render_sources(text: &mut Text, sources: &[(&str, [u64; BUCKETS], u64)]) {
    const NAME: &str = "pelton_served_duration_seconds";
    text.family(
        NAME,
        "histogram",
        "time to respond, labelled by the source of the body",
    );
    for (source, counts, sum_us) in sources {
        let labels = format!("from=\"{source}\"");
        let total = render_buckets(text, NAME, &labels, counts);
        text.sample(&format!("{NAME}_sum"), &labels, *sum_us as f64 / 1e6);
        text.sample(&format!("{NAME}_count"), &labels, total);
    }
}

/// Writes the cumulative buckets of one histogram, and returns the number of responses in all
/// buckets.
fn render_buckets(text: &mut Text, name: &str, labels: &str, counts: &[u64]) -> u64 {
    let mut total = 0;
    for (bucket, count) in counts.iter().enumerate() {
        total += count;
        let bound = match BOUNDS_US.get(bucket) {
            Some(bound_us) => (*bound_us as f64 / 1e6).to_string(),
            None => "+Inf".to_owned(),
        };
        text.sample(
            &format!("{name}_bucket"),
            &format!("{labels},le=\"{bound}\""),
            total,
        );
    }
    total
}
