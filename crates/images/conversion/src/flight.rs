//! Conversions of pictures: one per key, however many requests wait ([`crate::single_flight`]); a
//! bounded queue; and the threads that run them.
//!
//! ```text
//! request ── join ──► flight for its key ──► waiting ──► conversion thread ──► cell
//!    ▲                                                        │
//!    └──────────── outcome, to every waiter ◄─────────────────┘
//! idle cores ◄── improving ◄── a request got less than the best variant
//! ```
//!
//! Waiters do not own a flight: a client that disconnects only stops listening. Above its limits,
//! the queue refuses a request at once, with an estimate of when to retry.
//!
//! Threads: `concurrency` threads for requests and as many for improvements, whose cells run on
//! idle cores only. An improvement starts only while no request waits. A running improvement is
//! cancelled when a request needs its memory, and queued again. The one lock is held for map and
//! queue operations, never during a conversion.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{HashSet, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use openmetrics::Text;
use variants::cache::Key;

use crate::convert::{Converter, Outcome, Pace, Task, Terms};
use crate::single_flight::{Abandoned, Leader, SingleFlight, TooManyWaiters, Waiter};

/// Bounds of the conversion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent conversions for requests. In addition, the same number of
    /// improvements may run: conversions at higher effort for which no request waits.
    pub concurrency: usize,
    /// Maximum number of conversions that wait for a thread.
    pub waiting_max: usize,
    /// Maximum estimated CPU time of all waiting conversions, per conversion thread, in
    /// milliseconds. A conversion that would exceed this limit is refused, unless the queue is
    /// empty.
    pub waiting_cpu_ms_max: u64,
    /// Maximum time that a request waits for a thread and for memory, in milliseconds. After that
    /// time, the request is refused.
    pub waiting_ms_max: u64,
    /// Maximum estimated memory of all running conversions, in bytes.
    pub memory_bytes_max: u64,
    /// Maximum number of requests that wait for one flight.
    pub waiters_max: usize,
    /// Maximum number of queued improvements. Further ones are dropped; later requests queue them
    /// again.
    pub improving_max: usize,
}

/// Minimum value of the time limit for waiting requests, since an idle thread may take that long to
/// wake on a busy machine.
const WAITING_MIN: Duration = Duration::from_millis(100);

impl Limits {
    /// Returns the time that a request waits for a thread and for memory.
    fn waiting(&self) -> Duration {
        Duration::from_millis(self.waiting_ms_max).max(WAITING_MIN)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            concurrency: 2,
            waiting_max: 256,
            waiting_cpu_ms_max: 10_000,
            waiting_ms_max: 10_000,
            memory_bytes_max: 1 << 30,
            waiters_max: 1024,
            improving_max: 4096,
        }
    }
}

/// Reason why a conversion was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The queue is full; retry after some seconds.
    Overloaded {
        /// Time until the queue should have drained, in seconds.
        retry_after_s: u64,
    },
    /// The conversion alone exceeds the memory budget.
    TooLarge,
}

/// Queue of conversions and its threads. Dropping it lets running conversions finish and ends the
/// threads.
#[derive(Debug)]
pub struct Flights {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Parts that the conversion threads share.
#[derive(Debug)]
struct Shared {
    queue: Queue,
    converter: Converter,
}

/// Conversions that wait or run, and the memory that is reserved for the running ones.
#[derive(Debug)]
struct Queue {
    limits: Limits,
    /// Conversions for requests, waiting or running. May be locked while `state` is locked.
    flights: SingleFlight<Key, Outcome>,
    state: Mutex<State>,
    changed: Condvar,
    /// Improvements that were cancelled for requests.
    cancelled: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Conversions that no thread has started, in order of arrival.
    waiting: VecDeque<QueuedConversion>,
    waiting_cpu_ms: u64,
    improving: VecDeque<Task>,
    improving_keys: HashSet<Key>,
    improvements: Vec<Improvement>,
    running_bytes: u64,
    running: usize,
    stopping: bool,
}

/// Conversion that no thread has started.
#[derive(Debug)]
struct QueuedConversion {
    task: Task,
    leader: Leader<Key, Outcome>,
}

/// Handle of one request that waits for a conversion. Dropping the handle only ends the wait; a
/// running conversion continues.
#[derive(Debug)]
pub struct ConversionWaiter {
    waiter: Waiter<Outcome>,
    longest: Duration,
}

impl ConversionWaiter {
    /// Waits for the outcome. If the conversion does not start within the limit, the wait fails.
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
    /// The conversion did not start in time.
    Late,
    /// The conversion ended without an outcome, because the server stops.
    Stopped,
}

/// Running improvement.
#[derive(Clone, Debug)]
struct Improvement {
    /// Descriptor that is readable once the improvement is cancelled.
    cancel: Arc<OwnedFd>,
    memory_bytes: u64,
    is_cancelled: bool,
}

/// Figures of the queue for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightStats {
    /// Conversions that wait for a thread.
    pub waiting: u64,
    /// Conversions that run, improvements included.
    pub running: u64,
    /// Improvements that wait for an idle core.
    pub improving: u64,
    /// Improvements that were cancelled for a request, and wait again.
    pub cancelled: u64,
    /// Estimated memory of the running conversions, in bytes.
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
            "estimated memory of the conversions in progress",
            self.memory_bytes,
        );
    }
}

