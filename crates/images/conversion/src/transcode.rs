//! Queue of audio transcodes and the threads that run them. Requests for the same key share one
//! transcode ([`crate::single_flight`]). Only a few transcodes run at a time. Further tracks wait
//! in a bounded queue for a bounded time, and the users get equal shares of the threads.
//!
//! ```text
//! request ─ join ─► flight for its key ─► waiting ─► transcode-N ─► cell ─► check ─► variant
//!    ▲                                                                                 │
//!    └──────────────────────── outcome, to every waiter ◄──────────────────────────────┘
//! ```
//!
//! Transcodes have their own threads and sandboxes. A transcode takes seconds, and conversions of
//! pictures must not wait for it; so the default is half as many threads as cores. The results are
//! variants, which share the cache with those of pictures.
//!
//! Threads: `concurrency` threads run the jobs. The lock of the queue protects the list of waiting
//! tracks and the map of flights. It is never held during a job.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use audio_plan::{Checker, Plan};
use sandbox::{Failure, FailureKind};
use wall_clock::unix_ms;

use openmetrics::Text;
use variants::cache::{Key, Kind, Variant, Verdict};
use variants::library::{Identity, LibraryPath, Missing};
use variants::sealed::Sealed;

use crate::convert::Converter;
use crate::flight::Flights;
use crate::growing::Growing;
use crate::single_flight::{Leader, SingleFlight, TooManyWaiters, Waiter};

/// Factor by which the CPU estimate of a plan is multiplied to get the maximum CPU time of its job.
/// [`CPU_FLOOR_MS`] is added to the product.
const CPU_FACTOR: u64 = 6;
/// Constant part of the maximum CPU time of a job, in milliseconds.
const CPU_FLOOR_MS: u64 = 5_000;
/// Maximum wall time of a job, as a multiple of its maximum CPU time.
const WALL_FACTOR: u32 = 8;
/// Maximum number of bytes of a track that are read and checked at once.
const CHECK_BYTES: usize = 256 << 10;

/// Limits of the transcoding queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent transcodes; 0 disables transcoding.
    pub concurrency: usize,
    /// Maximum number of waiting tracks. If a track arrives when this number is reached, it is
    /// refused, or it replaces the last waiting track of the user with the most waiting tracks. The
    /// requests for the track that is refused or replaced get the status 429.
    pub waiting_max: usize,
    /// Maximum time that a track waits for a thread, in milliseconds. After this time, the requests
    /// for the track get the status 429.
    pub waiting_ms_max: u64,
    /// Maximum number of requests that wait for the same track.
    pub waiters_max: usize,
    /// Maximum memory of one job, in bytes, in addition to the memory that the worker itself
    /// occupies.
    pub memory_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            concurrency: 1,
            waiting_max: 256,
            waiting_ms_max: 60_000,
            waiters_max: 1_024,
            memory_bytes_max: 256 << 20,
        }
    }
}

/// Task to transcode one track as a plan describes.
#[derive(Clone, Debug)]
pub struct Task {
    /// Cache key of the result.
    pub key: Key,
    /// Steps that the worker performs.
    pub plan: Plan,
    /// Path of the original in the library.
    pub path: LibraryPath,
    /// Version of the original for which `key` was computed.
    pub identity: Identity,
    /// User whose request started the transcode.
    pub user: Arc<str>,
}

/// Result of a task. Each request that waits for the task gets a clone.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An entry of the index: a variant, or a verdict (the reason why the variant is missing).
    Cached(Arc<Variant>),
    /// A transcoded track that could not be written to the disk, or is too large for the cache.
    Uncached(Arc<Sealed>),
    /// The original has changed or does not exist any more. The caller must look it up again.
    Changed,
    /// The host refused memory, processes or file descriptors. A later attempt may succeed.
    Refused,
}

/// Refusal of a request because too many tracks are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Estimated time until the queue has room, in seconds.
    pub retry_after_s: u64,
}

/// Queue of transcodes and the threads that run them. When the queue is dropped, running jobs
/// finish and the threads end.
#[derive(Debug)]
pub struct Transcoder {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    limits: Limits,
    /// Queue of picture conversions. Its converter owns the library, the pool of sandboxes and the
    /// cache, which transcodes use too.
    flights: Arc<Flights>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// All tracks that are queued or being transcoded.
    tracks: SingleFlight<Key, Outcome, Production>,
    /// Tracks that no thread has started, in the order in which threads will start them.
    waiting: VecDeque<QueuedTrack>,
    /// Estimated CPU time of all tracks in `tracks`, in milliseconds.
    cpu_ms: u64,
    stopping: bool,
}

