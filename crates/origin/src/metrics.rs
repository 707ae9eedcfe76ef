//! Counters, and the OpenMetrics text they are read as.
//!
//! Each core counts in a [`CoreMetrics`] of its own, on its own cache lines; sums are made when somebody asks.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use cell::FailureKind;

use crate::flight::FlightStats;
use crate::variants::VariantStats;

/// Upper bounds of the latency buckets, in microseconds. The first ones tell hits apart, the last ones conversions.
const BUCKETS_US: [u64; 18] = [
    10, 20, 35, 50, 75, 100, 200, 500, 1_000, 5_000, 20_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000,
];

/// What one core counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CoreMetrics {
    /// Answers by the first digit of their status.
    status: [AtomicU64; 6],
    /// Answers by [`Served`].
    served: [AtomicU64; 4],
    /// Bytes of bodies handed to the kernel.
    body_bytes: AtomicU64,
    /// Answers by latency; the last bucket has no bound.
    latency: [AtomicU64; BUCKETS_US.len() + 1],
    latency_sum_us: AtomicU64,
    /// Answers by [`Protocol`].
    protocols: [AtomicU64; 2],
    /// By [`Handshake`].
    handshakes: [AtomicU64; 3],
}

/// The protocol an answer was put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 and 1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// How a TLS handshake went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// With a signature.
    Full,
    /// By a session or ticket of an earlier one.
    Resumed,
    /// Not at all: no common ground, too slow, or no TLS.
    Failed,
}

/// What an answer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A variant that was there.
    Hit,
    /// A variant made for this request.
    Miss,
    /// The untouched original.
    Original,
    /// Anything else: errors, documents, metrics.
    Other,
}

impl CoreMetrics {
    /// Counts a TLS handshake.
    pub fn shook_hands(&self, how: Handshake) {
        add(&self.handshakes[how as usize], 1);
    }

    /// Counts which protocol an answer was put into.
    pub fn spoke(&self, protocol: Protocol) {
        add(&self.protocols[protocol as usize], 1);
    }

    /// Counts one answer.
    pub fn answered(&self, status: u16, served: Served, body_bytes: u64, latency_us: u64) {
        let class = usize::from(status / 100).min(5);
        let bucket = BUCKETS_US.partition_point(|bound_us| *bound_us < latency_us);
        add(&self.status[class], 1);
        add(&self.served[served as usize], 1);
        add(&self.body_bytes, body_bytes);
        add(&self.latency[bucket], 1);
        add(&self.latency_sum_us, latency_us);
    }
}

/// Only its own core writes a counter, so a load and a store do; no locked instruction is spent.
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}

/// All counters of the service.
#[derive(Debug)]
pub struct Metrics {
    cores: Box<[CoreMetrics]>,
    /// Conversions that gave an answer.
    pub conversions: AtomicU64,
    /// CPU time of these, in the cells.
    pub conversion_cpu_us: AtomicU64,
    failures: [AtomicU64; FAILURES.len()],
    /// Conversions refused because too much was waiting.
    pub refused: AtomicU64,
}

const FAILURES: [(FailureKind, &str); 7] = [
    (FailureKind::Undecodable, "undecodable"),
    (FailureKind::Unsupported, "unsupported"),
    (FailureKind::TooLarge, "too_large"),
    (FailureKind::TimedOut, "timed_out"),
    (FailureKind::Crashed, "crashed"),
    (FailureKind::Lied, "lied"),
    (FailureKind::Host, "host"),
];