impl Flights {
    /// Starts the conversion threads.
    ///
    /// # Errors
    /// If the host refuses a thread.
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

    /// Joins the flight for the task's key, or starts one.
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

    /// Returns the seconds after which a refused request may retry.
    pub fn retry_after_s(&self) -> u64 {
        self.shared.queue.retry_after_s()
    }

    /// Queues an improvement, or drops the improvement if too many are queued. The next request
    /// then queues the improvement again.
    pub fn improve(&self, task: Task) {
        self.shared.queue.improve(task);
    }

    /// Returns the converter.
    #[must_use]
    pub fn converter(&self) -> &Converter {
        &self.shared.converter
    }

    /// Returns the figures for the metrics.
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

    /// Runs a task that the queue counts as running, and ends it there.
    fn convert(&self, task: &Task, cancel: Option<&OwnedFd>) -> Outcome {
        let mut held_bytes = task.plan.cost().memory_bytes;
        let mut reserve_memory =
            |bytes| self.queue.reserve_memory(&mut held_bytes, bytes, task.pace);
        let outcome = self.converter.convert(
            task,
            &mut Terms {
                cancel: cancel.map(AsFd::as_fd),
                reserve_memory: &mut reserve_memory,
            },
        );
        self.queue.end_conversion(held_bytes);
        outcome
    }
}