/// Track that can be read while it is transcoded. Not set until the job has started.
type Production = OnceLock<Arc<Growing>>;

/// Track that waits for a thread.
#[derive(Debug)]
struct QueuedTrack {
    task: Task,
    leader: Leader<Key, Outcome, Production>,
}

/// Handle of one request that waits for a track. With the handle, the request can read the track
/// while it is still transcoded. Dropping the handle does not stop the transcode.
pub type TrackWaiter = Waiter<Outcome, Production>;

/// State of the transcoding queue, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranscodeStats {
    /// Number of tracks that wait for a thread.
    pub waiting: u64,
    /// Number of tracks that are being transcoded.
    pub running: u64,
}

impl TranscodeStats {
    /// Writes the metrics of the transcoding queue.
    pub fn render(&self, text: &mut Text) {
        text.gauge(
            "pelton_transcodes_waiting",
            "tracks that wait to be transcoded",
            self.waiting,
        );
        text.gauge(
            "pelton_transcodes_running",
            "transcodes in progress",
            self.running,
        );
    }
}

impl Transcoder {
    /// Starts the queue and its threads.
    ///
    /// # Errors
    /// If the host does not allow another thread.
    pub fn start(flights: &Arc<Flights>, limits: Limits) -> std::io::Result<Transcoder> {
        let shared = Arc::new(Shared {
            limits,
            flights: Arc::clone(flights),
            state: Mutex::new(State::new(&limits)),
            changed: Condvar::new(),
        });
        let mut transcoder = Transcoder {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
        };
        for number in 0..limits.concurrency {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("transcode-{number}"));
            let thread = thread.spawn(move || shared.serve())?;
            transcoder.threads.push(thread);
        }
        Ok(transcoder)
    }

    /// Joins the transcode that is waiting or running for the task's key. If there is none,
    /// queues the task.
    ///
    /// # Errors
    /// [`Busy`] if a limit is exceeded.
    pub fn join(&self, task: Task) -> Result<TrackWaiter, Busy> {
        let mut state = self.shared.lock();
        let waiter = state.admit(task, &self.shared.limits)?;
        drop(state);
        self.shared.changed.notify_one();
        Ok(waiter)
    }

    /// Returns the maximum time that a track waits for a thread.
    pub fn waiting_max(&self) -> Duration {
        Duration::from_millis(self.shared.limits.waiting_ms_max)
    }

    /// Returns the refusal for a request that has waited for the maximum time.
    pub fn busy(&self) -> Busy {
        self.shared.lock().busy(&self.shared.limits)
    }

    /// Returns the state of the queue, for the metrics.
    #[must_use]
    pub fn stats(&self) -> TranscodeStats {
        let state = self.shared.lock();
        TranscodeStats {
            waiting: state.waiting.len() as u64,
            running: (state.tracks.len() - state.waiting.len()) as u64,
        }
    }
}

impl Drop for Transcoder {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().expect("a panic aborts the process");
        }
    }
}

impl State {
    fn new(limits: &Limits) -> State {
        State {
            tracks: SingleFlight::new(limits.waiters_max),
            waiting: VecDeque::new(),
            cpu_ms: 0,
            stopping: false,
        }
    }

    /// Joins the transcode that is waiting or running for the task's key. If there is none,
    /// queues the task if the queue has room.
    fn admit(&mut self, task: Task, limits: &Limits) -> Result<TrackWaiter, Busy> {
        self.drop_abandoned();
        let busy = self.busy(limits);
        match self.tracks.follow(&task.key) {
            Ok(Some(waiter)) => return Ok(waiter),
            Ok(None) => {}
            Err(TooManyWaiters) => return Err(busy),
        }
        let is_full = limits.concurrency + limits.waiting_max <= self.tracks.len();
        if limits.concurrency == 0 || is_full && !self.make_room(&task.user) {
            return Err(busy);
        }
        self.cpu_ms += task.plan.cost().cpu_ms;
        let (leader, waiter) = self.tracks.lead(task.key);
        self.waiting.push_back(QueuedTrack { task, leader });
        Ok(waiter)
    }

