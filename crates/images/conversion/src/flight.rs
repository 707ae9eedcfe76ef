//! Queue of picture conversions and the threads that run them. Requests for the same key share one
//! conversion ([`crate::single_flight`]).
//!
//! ```text
//! request ── join ──► flight for its key ──► waiting ──► conversion thread ──► cell
//!    ▲                                                        │
//!    └──────────── outcome, to every waiter ◄─────────────────┘
//! idle cores ◄── improving ◄── a request got less than the best variant
//! ```
//!
//! When a client disconnects, a running conversion continues, and its result is stored. If a
//! request would exceed a limit, the queue refuses it at once and estimates when the client should
//! retry.
//!
//! Threads: `concurrency` threads run conversions for requests. As many further threads run
//! improvements, on idle cores only: they replace variants by ones encoded at higher effort.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use openmetrics::Text;
use variants::cache::Verdict;

use crate::convert::{Converter, Outcome, Task, Terms};
use crate::queue::{Queue, QueuedConversion};
use crate::score::{NoScore, ScoredVariant};
use crate::single_flight::{Abandoned, Waiter};

pub use crate::queue::{Limits, Refused};

/// Queue of conversions and the threads that run them. When the queue is dropped, running
/// conversions finish and the threads end.
#[derive(Debug)]
pub struct Flights {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// State that the conversion threads share.
#[derive(Debug)]
struct Shared {
    queue: Queue,
    converter: Converter,
}

/// Handle of one request that waits for a conversion. If the handle is dropped, a running
/// conversion still continues.
#[derive(Debug)]
pub struct ConversionWaiter {
    waiter: Waiter<Outcome>,
    longest: Duration,
}

impl ConversionWaiter {
    /// Waits for the outcome of the conversion. Fails if the conversion does not start within the
    /// time limit.
    ///
    /// # Errors
    /// [`WaitError`].
    pub async fn wait(mut self) -> Result<Outcome, WaitError> {
        let waited = tokio::time::timeout(self.longest, self.waiter.wait()).await;
        let outcome = match waited {
            Ok(outcome) => outcome,
            Err(_) if self.waiter.has_started() => self.waiter.wait().await,
            Err(_) => return Err(WaitError::Late),
        };
        outcome.map_err(|Abandoned| WaitError::Stopped)
    }
}

/// Reason why a waiter got no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The conversion did not start within the time limit.
    Late,
    /// The conversion ended without an outcome, because the server stops.
    Stopped,
}

/// State of the conversion queue, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightStats {
    /// Conversions that wait for a thread.
    pub waiting: u64,
    /// Conversions that run, including background conversions at higher effort.
    pub running: u64,
    /// Background conversions at higher effort that run.
    pub improvements_running: u64,
    /// Background conversions at higher effort that wait for an idle core.
    pub improving: u64,
    /// Number of times that a background conversion was cancelled and queued again, because a
    /// request needed its memory.
    pub cancelled: u64,
    /// Estimated memory of the running conversions, and of the jobs that compare a variant with its
    /// original, in bytes.
    pub memory_bytes: u64,
}

impl FlightStats {
    /// Writes the metrics of the conversion queue.
    pub fn render(&self, text: &mut Text) {
        text.gauge(
            "pelton_conversions_waiting",
            "conversions that wait for a thread",
            self.waiting,
        );
        text.gauge(
            "pelton_conversions_running",
            "conversions in progress",
            self.running,
        );
        text.gauge(
            "pelton_improvements_running",
            "improvements in progress, also counted as conversions in progress",
            self.improvements_running,
        );
        text.gauge(
            "pelton_improvements_waiting",
            "improvements that wait for an idle core",
            self.improving,
        );
        text.counter(
            "pelton_improvements_cancelled",
            "improvements cancelled because a request needed their memory; they are queued again",
            self.cancelled,
        );
        text.gauge(
            "pelton_conversions_memory_bytes",
            "estimated memory of the conversions and quality comparisons in progress",
            self.memory_bytes,
        );
    }
}

impl Flights {
    /// Starts the queue and its conversion threads.
    ///
    /// # Errors
    /// If the host does not allow another thread.
    pub fn start(converter: Converter, limits: Limits) -> std::io::Result<Flights> {
        let shared = Arc::new(Shared {
            queue: Queue::new(limits),
            converter,
        });
        let mut flights = Flights {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
        };
        for number in 0..limits.concurrency {
            flights.spawn(format!("convert-{number}"), Shared::serve_requests)?;
            flights.spawn(format!("improve-{number}"), Shared::serve_improvements)?;
        }
        Ok(flights)
    }

