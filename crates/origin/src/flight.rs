//! Conversions in flight: one per key however many ask, a bounded queue before them, and the threads that run them.
//!
//! ```text
//! request ── join ──► flight for its key ──► waiting ──► conversion thread ──► cell
//!    ▲                                                        │
//!    └──────────── outcome, to every waiter ◄─────────────────┘
//! idle cores ◄── improving ◄── a request was answered with less than the best
//! ```
//!
//! A flight belongs to nobody who waits for it: whoever leaves only stops listening. Beyond its limits the queue refuses
//! at once, with an estimate of when to come back.
//!
//! Threads: `concurrency` threads for requests and as many for improvements, whose cells the kernel runs only when a core
//! has nothing else to do. The one lock is held for map and queue operations, never over a conversion.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::convert::{Converter, Outcome, Task};
use crate::variants::Key;

/// Bounds of what may wait and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Conversions at a time for requests, and again as many for improvements.
    pub concurrency: usize,
    /// Conversions that wait for a thread.
    pub waiting_max: usize,
    /// Estimated CPU time a core that may wait; one more conversion must not push a client's wait beyond it.
    pub waiting_cpu_ms_max: u64,
    /// Estimated memory of all conversions that run.
    pub memory_bytes_max: u64,
    /// Requests that wait for one flight.
    pub waiters_max: usize,
    /// Improvements that are remembered; more are asked for again by the requests that want them.
    pub improving_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            concurrency: 2,
            waiting_max: 256,
            waiting_cpu_ms_max: 10_000,
            memory_bytes_max: 1 << 30,
            waiters_max: 1024,
            improving_max: 4096,
        }
    }
}

/// Why a conversion was not taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Come back in so many seconds.
    Overloaded {
        /// When the queue should have drained.
        retry_after_s: u64,
    },
    /// One conversion of this kind alone exceeds the memory budget.
    TooLarge,
}

/// The queue and its threads. Dropping it lets running conversions finish and ends the threads.
#[derive(Debug)]
pub struct Flights {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    limits: Limits,
    converter: Converter,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    flights: HashMap<Key, Flight>,
    /// Keys of flights that no thread has taken, in order of arrival.
    waiting: VecDeque<Key>,
    waiting_cpu_ms: u64,
    improving: VecDeque<Task>,
    improving_keys: HashSet<Key>,
    running_bytes: u64,
    running: usize,
    stopping: bool,
}

#[derive(Debug)]
struct Flight {
    task: Task,
    waiters: Vec<oneshot::Sender<Outcome>>,
}

/// Figures for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightStats {
    /// Conversions that wait for a thread.
    pub waiting: u64,
    /// Conversions that run, improvements included.
    pub running: u64,
    /// Improvements that wait for an idle core.
    pub improving: u64,
}