    fn busy(&self, limits: &Limits) -> Busy {
        Busy {
            retry_after_s: self.cpu_ms / limits.concurrency.max(1) as u64 / 1_000 + 1,
        }
    }

    /// Makes room for another track of `user`. Finds the user with the most waiting tracks. If this
    /// user has at least two more than `user`, drops this user's last waiting track and returns
    /// true. Otherwise drops nothing and returns false.
    fn make_room(&mut self, user: &str) -> bool {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for waiting in &self.waiting {
            *counts.entry(&waiting.task.user).or_default() += 1;
        }
        let own = counts.get(user).copied().unwrap_or(0);
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((greediest, _)) = most.filter(|(_, count)| own + 1 < *count) else {
            return false;
        };
        let of_greediest = |waiting: &QueuedTrack| *waiting.task.user == *greediest;
        let last = self.waiting.iter().rposition(of_greediest);
        // Dropping the track also drops its leader (the handle of its single flight), so that all
        // requests that wait for the track fail.
        if let Some(dropped) = last.and_then(|at| self.waiting.remove(at)) {
            self.cpu_ms -= dropped.task.plan.cost().cpu_ms;
        }
        true
    }

    /// Removes and returns the first waiting track. Moves the other tracks of the same user to the
    /// end of the queue.
    fn take_next(&mut self) -> Option<QueuedTrack> {
        let next = self.waiting.pop_front()?;
        let waiting = self.waiting.drain(..);
        let (own, mut others): (VecDeque<QueuedTrack>, VecDeque<QueuedTrack>) =
            waiting.partition(|waiting| waiting.task.user == next.task.user);
        others.extend(own);
        self.waiting = others;
        Some(next)
    }

    /// Removes waiting tracks for which no client waits any more.
    fn drop_abandoned(&mut self) {
        let State {
            waiting, cpu_ms, ..
        } = self;
        waiting.retain(|waiting| {
            let is_awaited = waiting.leader.is_awaited();
            if !is_awaited {
                *cpu_ms -= waiting.task.plan.cost().cpu_ms;
            }
            is_awaited
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn serve(&self) {
        while let Some(QueuedTrack { task, leader }) = self.next() {
            let converter = self.flights.converter();
            let outcome = converter.transcode(&task, &self.limits, leader.progress());
            self.lock().cpu_ms -= task.plan.cost().cpu_ms;
            leader.finish(&outcome);
        }
    }

    /// Removes and returns the next waiting track. Blocks until there is one. Skips tracks for
    /// which no client waits any more. Returns `None` if the queue stops.
    fn next(&self) -> Option<QueuedTrack> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            state.drop_abandoned();
            if let Some(next) = state.take_next() {
                next.leader.start();
                return Some(next);
            }
            self.changed.wait(&mut state);
        }
    }
}

impl Converter {
    /// Runs `task` and returns its outcome.
    fn transcode(&self, task: &Task, limits: &Limits, growing: &OnceLock<Arc<Growing>>) -> Outcome {
        let path = task.path.as_path().display();
        let original = match self.library.open_original(&task.path) {
            Ok((file, identity)) if identity == task.identity => file,
            Ok(_) | Err(Missing::NotFound | Missing::WouldSleep) => return Outcome::Changed,
            Err(Missing::Host(err)) => {
                tracing::error!(%path, %err, "the original cannot be opened");
                return Outcome::Refused;
            }
        };
        if self.is_quarantined(&original, &task.identity, false) {
            self.metrics.quarantined.fetch_add(1, Ordering::Relaxed);
            return self.keep_verdict(task, Verdict::Quarantined);
        }
        let ended = self.run_transcode(task, &original, limits, growing);
        if let Some(growing) = growing.get() {
            growing.end(ended.as_ref().ok().map(|body| body.bytes));
        }
        match ended {
            Ok(body) => {
                self.metrics.transcodes.fetch_add(1, Ordering::Relaxed);
                let cpu_us = &self.metrics.transcoding_cpu_us;
                cpu_us.fetch_add(body.cpu_us, Ordering::Relaxed);
                let now_ms = unix_ms();
                let stored = self
                    .variants
                    .store(task.key, Kind::Sound, Some(&body), now_ms);
                // `store` returns an error if writing failed (it has then logged and counted the
                // failure), or if the result is larger than the cache. In both cases, the result is
                // sent without being cached.
                stored.map_or_else(|_| Outcome::Uncached(Arc::new(body)), Outcome::Cached)
            }
            Err(failure) => {
                self.note_crash(&original, &task.path, &task.identity, &failure, false);
                self.metrics.failed(failure.kind);
                match self.verdict(&task.path, &failure) {
                    Some(verdict) => self.keep_verdict(task, verdict),
                    None => Outcome::Refused,
                }
            }
        }
    }

