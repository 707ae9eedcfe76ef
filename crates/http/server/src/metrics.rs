//! Counters, and the OpenMetrics text they are read as.
//!
//! Each core counts in a [`CoreMetrics`] of its own, on its own cache lines; sums are made when somebody asks.

mod duration;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use http1::Method;
use sandbox::FailureKind;

use crate::flight::FlightStats;
use crate::ledger::LedgerStats;
use crate::transcode::TranscodeStats;
use crate::variants::VariantStats;
use duration::Durations;

/// What one core counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CoreMetrics {
    /// Answers by the first digit of their status.
    status: [AtomicU64; 6],
    /// Answers by [`Served`].
    served: [AtomicU64; SERVED.len()],
    /// Bytes of bodies handed to the kernel.
    body_bytes: AtomicU64,
    durations: Durations,
    /// Answers by [`Protocol`].
    protocols: [AtomicU64; 2],
    /// By [`Handshake`].
    handshakes: [AtomicU64; 3],
}

/// An answer, as it is counted once it is written.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// What was asked for.
    pub method: Method,
    /// What was answered.
    pub status: u16,
    /// What it took.
    pub served: Served,
    /// Bytes of its body.
    pub body_bytes: u64,
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
    /// What a mount said.
    Mount,
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
    pub fn answered(&self, answered: &Answered, duration_us: u64) {
        let class = usize::from(answered.status / 100).min(5);
        add(&self.status[class], 1);
        add(&self.served[answered.served as usize], 1);
        add(&self.body_bytes, answered.body_bytes);
        self.durations
            .count(answered.method, answered.status, duration_us);
    }
}

impl Served {
    /// Its name in metrics and in the access log.
    pub(crate) fn name(self) -> &'static str {
        SERVED[self as usize]
    }
}

const SERVED: [&str; 5] = ["hit", "miss", "original", "other", "mount"];

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
    /// Tracks that were transcoded.
    pub transcodings: AtomicU64,
    /// CPU time of these, in the cells.
    pub transcoding_cpu_us: AtomicU64,
    /// Transcodings refused because enough were under way.
    pub transcodings_refused: AtomicU64,
    /// Conversions refused because too much was waiting.
    pub refused: AtomicU64,
    /// Conversions not tried because their original had killed cells.
    pub quarantined: AtomicU64,
    /// Conversions that ran out of memory, and ran again with all that a job may have.
    pub retried: AtomicU64,
}

