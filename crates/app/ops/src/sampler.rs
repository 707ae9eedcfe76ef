//! Thread that samples the server's counters, and the state that this thread shares with the
//! dashboard's mount.

use parking_lot::{Mutex, MutexGuard};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use config::Config;
use report::{Error, log};
use scan::LibraryIndexer;
use server::Live;
use server::tls::Tls;
use wall_clock::unix_ms;

use crate::history::History;
use crate::host::Process;
use crate::idle_prefetch::IdlePrefetch;
use crate::prefetch::Prefetch;
use crate::reading::Reading;
use crate::saved::Saved;

/// Interval of the samples.
const SECOND: Duration = Duration::from_secs(1);
/// Seconds between two writes of the file that contains the number of saved bytes.
const WRITE_SECONDS: u64 = 60;
/// Maximum number of rows that one sample adds to the history. A late sample adds one row per
/// missed second, for example after the machine was asleep.
const MISSED_MAX: u32 = 3_600;

/// Operator's dashboard: samples the counters, and provides the mount that serves them as JSON.
#[derive(Debug)]
pub struct Ops {
    pub(crate) facts: Facts,
    running: OnceLock<Running>,
    pub(crate) prefetch: Prefetch,
    pub(crate) idle_prefetch: Arc<IdlePrefetch>,
    stopping: AtomicBool,
}

/// Facts that do not change while the process runs.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) data: PathBuf,
    pub(crate) connections_max: u64,
    pub(crate) started_unix_ms: u64,
    pub(crate) started: Instant,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
}

/// Components of the server whose state the dashboard shows.
#[derive(Debug)]
pub struct Sources {
    /// Running server, whose counters are sampled.
    pub(crate) live: Arc<Live>,
    /// Indexer of the library.
    pub(crate) indexer: Arc<LibraryIndexer>,
    /// Certificates, if HTTPS is enabled.
    pub(crate) tls: Option<Arc<Tls>>,
}

/// State that exists once the server runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) sources: Sources,
    history: Mutex<History>,
    saved: Mutex<Saved>,
    /// Durations of the last sample and of the longest sample, in microseconds.
    last_us: AtomicU64,
    longest_us: AtomicU64,
}

/// Time that samples take, in microseconds: the time of the last sample, and the longest time so
/// far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleCost {
    pub(crate) last_us: u64,
    pub(crate) longest_us: u64,
}

impl Ops {
    /// Creates the dashboard. Its mount responds with 503 until [`Ops::start`] is called.
    #[must_use]
    pub fn new(config: &Config) -> Arc<Ops> {
        Arc::new(Ops {
            facts: Facts {
                data: config.data.clone(),
                connections_max: config.limits.connections_max.get().into(),
                started_unix_ms: unix_ms(),
                started: Instant::now(),
                memory_bytes: crate::host::memory_bytes(),
                kernel: crate::host::kernel(),
            },
            running: OnceLock::new(),
            prefetch: Prefetch::default(),
            idle_prefetch: Arc::new(IdlePrefetch::new(config)),
            stopping: AtomicBool::new(false),
        })
    }

    /// Starts the threads that sample the counters and that prefetch in idle time. They run until
    /// [`Ops::stop`].
    ///
    /// # Errors
    /// If the host refuses to create a thread.
    ///
    /// # Panics
    /// If called twice.
    pub fn start(self: &Arc<Ops>, sources: Sources) -> Result<(), Error> {
        self.idle_prefetch.start(&sources.live, &sources.indexer)?;
        let first = sources.read();
        let running = Running {
            saved: Mutex::new(Saved::open(&self.facts.data, self.facts.started_unix_ms)),
            sources,
            history: Mutex::new(History::new(first)),
            last_us: AtomicU64::new(0),
            longest_us: AtomicU64::new(0),
        };
        assert!(self.running.set(running).is_ok(), "started twice");
        let ops = Arc::clone(self);
        let thread = thread::Builder::new().name("ops".to_owned());
        let started = thread.spawn(move || ops.sample());
        started.map(drop).map_err(|err| {
            Error::host(format!(
                "cannot start the thread that samples the counters: {err}"
            ))
        })
    }

    /// Lets the thread that samples the counters and the thread of the prefetch in idle time end,
    /// cancels an operator's prefetch, if one runs, and writes the number of saved bytes (bytes
    /// that did not have to be sent because variants are smaller) to its file. Blocks.
    pub fn stop(&self) {
        self.stopping.store(true, Relaxed);
        self.prefetch.cancel();
        self.idle_prefetch.stop();
        if let Some(running) = self.running() {
            running.write_saved();
        }
    }

    pub(crate) fn running(&self) -> Option<&Running> {
        self.running.get()
    }

    fn sample(&self) {
        let running = self.running().expect("`start` has set it");
        let mut due = Instant::now() + SECOND;
        while !self.stopping.load(Relaxed) {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let begun = Instant::now();
            let now = running.sources.read();
            let mut history = running.history();
            // Adds a row for each missed second, too, because the time of a row follows from its
            // position.
            for _ in 0..MISSED_MAX {
                history.add(&now);
                due += SECOND;
                if begun < due {
                    break;
                }
            }
            due = due.max(begun);
            let sequence = history.sequence();
            drop(history);
            let took_us = begun.elapsed().as_micros() as u64;
            running.last_us.store(took_us, Relaxed);
            running.longest_us.fetch_max(took_us, Relaxed);
            if sequence.is_multiple_of(WRITE_SECONDS) {
                running.write_saved();
            }
        }
    }
}

impl Sources {
    /// Creates the sources from shared components of the server.
    #[must_use]
    pub fn new(live: &Arc<Live>, indexer: &Arc<LibraryIndexer>, tls: Option<&Arc<Tls>>) -> Sources {
        Sources {
            live: Arc::clone(live),
            indexer: Arc::clone(indexer),
            tls: tls.map(Arc::clone),
        }
    }

    /// Reads all counters.
    fn read(&self) -> Reading {
        let service = self.live.current();
        let conversions = service.conversions();
        let failures = conversions.totals();
        let is_failure = |name: &str| {
            !matches!(
                name,
                "conversions" | "conversion_cpu_us" | "refused" | "cancelled"
            )
        };
        let failures = failures.iter().filter(|(name, _)| is_failure(name));
        Reading {
            figures: service.figures(),
            conversions: conversions.conversions.load(Relaxed),
            conversion_failures: failures.map(|(_, count)| count).sum(),
            conversions_refused: conversions.refused.load(Relaxed),
            conversion_cpu_ms: conversions.conversion_cpu_us.load(Relaxed) / 1_000,
            transcodes: conversions.transcodes.load(Relaxed),
            problems: log::problems(),
            process: Process::read(),
        }
    }
}

impl Running {
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock()
    }

    pub(crate) fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock()
    }

    pub(crate) fn cost(&self) -> SampleCost {
        SampleCost {
            last_us: self.last_us.load(Relaxed),
            longest_us: self.longest_us.load(Relaxed),
        }
    }

    fn write_saved(&self) {
        let figures = self.sources.live.current().figures();
        let bytes = figures.responses.saved_bytes;
        self.saved().write(bytes, unix_ms());
    }
}
