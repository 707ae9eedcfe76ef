//! Access log in UTF-8: one line per response, each a JSON object.
//!
//! ```text
//! core 0 ─► lines ─┐ swapped with an empty buffer, ten nanoseconds under a lock
//! core 1 ─► lines ─┴─► thread `access` ─► file or stderr
//! ```
//!
//! Each core writes into its own buffer and never waits: if the lock is held or the buffer is full,
//! the core drops the line and counts it. The writer thread polls the buffers every [`PAUSE`]. A
//! core wakes the writer thread only when its buffer becomes half full, so most lines cost the core
//! no system call. The file is opened for appending. It is reopened on request, after another
//! program has moved it.

mod line;
#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

pub(crate) use line::{LogRequest, LogResponse};

/// Maximum time between two polls of the buffers by the writer thread.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum bytes per write. During a shutdown, each completed write shows that the log makes
/// progress; see [`STALL_TIME_MAX`].
const WRITE_BYTES_MAX: usize = 64 << 10;
/// Maximum time that a shutdown waits for a log without progress. The log makes no progress while
/// the file, or the reader of standard error, accepts no lines.
const STALL_TIME_MAX: Duration = Duration::from_secs(1);
/// Number of times that a core tries to lock the buffer of log lines before it drops its line. Few
/// tries suffice, since the writer thread holds the lock only to swap the buffer for an empty one.
const LOCK_TRIES_MAX: usize = 64;

/// Destination of the log lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// No lines are written.
    #[default]
    Off,
    /// Standard error, between the lines of the general log.
    Stderr,
    /// File to which lines are appended.
    File(PathBuf),
}

/// Limits of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of waiting lines per core. Lines beyond this limit are dropped and counted.
    /// Default 1 MiB.
    pub buffer_bytes: usize,
    /// Maximum bytes of each client-supplied string, such as the User-Agent. Default 512.
    pub field_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            buffer_bytes: 1 << 20,
            field_bytes_max: 512,
        }
    }
}

/// Access log that all cores share.
#[derive(Debug)]
pub struct AccessLog {
    shared: Arc<Shared>,
    thread: Thread,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    cores: Box<[Lines]>,
    limits: Limits,
    /// Total bytes of log lines written to the file or to standard error.
    written: AtomicU64,
    reopen: AtomicBool,
    ends: AtomicBool,
}

/// Buffer and counters of one core, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Lines {
    /// Waiting lines; never grows beyond `buffer_bytes`.
    waiting: Mutex<Vec<u8>>,
    logged: AtomicU64,
    dropped: AtomicU64,
}

impl AccessLog {
    /// Starts the log for `cores` cores. Returns `None` if the log is off.
    ///
    /// # Errors
    /// The file cannot be opened, or the thread cannot be started.
    pub(crate) fn start(
        sink: &Sink,
        cores: usize,
        limits: Limits,
    ) -> io::Result<Option<AccessLog>> {
        let Some(out) = open(sink)? else {
            return Ok(None);
        };
        let lines = || Lines {
            waiting: Mutex::new(Vec::with_capacity(limits.buffer_bytes)),
            logged: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        };
        let shared = Arc::new(Shared {
            cores: (0..cores).map(|_| lines()).collect(),
            limits,
            written: AtomicU64::new(0),
            reopen: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        });
        let (sink, seen) = (sink.clone(), Arc::clone(&shared));
        let writer = thread::Builder::new()
            .name("access".to_owned())
            .spawn(move || seen.write(out, &sink))?;
        Ok(Some(AccessLog {
            shared,
            thread: writer.thread().clone(),
            writer: Mutex::new(Some(writer)),
        }))
    }

    /// Returns the maximum size of a client-supplied string, in bytes.
    pub(crate) fn field_bytes_max(&self) -> usize {
        self.shared.limits.field_bytes_max
    }

