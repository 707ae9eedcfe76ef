//! Counters of responses, and their OpenMetrics text.
//!
//! Each core counts in its own [`CoreMetrics`], on its own cache lines. A scrape adds up the
//! counters of all cores.

mod duration;
mod totals;

use std::sync::atomic::{AtomicU64, Ordering};

use http1::Method;
use openmetrics::Text;

use duration::{Durations, SourceDurations};

pub use totals::ResponseTotals;

/// Counters of one core's responses and handshakes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CoreMetrics {
    /// Responses by the first digit of their status.
    status: [AtomicU64; 6],
    /// Responses by [`Served`].
    served: [AtomicU64; SERVED.len()],
    /// Total bytes of response bodies passed to the kernel.
    body_bytes: AtomicU64,
    /// Total bytes by which variants of pictures were smaller than their originals.
    saved_bytes: AtomicU64,
    durations: Durations,
    hit_durations: SourceDurations,
    miss_durations: SourceDurations,
    /// Responses by [`Protocol`].
    protocols: [AtomicU64; 2],
    /// TLS handshakes by [`Handshake`].
    handshakes: [AtomicU64; 3],
}

/// Properties of a response for the metrics, recorded after the response was written.
#[derive(Clone, Copy, Debug)]
pub struct ResponseRecord {
    /// Method of the request.
    pub method: Method,
    /// Status of the response.
    pub status: u16,
    /// Source of the body.
    pub served: Served,
    /// Number of body bytes that were sent. In HTTP/2, the number that were queued for writing.
    pub body_bytes: u64,
    /// Bytes by which the whole body is smaller than the original picture.
    pub saved_bytes: u64,
}

/// Protocol of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 and 1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// Result of a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Completed with a full key exchange and a signature.
    Full,
    /// Resumed from an earlier session or ticket.
    Resumed,
    /// Failed: no common version, a timeout, or bytes that are not TLS.
    Failed,
}

/// Source of a response's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A variant that existed before the request.
    Hit,
    /// A variant that was converted for this request.
    Miss,
    /// The untouched original.
    Original,
    /// Neither a file of the library nor a mount: error responses, pages, redirects, metrics and
    /// the like.
    Other,
    /// The response of a mount.
    Mount,
}

impl CoreMetrics {
    /// Counts a TLS handshake.
    pub fn record_handshake(&self, handshake: Handshake) {
        add(&self.handshakes[handshake as usize], 1);
    }

    /// Counts the protocol of a response.
    pub fn record_protocol(&self, protocol: Protocol) {
        add(&self.protocols[protocol as usize], 1);
    }

    /// Counts a response.
    pub fn record(&self, record: &ResponseRecord, duration_us: u64) {
        let class = usize::from(record.status / 100).min(5);
        add(&self.status[class], 1);
        add(&self.served[record.served as usize], 1);
        add(&self.body_bytes, record.body_bytes);
        add(&self.saved_bytes, record.saved_bytes);
        self.durations
            .count(record.method, record.status, duration_us);
        match record.served {
            Served::Hit => self.hit_durations.count(duration_us),
            Served::Miss => self.miss_durations.count(duration_us),
            Served::Original | Served::Other | Served::Mount => {}
        }
    }
}

impl Served {
    /// Returns the name of this source in metrics and in the access log.
    pub(crate) fn name(self) -> &'static str {
        SERVED[self as usize]
    }
}

const SERVED: [&str; 5] = ["hit", "miss", "original", "other", "mount"];

/// Adds to a counter. Only one core writes each counter, so a load and a store suffice, and no
/// locked instruction is needed.
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}

/// Counters of the service.
#[derive(Debug)]
pub struct Metrics {
    cores: Box<[CoreMetrics]>,
}

impl Metrics {
    /// Returns counters for `cores` cores.
    #[must_use]
    pub fn new(cores: usize) -> Metrics {
        Metrics {
            cores: (0..cores).map(|_| CoreMetrics::default()).collect(),
        }
    }

    /// Returns the counters of one core.
    #[must_use]
    pub fn core(&self, core: usize) -> &CoreMetrics {
        &self.cores[core]
    }

    pub(crate) fn render(&self, text: &mut Text) {
        let status = |class: usize| self.sum(|core| &core.status[class]);
        text.family(
            "pelton_http_responses",
            "counter",
            "responses, labelled by class of status",
        );
        for (class, label) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().enumerate() {
            text.sample(
                "pelton_http_responses_total",
                &format!("class=\"{label}\""),
                status(class + 1),
            );
        }
        text.family(
            "pelton_served",
            "counter",
            "responses, labelled by source of their body",
        );
        for (row, label) in SERVED.iter().enumerate() {
            text.sample(
                "pelton_served_total",
                &format!("from=\"{label}\""),
                self.sum(|core| &core.served[row]),
            );
        }
        text.counter(
            "pelton_http_body_bytes",
            "bytes of response bodies that were sent",
            self.sum(|core| &core.body_bytes),
        );
        text.counter(
            "pelton_saved_bytes",
            "bytes saved by sending variants instead of their larger originals",
            self.sum(|core| &core.saved_bytes),
        );
        self.render_protocols(text);
        duration::render(text, self.cores.iter().map(|core| &core.durations));
        let totals = self.totals();
        let sources = [
            (
                "hit",
                totals.hit_buckets,
                self.sum(|core| core.hit_durations.sum_us()),
            ),
            (
                "miss",
                totals.miss_buckets,
                self.sum(|core| core.miss_durations.sum_us()),
            ),
        ];
        duration::render_sources(text, &sources);
    }

    fn render_protocols(&self, text: &mut Text) {
        text.family(
            "pelton_http_version_responses",
            "counter",
            "responses by version of HTTP",
        );
        for (row, version) in ["1.1", "2"].iter().enumerate() {
            text.sample(
                "pelton_http_version_responses_total",
                &format!("version=\"{version}\""),
                self.sum(|core| &core.protocols[row]),
            );
        }
        text.family("pelton_tls_handshakes", "counter", "TLS handshakes");
        for (row, how) in ["full", "resumed", "failed"].iter().enumerate() {
            text.sample(
                "pelton_tls_handshakes_total",
                &format!("how=\"{how}\""),
                self.sum(|core| &core.handshakes[row]),
            );
        }
    }

    fn sum(&self, pick: impl Fn(&CoreMetrics) -> &AtomicU64) -> u64 {
        self.cores
            .iter()
            .map(|core| pick(core).load(Ordering::Relaxed))
            .sum()
    }
}

/// Writes the start time of the process, under the name that Prometheus's client libraries use. The
/// value changes at each restart, including restarts after a panic.
pub(crate) fn render_process(text: &mut Text, started_unix_ms: u64) {
    text.family(
        "process_start_time_seconds",
        "gauge",
        "start of the process, in seconds since 1970",
    );
    let seconds = started_unix_ms as f64 / 1000.0;
    text.sample("process_start_time_seconds", "", seconds);
}

/// Writes the metrics of the access log: lines that were accepted, and lines that were dropped.
pub(crate) fn render_access(text: &mut Text, (logged, dropped): (u64, u64)) {
    text.counter(
        "pelton_access_log_lines",
        "lines accepted by the access log",
        logged,
    );
    text.counter(
        "pelton_access_log_dropped",
        "lines dropped because the access log's buffer was full",
        dropped,
    );
}