impl Flights {
    /// Starts the conversion threads.
    ///
    /// # Errors
    /// Where the host gives no thread.
    pub fn start(converter: Converter, limits: Limits) -> std::io::Result<Flights> {
        let shared = Arc::new(Shared {
            limits,
            converter,
            state: Mutex::default(),
            changed: Condvar::new(),
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

    /// Joins the flight for the task's key, or opens it. The receiver yields the outcome; dropping it is free.
    ///
    /// # Errors
    /// [`Refused`], at once.
    pub fn join(&self, task: Task) -> Result<oneshot::Receiver<Outcome>, Refused> {
        let limits = &self.shared.limits;
        let cost = task.plan.cost();
        if limits.memory_bytes_max < cost.memory_bytes {
            return Err(Refused::TooLarge);
        }
        let (sender, receiver) = oneshot::channel();
        let mut state = self.shared.lock();
        let retry_after_s = state.waiting_cpu_ms / limits.concurrency as u64 / 1000 + 1;
        if let Some(flight) = state.flights.get_mut(&task.key) {
            flight.waiters.retain(|waiter| !waiter.is_closed());
            if limits.waiters_max <= flight.waiters.len() {
                return Err(Refused::Overloaded { retry_after_s });
            }
            flight.waiters.push(sender);
            return Ok(receiver);
        }
        let waiting_cpu_ms = state.waiting_cpu_ms + cost.cpu_ms;
        let too_long = limits.waiting_cpu_ms_max * limits.concurrency as u64;
        // An empty queue takes whatever fits memory: a single large picture must not be refused for ever.
        if limits.waiting_max <= state.waiting.len()
            || (too_long < waiting_cpu_ms && !state.waiting.is_empty())
        {
            return Err(Refused::Overloaded { retry_after_s });
        }
        state.waiting_cpu_ms = waiting_cpu_ms;
        state.waiting.push_back(task.key);
        state.flights.insert(
            task.key,
            Flight {
                task,
                waiters: vec![sender],
            },
        );
        drop(state);
        self.shared.changed.notify_all();
        Ok(receiver)
    }

    /// Asks for a better variant when a core is idle. Forgotten when too many wait: the next request asks again.
    pub fn improve(&self, task: Task) {
        let mut state = self.shared.lock();
        if state.improving.len() < self.shared.limits.improving_max
            && state.improving_keys.insert(task.key)
        {
            state.improving.push_back(task);
            drop(state);
            self.shared.changed.notify_all();
        }
    }

    /// The parts conversions pass through.
    #[must_use]
    pub fn converter(&self) -> &Converter {
        &self.shared.converter
    }

    /// Figures for the metrics.
    #[must_use]
    pub fn stats(&self) -> FlightStats {
        let state = self.shared.lock();
        FlightStats {
            waiting: state.waiting.len() as u64,
            running: state.running as u64,
            improving: state.improving.len() as u64,
        }
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().expect("a panic aborts the process");
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn serve_requests(&self) {
        while let Some(task) = self.next_request() {
            let outcome = self.converter.convert(&task);
            let mut state = self.lock();
            state.running -= 1;
            state.running_bytes -= task.plan.cost().memory_bytes;
            let flight = state
                .flights
                .remove(&task.key)
                .expect("lives until its outcome");
            drop(state);
            self.changed.notify_all();
            for waiter in flight.waiters {
                // Whoever left is not told.
                drop(waiter.send(outcome.clone()));
            }
        }
    }

    /// The next flight somebody still waits for, once its memory is free. `None` when stopping.
    fn next_request(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            state.drop_abandoned();
            let first = state
                .waiting
                .front()
                .map(|key| state.flights[key].task.clone());
            if let Some(task) = first {
                let cost = task.plan.cost();
                if state.running_bytes + cost.memory_bytes <= self.limits.memory_bytes_max {
                    state.waiting.pop_front();
                    state.waiting_cpu_ms -= cost.cpu_ms;
                    state.start(cost.memory_bytes);
                    return Some(task);
                }
            }
            state = self.wait(state);
        }
    }

    fn serve_improvements(&self) {
        while let Some(task) = self.next_improvement() {
            // What came of it stands in the index; the next request finds it there.
            drop(self.converter.convert(&task));
            let mut state = self.lock();
            state.running -= 1;
            state.running_bytes -= task.plan.cost().memory_bytes;
            state.improving_keys.remove(&task.key);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The next improvement, once no request waits and half of the memory stays free for one.
    fn next_improvement(&self) -> Option<Task> {
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
                state.start(memory_bytes);
                return state.improving.pop_front();
            }
            state = self.wait(state);
        }
    }
}

impl State {
    fn start(&mut self, memory_bytes: u64) {
        self.running += 1;
        self.running_bytes += memory_bytes;
    }

    /// Flights at the head of the queue whose every waiter has left are not worth starting.
    fn drop_abandoned(&mut self) {
        while let Some(key) = self.waiting.front() {
            let flight = &self.flights[key];
            if flight.waiters.iter().any(|waiter| !waiter.is_closed()) {
                return;
            }
            self.waiting_cpu_ms -= flight.task.plan.cost().cpu_ms;
            let key = self.waiting.pop_front().expect("was at the front");
            self.flights.remove(&key);
        }
    }
}