    /// Appends a line to the buffer of `core`. `request` is the output of [`LogRequest::write`],
    /// and `log_response` describes the response.
    pub(crate) fn add(&self, core: usize, request: &[u8], log_response: &LogResponse) {
        let lines = &self.shared.cores[core];
        let room = self.shared.limits.buffer_bytes;
        let Some(half_full) = lines.try_with(|waiting| {
            if room < waiting.len() + request.len() + LogResponse::BYTES_MAX {
                return None;
            }
            let before = waiting.len();
            log_response.write(request, waiting);
            Some(before < room / 2 && room / 2 <= waiting.len())
        }) else {
            count(&lines.dropped);
            return;
        };
        count(&lines.logged);
        if half_full {
            self.thread.unpark();
        }
    }

    /// Makes the writer thread reopen the file.
    pub fn reopen(&self) {
        self.shared.reopen.store(true, Relaxed);
        self.thread.unpark();
    }

    /// Stops the log after writing the waiting lines. Gives up if the file, or the reader of
    /// standard error, accepts nothing for a second ([`STALL_TIME_MAX`]). Lines that are added
    /// later are lost.
    pub fn finish(&self) {
        self.shared.ends.store(true, Relaxed);
        self.thread.unpark();
        let writer = self.writer.lock().take();
        let Some(writer) = writer else {
            return;
        };
        let written = || self.shared.written.load(Relaxed);
        let (mut seen, mut since) = (written(), Instant::now());
        while !writer.is_finished() {
            if STALL_TIME_MAX < since.elapsed() {
                tracing::error!("writes to the access log do not finish; pending lines are lost");
                return;
            }
            thread::sleep(Duration::from_millis(1));
            if written() != seen {
                (seen, since) = (written(), Instant::now());
            }
        }
    }

    /// Returns the numbers of accepted and of dropped lines, each summed over all cores.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let sum = |pick: fn(&Lines) -> &AtomicU64| {
            let counts = self
                .shared
                .cores
                .iter()
                .map(|core| pick(core).load(Relaxed));
            counts.sum()
        };
        (sum(|core| &core.logged), sum(|core| &core.dropped))
    }
}

/// Increments a counter. Only one core writes each counter, so a load and a store suffice.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Lines {
    /// Runs `work` on the waiting lines. Returns `None` if `work` does, or if the lock cannot be
    /// taken in [`LOCK_TRIES_MAX`] attempts.
    fn try_with<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> Option<T>) -> Option<T> {
        for _ in 0..LOCK_TRIES_MAX {
            match self.waiting.try_lock() {
                Some(mut waiting) => return work(&mut waiting),
                None => std::hint::spin_loop(),
            }
        }
        None
    }
}

impl Shared {
    /// Writes `bytes` to `out` in pieces. Counts the bytes of each piece after writing the piece.
    fn write_out(&self, out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(WRITE_BYTES_MAX) {
            out.write_all(piece)?;
            self.written.fetch_add(piece.len() as u64, Relaxed);
        }
        out.flush()
    }

    /// Runs the writer thread: writes the lines of all cores until the log stops.
    fn write(&self, mut out: Box<dyn Write + Send>, sink: &Sink) {
        let mut taken = Vec::with_capacity(self.limits.buffer_bytes);
        loop {
            // The flag is read before the lines are taken, so that all lines added before the stop
            // are written.
            let ends = self.ends.load(Relaxed);
            for core in &self.cores {
                let mut waiting = core.waiting.lock();
                std::mem::swap(&mut *waiting, &mut taken);
                drop(waiting);
                if let Err(err) = self.write_out(&mut *out, &taken) {
                    let bytes = taken.len();
                    tracing::error!(%err, bytes, "access log cannot be written; lines are lost");
                }
                taken.clear();
            }
            if ends {
                return;
            }
            if self.reopen.swap(false, Relaxed) {
                match open(sink) {
                    Ok(Some(opened)) => out = opened,
                    Ok(None) => {}
                    Err(err) => {
                        tracing::error!(%err, "access log cannot be reopened; lines are still written to the old file")
                    }
                }
            }
            thread::park_timeout(PAUSE);
        }
    }
}

fn open(sink: &Sink) -> io::Result<Option<Box<dyn Write + Send>>> {
    Ok(match sink {
        Sink::Off => None,
        Sink::Stderr => Some(Box::new(io::stderr())),
        Sink::File(path) => {
            let file: File = OpenOptions::new().append(true).create(true).open(path)?;
            Some(Box::new(file))
        }
    })
}