impl Metrics {
    /// Counters for so many cores.
    #[must_use]
    pub fn new(cores: usize) -> Metrics {
        Metrics {
            cores: (0..cores).map(|_| CoreMetrics::default()).collect(),
            conversions: AtomicU64::new(0),
            conversion_cpu_us: AtomicU64::new(0),
            failures: Default::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// The counters of one core.
    #[must_use]
    pub fn core(&self, core: usize) -> &CoreMetrics {
        &self.cores[core]
    }

    /// Counts a conversion that gave no answer.
    pub fn failed(&self, kind: FailureKind) {
        let row = FAILURES
            .iter()
            .position(|row| row.0 == kind)
            .expect("every kind has a row");
        self.failures[row].fetch_add(1, Ordering::Relaxed);
    }

    /// Everything as OpenMetrics 1.0 text.
    #[must_use]
    pub fn render(&self, readings: &Readings<'_>) -> String {
        let mut text = Text(String::with_capacity(4096));
        let status = |class: usize| self.sum(|core| &core.status[class]);
        text.family(
            "pelton_http_responses",
            "counter",
            "answers by class of status",
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
            "answers by where their body came from",
        );
        for (row, label) in ["hit", "miss", "original", "other"].iter().enumerate() {
            text.sample(
                "pelton_served_total",
                &format!("from=\"{label}\""),
                self.sum(|core| &core.served[row]),
            );
        }
        text.counter(
            "pelton_http_body_bytes",
            "bytes of bodies sent",
            self.sum(|core| &core.body_bytes),
        );
        self.render_protocols(&mut text);
        self.render_latency(&mut text);
        self.render_conversions(&mut text);
        render_variants(&mut text, &readings.variants);
        render_flights(&mut text, &readings.flights);
        render_connections(&mut text, readings.cores);
        render_cells(&mut text, &readings.cells);
        text.0.push_str("# EOF\n");
        text.0
    }

    fn render_protocols(&self, text: &mut Text) {
        text.family("pelton_http_answers", "counter", "answers by protocol");
        for (row, version) in ["1.1", "2"].iter().enumerate() {
            text.sample(
                "pelton_http_answers_total",
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

    fn render_latency(&self, text: &mut Text) {
        const NAME: &str = "pelton_http_request_duration_seconds";
        text.family(
            NAME,
            "histogram",
            "from a request's head to its answer handed to the kernel",
        );
        let mut total = 0;
        for (bucket, bound_us) in BUCKETS_US.iter().enumerate() {
            total += self.sum(|core| &core.latency[bucket]);
            let bound_s = *bound_us as f64 / 1e6;
            text.sample(
                &format!("{NAME}_bucket"),
                &format!("le=\"{bound_s}\""),
                total,
            );
        }
        total += self.sum(|core| &core.latency[BUCKETS_US.len()]);
        text.sample(&format!("{NAME}_bucket"), "le=\"+Inf\"", total);
        let sum_s = self.sum(|core| &core.latency_sum_us) as f64 / 1e6;
        text.sample(&format!("{NAME}_sum"), "", sum_s);
        text.sample(&format!("{NAME}_count"), "", total);
    }

    fn render_conversions(&self, text: &mut Text) {
        let cpu_s = self.conversion_cpu_us.load(Ordering::Relaxed) as f64 / 1e6;
        let conversions = self.conversions.load(Ordering::Relaxed);
        text.counter(
            "pelton_conversions",
            "conversions that gave an answer",
            conversions,
        );
        text.family(
            "pelton_conversion_cpu_seconds",
            "counter",
            "CPU time of these",
        );
        text.sample("pelton_conversion_cpu_seconds_total", "", cpu_s);
        text.family(
            "pelton_conversion_failures",
            "counter",
            "conversions that gave none, by reason",
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
            "answered 503 because too much was waiting",
            refused,
        );
    }

    fn sum(&self, pick: impl Fn(&CoreMetrics) -> &AtomicU64) -> u64 {
        self.cores
            .iter()
            .map(|core| pick(core).load(Ordering::Relaxed))
            .sum()
    }
}

/// What other parts of the house count, read at one moment.
#[derive(Debug)]
pub struct Readings<'a> {
    /// The index of variants.
    pub variants: VariantStats,
    /// Conversions waiting and running.
    pub flights: FlightStats,
    /// The sandboxes.
    pub cells: cell::Stats,
    /// The reactor's cores.
    pub cores: &'a [reactor::Counters],
}

fn render_flights(text: &mut Text, flights: &FlightStats) {
    text.gauge(
        "pelton_conversions_waiting",
        "conversions that wait for a thread",
        flights.waiting,
    );
    text.gauge(
        "pelton_conversions_running",
        "conversions that run",
        flights.running,
    );
    text.gauge(
        "pelton_improvements_waiting",
        "better variants still to be made",
        flights.improving,
    );
}

fn render_variants(text: &mut Text, variants: &VariantStats) {
    text.gauge(
        "pelton_variants",
        "variants and verdicts in the index",
        variants.entries,
    );
    text.gauge(
        "pelton_variants_bytes",
        "bytes they are charged with",
        variants.bytes,
    );
    text.counter(
        "pelton_variants_evicted",
        "entries that left for the budget's sake",
        variants.evicted,
    );
    text.counter(
        "pelton_variants_write_errors",
        "variants that could not be written",
        variants.write_errors,
    );
}

fn render_connections(text: &mut Text, cores: &[reactor::Counters]) {
    let sum = |pick: fn(&reactor::Counters) -> u64| cores.iter().map(pick).sum();
    text.gauge(
        "pelton_connections",
        "open connections",
        sum(reactor::Counters::open),
    );
    text.counter(
        "pelton_connections_accepted",
        "connections taken on",
        sum(reactor::Counters::accepted),
    );
    text.counter(
        "pelton_connections_shed",
        "connections there was no room for",
        sum(reactor::Counters::shed),
    );
    text.counter(
        "pelton_connections_shed_by_address",
        "of these, because their address had too many",
        sum(reactor::Counters::shed_by_address),
    );
    text.counter(
        "pelton_connections_evicted",
        "ones without a request, ended to make room",
        sum(reactor::Counters::evicted),
    );
    text.family(
        "pelton_timeouts",
        "counter",
        "connections ended because a wait took too long, by what they waited for",
    );
    for wait in reactor::Wait::ALL {
        let count: u64 = cores.iter().map(|core| core.timed_out(wait)).sum();
        text.sample(
            "pelton_timeouts_total",
            &format!("wait=\"{}\"", wait.name()),
            count,
        );
    }
}

fn render_cells(text: &mut Text, cells: &cell::Stats) {
    text.gauge(
        "pelton_cells_ready",
        "cells that wait for a job",
        cells.ready,
    );
    text.gauge("pelton_cells_running", "cells with a job", cells.running);
    text.counter(
        "pelton_cell_wipes",
        "cells wiped after their job",
        cells.wipes,
    );
    text.counter(
        "pelton_cell_zygote_renewals",
        "zygotes replaced on schedule",
        cells.zygote_renewals,
    );
    text.counter(
        "pelton_cell_zygote_deaths",
        "zygotes that died",
        cells.zygote_deaths,
    );
    text.family(
        "pelton_cell_kills",
        "counter",
        "cells that did not end by themselves, by reason",
    );
    let reasons = [
        ("wall", cells.kills_wall),
        ("cpu", cells.kills_cpu),
        ("memory", cells.kills_memory),
        ("filter", cells.kills_filter),
        ("crash", cells.crashes),
        ("lie", cells.lies),
    ];
    for (reason, count) in reasons {
        text.sample(
            "pelton_cell_kills_total",
            &format!("reason=\"{reason}\""),
            count,
        );
    }
}

/// OpenMetrics lines.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}")
            .expect("strings take everything");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{labels}}}")
        };
        writeln!(self.0, "{name}{labels} {value}").expect("strings take everything");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(&format!("{name}_total"), "", value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }
}