const FAILURES: [(FailureKind, &str); 9] = [
    (FailureKind::Undecodable, "undecodable"),
    (FailureKind::Unsupported, "unsupported"),
    (FailureKind::TooLarge, "too_large"),
    (FailureKind::TimedOut, "timed_out"),
    (FailureKind::Unencodable, "unencodable"),
    (FailureKind::Crashed, "crashed"),
    (FailureKind::Lied, "lied"),
    (FailureKind::Host, "host"),
    (FailureKind::Cancelled, "cancelled"),
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
            transcodings: AtomicU64::new(0),
            transcoding_cpu_us: AtomicU64::new(0),
            transcodings_refused: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            quarantined: AtomicU64::new(0),
            retried: AtomicU64::new(0),
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

    /// What conversions came to, each with a name.
    pub(crate) fn totals(&self) -> Vec<(&'static str, u64)> {
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
        for (row, label) in SERVED.iter().enumerate() {
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
        duration::render(&mut text, self.cores.iter().map(|core| &core.durations));
        self.render_conversions(&mut text, readings.quarantined);
        self.render_transcodings(&mut text, &readings.transcodings);
        render_variants(&mut text, &readings.variants);
        render_flights(&mut text, &readings.flights);
        render_connections(&mut text, readings.cores);
        render_cores(&mut text, readings.cores);
        render_access(&mut text, readings.access);
        render_cells(&mut text, &readings.cells);
        if let Some(ledger) = &readings.ledger {
            render_ledger(&mut text, ledger);
        }
        text.0.push_str(readings.mounts);
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

    fn render_conversions(&self, text: &mut Text, quarantined: u64) {
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
        text.counter(
            "pelton_conversions_quarantined",
            "not tried because the original had killed cells",
            self.quarantined.load(Ordering::Relaxed),
        );
        text.gauge(
            "pelton_quarantined_originals",
            "originals that killed cells, and are sent as they are",
            quarantined,
        );
        text.counter(
            "pelton_conversions_retried",
            "ran out of memory, and were tried again with all that a job may have",
            self.retried.load(Ordering::Relaxed),
        );
    }

    fn render_transcodings(&self, text: &mut Text, now: &TranscodeStats) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        text.counter(
            "pelton_transcodings",
            "tracks transcoded",
            count(&self.transcodings),
        );
        text.family(
            "pelton_transcoding_cpu_seconds",
            "counter",
            "CPU time of these",
        );
        let cpu_s = count(&self.transcoding_cpu_us) as f64 / 1e6;
        text.sample("pelton_transcoding_cpu_seconds_total", "", cpu_s);
        text.counter(
            "pelton_transcodings_refused",
            "answered 429 because enough were under way",
            count(&self.transcodings_refused),
        );
        text.gauge(
            "pelton_transcodings_waiting",
            "tracks that wait for their turn",
            now.waiting,
        );
        text.gauge(
            "pelton_transcodings_running",
            "tracks that are transcoded now",
            now.running,
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
    /// Tracks waiting and transcoded.
    pub transcodings: TranscodeStats,
    /// Originals in quarantine.
    pub quarantined: u64,
    /// The sandboxes.
    pub cells: sandbox::Stats,
    /// The reactor's cores.
    pub cores: &'a [reactor::Counters],
    /// Lines of the access log: taken on, and dropped.
    pub access: (u64, u64),
    /// What mounts count, as text.
    pub mounts: &'a str,
    /// The record in the store, where there is one.
    pub ledger: Option<LedgerStats>,
}

fn render_ledger(text: &mut Text, ledger: &LedgerStats) {
    text.gauge(
        "pelton_store_reachable",
        "whether the store answers",
        u64::from(ledger.is_reachable),
    );
    text.counter(
        "pelton_store_errors",
        "times the store did not answer, or refused a command",
        ledger.errors,
    );
    text.counter(
        "pelton_store_publications",
        "times that the record of all variants was written to the store",
        ledger.publications,
    );
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
    text.counter(
        "pelton_improvements_cancelled",
        "better variants given up for a request that needed their memory, to be made later",
        flights.cancelled,
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

/// What the cores do, apart from answering.
fn render_cores(text: &mut Text, cores: &[reactor::Counters]) {
    let sum = |pick: &dyn Fn(&reactor::Counters) -> u64| -> u64 { cores.iter().map(pick).sum() };
    text.family(
        "pelton_connections_waiting",
        "gauge",
        "open connections by what they wait for, as of the last half second; none is for an answer of ours",
    );
    for wait in reactor::Wait::ALL {
        let count = sum(&|core| core.waiting(wait));
        let label = format!("wait=\"{}\"", wait.name());
        text.sample("pelton_connections_waiting", &label, count);
    }
    let working = sum(&reactor::Counters::working);
    text.sample("pelton_connections_waiting", "wait=\"none\"", working);
    text.gauge(
        "pelton_queued_bytes",
        "bytes of answers in memory that clients have not taken yet, as of the last half second; over HTTP/2 those of files",
        sum(&reactor::Counters::queued_bytes),
    );
    text.family(
        "pelton_syscalls",
        "counter",
        "system calls of the cores for connections and their files, by what they did",
    );
    let calls = [
        ("accept", sum(&reactor::Counters::accepts)),
        ("read", sum(&reactor::Counters::reads)),
        ("write", sum(&reactor::Counters::writes)),
        ("wait", sum(&reactor::Counters::waits)),
    ];
    for (call, count) in calls {
        text.sample("pelton_syscalls_total", &format!("call=\"{call}\""), count);
    }
    render_balance(text, cores);
    text.counter(
        "pelton_core_allocations",
        "times that the cores asked for memory",
        sum(&reactor::Counters::allocations),
    );
}

/// How connections are spread over the cores.
fn render_balance(text: &mut Text, cores: &[reactor::Counters]) {
    text.family(
        "pelton_core_connections",
        "gauge",
        "open connections of each core",
    );
    for (index, core) in cores.iter().enumerate() {
        let label = format!("core=\"{index}\"");
        text.sample("pelton_core_connections", &label, core.open());
    }
    let accepted = cores.iter().map(reactor::Counters::accepted);
    let (all, largest) = (accepted.clone().sum::<u64>(), accepted.max().unwrap_or(0));
    let imbalance = match all {
        0 => 1.0,
        all => largest as f64 * cores.len() as f64 / all as f64,
    };
    text.family(
        "pelton_core_imbalance_ratio",
        "gauge",
        "connections taken by the core that took most, over the mean of all",
    );
    text.sample("pelton_core_imbalance_ratio", "", imbalance);
    text.counter(
        "pelton_connections_located",
        "connections of which it is known on which processor they arrived: every eighth",
        cores.iter().map(reactor::Counters::located).sum(),
    );
    text.counter(
        "pelton_connections_local",
        "of these, those that arrived where they are served: locality is their share",
        cores.iter().map(reactor::Counters::local).sum(),
    );
    text.family(
        "pelton_core_steering",
        "gauge",
        "cores by how their connections are steered at the moment",
    );
    for steering in &reactor::Steering::ALL[1..] {
        let steered = cores.iter().filter(|core| core.steering() == *steering);
        let label = format!("mode=\"{}\"", steering.name());
        text.sample("pelton_core_steering", &label, steered.count());
    }
}

fn render_access(text: &mut Text, (logged, dropped): (u64, u64)) {
    text.counter("pelton_access_log_lines", "lines of the access log", logged);
    text.counter(
        "pelton_access_log_dropped",
        "lines there was no room for",
        dropped,
    );
}

fn render_cells(text: &mut Text, cells: &sandbox::Stats) {
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
        "pelton_cell_wipe_microseconds",
        "time that microVMs took to be put back, after their answers",
        cells.wipe_us,
    );
    text.counter(
        "pelton_cell_wipe_leaks",
        "canaries that outlived a wipe; anything but 0 is a fault",
        cells.wipe_leaks,
    );
    text.counter(
        "pelton_cell_dirty_bytes",
        "fresh memory that jobs in microVMs had taken",
        cells.dirty_bytes,
    );
    text.counter(
        "pelton_cell_refused_calls",
        "system calls of jobs in microVMs that there is no such call for",
        cells.refused_calls,
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
        ("cancelled", cells.cancelled),
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