impl Queue {
    fn new(limits: Limits) -> Queue {
        Queue {
            limits,
            flights: SingleFlight::new(limits.waiters_max),
            state: Mutex::default(),
            changed: Condvar::new(),
            cancelled: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Joins the flight for the task's key, or starts one.
    fn join(&self, task: Task) -> Result<Waiter<Outcome>, Refused> {
        let limits = &self.limits;
        let cost = task.plan.cost();
        if limits.memory_bytes_max < cost.memory_bytes {
            return Err(Refused::TooLarge);
        }
        let mut state = self.lock();
        let retry_after_s = state.retry_after_s(limits);
        match self.flights.follow(&task.key) {
            Ok(Some(waiter)) => return Ok(waiter),
            Ok(None) => {}
            Err(TooManyWaiters) => return Err(Refused::Overloaded { retry_after_s }),
        }
        // Queued flights without waiters are dropped first, so that they do not count towards the
        // limits.
        state.drop_abandoned();
        let waiting_cpu_ms = state.waiting_cpu_ms + cost.cpu_ms;
        let too_long = limits.waiting_cpu_ms_max * limits.concurrency as u64;
        // An empty queue accepts whatever fits into memory: a single large picture must not be
        // refused for ever.
        if limits.waiting_max <= state.waiting.len()
            || (too_long < waiting_cpu_ms && !state.waiting.is_empty())
        {
            return Err(Refused::Overloaded { retry_after_s });
        }
        state.waiting_cpu_ms = waiting_cpu_ms;
        let (leader, waiter) = self.flights.lead(task.key);
        state.waiting.push_back(QueuedConversion { task, leader });
        drop(state);
        self.changed.notify_all();
        Ok(waiter)
    }

    /// Returns the seconds after which a refused request may retry.
    fn retry_after_s(&self) -> u64 {
        self.lock().retry_after_s(&self.limits)
    }

    /// Queues an improvement, or drops the improvement if too many are queued.
    fn improve(&self, task: Task) {
        let mut state = self.lock();
        if state.improving.len() < self.limits.improving_max
            && state.improving_keys.insert(task.key)
        {
            state.improving.push_back(task);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Returns the figures for the metrics.
    fn stats(&self) -> FlightStats {
        let state = self.lock();
        FlightStats {
            waiting: state.waiting.len() as u64,
            running: state.running as u64,
            improving: state.improving.len() as u64,
            cancelled: self.cancelled.load(Ordering::Relaxed),
            memory_bytes: state.running_bytes,
        }
    }

    /// Lets [`Queue::next_request`] and [`Queue::next_improvement`] return `None` from now on.
    fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Ends a running conversion that holds a reservation of `held_bytes`.
    fn end_conversion(&self, held_bytes: u64) {
        let mut state = self.lock();
        state.running -= 1;
        state.running_bytes -= held_bytes;
        drop(state);
        self.changed.notify_all();
    }

    /// Replaces a conversion's reservation of `held_bytes` by one of `bytes`, or of the whole
    /// budget if that is less. Releases the old reservation, then blocks until enough memory is
    /// free. Returns false, with nothing reserved, if that takes too long or the queue stops.
    fn reserve_memory(&self, held_bytes: &mut u64, bytes: u64, pace: Pace) -> bool {
        let wanted = bytes.min(self.limits.memory_bytes_max);
        let deadline = Instant::now() + self.limits.waiting();
        let mut state = self.lock();
        state.running_bytes -= std::mem::take(held_bytes);
        self.changed.notify_all();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.stopping || left.is_zero() {
                return false;
            }
            let is_its_turn = pace == Pace::Awaited || state.waiting.is_empty();
            if is_its_turn && state.running_bytes + wanted <= self.limits.memory_bytes_max {
                state.running_bytes += wanted;
                *held_bytes = wanted;
                return true;
            }
            if pace == Pace::Awaited {
                self.make_room(&mut state, wanted);
            }
            self.changed.wait_for(&mut state, left);
        }
    }

    /// Cancels improvements until `wanted_bytes` of memory will be free for a request.
    fn make_room(&self, state: &mut State, wanted_bytes: u64) {
        let free_bytes = self
            .limits
            .memory_bytes_max
            .saturating_sub(state.running_bytes);
        let mut lacking_bytes = wanted_bytes.saturating_sub(free_bytes);
        for improvement in &mut state.improvements {
            if lacking_bytes == 0 {
                return;
            }
            if !improvement.is_cancelled {
                improvement.is_cancelled = true;
                self.cancelled.fetch_add(1, Ordering::Relaxed);
                rustix::io::write(&improvement.cancel, &1_u64.to_ne_bytes())
                    .expect("an eventfd accepts a small number");
            }
            lacking_bytes = lacking_bytes.saturating_sub(improvement.memory_bytes);
        }
    }

    /// Waits for memory and returns the next flight that has waiters. Returns `None` when the queue
    /// stops.
    fn next_request(&self) -> Option<QueuedConversion> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            state.drop_abandoned();
            if let Some(first) = state.waiting.front() {
                let cost = first.task.plan.cost();
                if state.running_bytes + cost.memory_bytes <= self.limits.memory_bytes_max {
                    let next = state.waiting.pop_front().expect("was at the front");
                    state.waiting_cpu_ms -= cost.cpu_ms;
                    state.start(cost.memory_bytes);
                    next.leader.start();
                    return Some(next);
                }
                self.make_room(&mut state, cost.memory_bytes);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Removes an improvement that has ended from the running ones. Queues it again if a request
    /// cancelled it.
    fn end_improvement(&self, task: Task, cancel: &Arc<OwnedFd>, is_cancelled: bool) {
        let mut state = self.lock();
        state
            .improvements
            .retain(|improvement| !Arc::ptr_eq(&improvement.cancel, cancel));
        if is_cancelled && state.improving.len() < self.limits.improving_max {
            state.improving.push_back(task);
        } else {
            // The attempt is over: the next request finds its result in the index, or queues the
            // improvement again.
            state.improving_keys.remove(&task.key);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the next improvement, once no request waits and either nothing runs or half of the
    /// memory budget stays free for a request. Returns `None` when the queue stops.
    fn next_improvement(&self) -> Option<(Task, Arc<OwnedFd>)> {
        // Without a descriptor an improvement could not be cancelled, so none starts until the host
        // grants a descriptor.
        let new_cancel =
            || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let mut cancel = new_cancel();
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            let memory_bytes = state
                .improving
                .front()
                .map(|task| task.plan.cost().memory_bytes);
            if let Some(memory_bytes) = memory_bytes
                && state.waiting.is_empty()
                && (state.running == 0
                    || state.running_bytes + memory_bytes <= self.limits.memory_bytes_max / 2)
            {
                match &cancel {
                    Ok(cancel) => {
                        state.start(memory_bytes);
                        state.improvements.push(Improvement {
                            cancel: Arc::clone(cancel),
                            memory_bytes,
                            is_cancelled: false,
                        });
                        let task = state
                            .improving
                            .pop_front()
                            .expect("the queue has a front, as checked above");
                        return Some((task, Arc::clone(cancel)));
                    }
                    Err(_) => cancel = new_cancel(),
                }
            }
            self.changed.wait(&mut state);
        }
    }
}

impl State {
    fn start(&mut self, memory_bytes: u64) {
        self.running += 1;
        self.running_bytes += memory_bytes;
    }

    fn retry_after_s(&self, limits: &Limits) -> u64 {
        self.waiting_cpu_ms / limits.concurrency as u64 / 1000 + 1
    }

    /// Removes waiting conversions whose waiters have all left.
    fn drop_abandoned(&mut self) {
        let State {
            waiting,
            waiting_cpu_ms,
            ..
        } = self;
        waiting.retain(|waiting| {
            let is_awaited = waiting.leader.is_awaited();
            if !is_awaited {
                *waiting_cpu_ms -= waiting.task.plan.cost().cpu_ms;
            }
            is_awaited
        });
    }
}