    fn keep_verdict(&self, task: &Task, verdict: Verdict) -> Outcome {
        let now_ms = unix_ms();
        let stored = match verdict {
            // The verdicts `Faulty` and `Quarantined` are not written to the disk: a fault may be
            // the server's, and a quarantine can be lifted.
            Verdict::Faulty | Verdict::Quarantined => None,
            Verdict::TooCostly => Some(self.variants.remember_costly(task.key, now_ms, None)),
            _ => {
                let kind = Kind::Verdict(verdict);
                self.variants.store(task.key, kind, None, now_ms).ok()
            }
        };
        let remember = || self.variants.remember(task.key, verdict, now_ms);
        Outcome::Cached(stored.unwrap_or_else(remember))
    }

    fn run_transcode(
        &self,
        task: &Task,
        original: &File,
        limits: &Limits,
        growing: &OnceLock<Arc<Growing>>,
    ) -> Result<Sealed, Failure> {
        let plan = &task.plan;
        let bytes = plan.to_bytes();
        let cpu_ms = plan.cost().cpu_ms * CPU_FACTOR + CPU_FLOOR_MS;
        let cpu_ms_max = u32::try_from(cpu_ms).unwrap_or(u32::MAX);
        let job = sandbox::Task {
            original: original.as_fd(),
            plan: &bytes,
            size_px: None,
            limits: sandbox_protocol::JobLimits {
                output_bytes_max: plan.output_bytes_max(),
                memory_bytes_max: limits.memory_bytes_max,
                cpu_ms_max,
            },
            wall_ms_max: self.wall_ms_max.min(cpu_ms_max.saturating_mul(WALL_FACTOR)),
            idle: false,
        };
        let mut started = |file| {
            // While the job runs, clients read a copy of the finished beginning of the track. If
            // the host has no memory for the copy, clients get the track only when it is complete.
            if let Ok(started) = Growing::new(file, plan) {
                let started = growing.set(Arc::new(started));
                assert!(
                    started.is_ok(),
                    "requests that share a transcode share one job"
                );
            }
        };
        let finished = self.pool.run_watched(job, &mut started)?;
        if !finished.remark.is_empty() {
            let path = task.path.as_path().display();
            tracing::info!(%path, remark = %finished.remark, "only a part of the track could be transcoded");
        }
        let sealed = Sealed {
            file: Arc::new(finished.body),
            start: 0,
            bytes: finished.output_bytes,
            cpu_us: finished.cpu_us,
        };
        match check_pages(&sealed, plan) {
            Ok(()) => Ok(sealed),
            Err(why) => Err(Failure {
                kind: FailureKind::ProtocolViolation,
                detail: format!("the worker's reply is not the requested track: {why}"),
            }),
        }
    }
}

/// Checks every Ogg page of a transcoded track, since the worker is not trusted to have written
/// valid Opus.
fn check_pages(sealed: &Sealed, plan: &Plan) -> Result<(), String> {
    let mut checker = Checker::new(plan);
    let mut piece = vec![0; CHECK_BYTES];
    let mut at = 0;
    while at < sealed.bytes {
        let count = piece.len().min((sealed.bytes - at) as usize);
        let read = sealed
            .file
            .read_exact_at(&mut piece[..count], sealed.start + at);
        read.map_err(|err| err.to_string())?;
        match checker.take(&piece[..count]) {
            // The remaining bytes do not contain a complete page.
            Ok(0) => return Err("the reply ends within an Ogg page".to_owned()),
            Ok(taken) => at += taken as u64,
            Err(lie) => return Err(format!("{lie:?}")),
        }
    }
    let samples = checker.finish().map_err(|lie| format!("{lie:?}"))?;
    match samples {
        0 => Err("the reply contains no samples".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