    fn spawn(&mut self, name: String, work: fn(&Shared)) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || work(&shared))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Joins the conversion that is waiting or running for the task's key. If there is none, queues
    /// the task.
    ///
    /// # Errors
    /// [`Refused`] if a limit is exceeded.
    pub fn join(&self, task: Task) -> Result<ConversionWaiter, Refused> {
        let waiter = self.shared.queue.join(task)?;
        Ok(ConversionWaiter {
            waiter,
            longest: self.shared.queue.limits.waiting(),
        })
    }

    /// Returns the SSIMULACRA2 score of a variant. The job decodes the original once more. Blocks
    /// until the memory for the job is free and the job has ended.
    ///
    /// # Errors
    /// [`NoScore`].
    pub fn score(&self, scored: &ScoredVariant<'_>) -> Result<f64, NoScore> {
        let queue = &self.shared.queue;
        let memory_bytes = scored.memory_bytes();
        if queue.limits.memory_bytes_max < memory_bytes {
            return Err(NoScore::Failed(Verdict::TooCostly));
        }
        let held_bytes = queue.reserve_for_job(memory_bytes).ok_or(NoScore::Late)?;
        let score = self.shared.converter.score(scored);
        queue.release_job(held_bytes);
        score
    }

    /// Returns the number of seconds after which a refused request should retry.
    pub fn retry_after_s(&self) -> u64 {
        self.shared.queue.retry_after_s()
    }

    /// Queues a background conversion at higher effort. If too many are queued, drops the task. The
    /// next request for the same variant then queues it again.
    pub fn improve(&self, task: Task) {
        self.shared.queue.improve(task);
    }

    /// Runs the tasks of one original as a background conversion. A task that is cancelled because
    /// a request needs its memory is started again. Returns the outcomes in the order of
    /// completion: one per task, or fewer if the queue stops or if `is_cancelled` is true when the
    /// tasks are about to start. Blocks.
    pub fn convert_when_idle(&self, tasks: &[Task], is_cancelled: &AtomicBool) -> Vec<Outcome> {
        let queue = &self.shared.queue;
        let memory_bytes = tasks.iter().map(|task| task.plan.cost().memory_bytes);
        let memory_bytes = memory_bytes.max().unwrap_or(0);
        let mut left = tasks.to_vec();
        let mut outcomes = Vec::with_capacity(tasks.len());
        while !left.is_empty() {
            let Some((cancel, mut held_bytes)) = queue.start_when_idle(memory_bytes, is_cancelled)
            else {
                return outcomes;
            };
            let mut reserve_memory =
                |bytes| queue.reserve_memory(&mut held_bytes, bytes, Some(&cancel));
            let mut terms = Terms {
                cancel: Some(cancel.as_fd()),
                reserve_memory: &mut reserve_memory,
            };
            let ended = self.converter().convert_all(&left, &mut terms);
            queue.end_idle_conversion(&cancel, held_bytes);
            let was_left = std::mem::take(&mut left);
            for (task, outcome) in was_left.into_iter().zip(ended) {
                match outcome {
                    Outcome::Cancelled => left.push(task),
                    outcome => outcomes.push(outcome),
                }
            }
        }
        outcomes
    }

    /// Returns the converter that runs the tasks.
    #[must_use]
    pub fn converter(&self) -> &Converter {
        &self.shared.converter
    }

    /// Returns the state of the queue, for the metrics.
    #[must_use]
    pub fn stats(&self) -> FlightStats {
        self.shared.queue.stats()
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        self.shared.queue.stop();
        for thread in self.threads.drain(..) {
            thread.join().expect("a panic aborts the process");
        }
    }
}

impl Shared {
    fn serve_requests(&self) {
        while let Some(QueuedConversion { task, leader }) = self.queue.next_request() {
            let outcome = self.convert(&task, None);
            leader.finish(&outcome);
        }
    }

    fn serve_improvements(&self) {
        while let Some((task, cancel)) = self.queue.next_improvement() {
            let outcome = self.convert(&task, Some(&cancel));
            let is_cancelled = matches!(outcome, Outcome::Cancelled);
            self.queue.end_improvement(task, &cancel, is_cancelled);
        }
    }

    /// Runs a task that the queue counts as running, and then removes the task from that count.
    fn convert(&self, task: &Task, cancel: Option<&Arc<OwnedFd>>) -> Outcome {
        let mut held_bytes = task.plan.cost().memory_bytes;
        let mut reserve_memory = |bytes| self.queue.reserve_memory(&mut held_bytes, bytes, cancel);
        let outcome = self.converter.convert(
            task,
            &mut Terms {
                cancel: cancel.map(|cancel| cancel.as_fd()),
                reserve_memory: &mut reserve_memory,
            },
        );
        self.queue.end_conversion(held_bytes);
        outcome
    }
}
