//! Bounded queue of conversions: those that wait for a thread, those that run, and the memory that
//! is reserved for the running ones.
//!
//! An improvement starts only while no request waits, neither for a thread nor for memory. A
//! running improvement is cancelled when a request needs its memory, and queued again.
//!
//! Threads: any. The one lock is held for map and queue operations, never during a conversion. It
//! may be held while the lock of [`SingleFlight`] is taken.

use std::collections::{HashSet, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use variants::cache::Key;

use crate::convert::{Outcome, Task};
use crate::flight::FlightStats;

use super::single_flight::{Leader, SingleFlight, TooManyWaiters, Waiter};
use super::sync::{Condvar, Mutex, MutexGuard};

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
    pub(crate) fn waiting(&self) -> Duration {
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

/// Conversions that wait or run, and the memory that is reserved for the running ones.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) limits: Limits,
    /// Conversions for requests, waiting or running. May be locked while `state` is locked.
    flights: SingleFlight<Key, Outcome>,
    state: Mutex<State>,
    changed: Condvar,
    /// Number of improvements (conversions in the background) that were cancelled because a request
    /// needed their memory.
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
    /// Running conversions for requests that wait for more memory.
    reserving: usize,
    stopping: bool,
}

/// Conversion that no thread has started.
#[derive(Debug)]
pub(crate) struct QueuedConversion {
    pub(crate) task: Task,
    pub(crate) leader: Leader<Key, Outcome>,
}

/// Running improvement.
#[derive(Clone, Debug)]
struct Improvement {
    /// Descriptor that is readable once the improvement is cancelled.
    cancel: Arc<OwnedFd>,
    /// Memory that is reserved for the improvement; 0 while it waits for more.
    held_bytes: u64,
    is_cancelled: bool,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Queue {
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
    pub(crate) fn join(&self, task: Task) -> Result<Waiter<Outcome>, Refused> {
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
        self.drop_abandoned(&mut state);
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

    /// Removes waiting conversions whose waiters have all left. Improvements, and conversions that
    /// were behind the removed ones, may start then.
    fn drop_abandoned(&self, state: &mut State) {
        if state.drop_abandoned() {
            self.changed.notify_all();
        }
    }

    /// Returns the seconds after which a refused request may retry.
    pub(crate) fn retry_after_s(&self) -> u64 {
        self.lock().retry_after_s(&self.limits)
    }

    /// Queues an improvement, or drops the improvement if too many are queued.
    pub(crate) fn improve(&self, task: Task) {
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
    pub(crate) fn stats(&self) -> FlightStats {
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
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Ends a running conversion that holds a reservation of `held_bytes`.
    pub(crate) fn end_conversion(&self, held_bytes: u64) {
        let mut state = self.lock();
        state.running -= 1;
        state.running_bytes -= held_bytes;
        drop(state);
        self.changed.notify_all();
    }

    /// Replaces a conversion's reservation of `held_bytes` by one of `bytes`, or of the whole
    /// budget if that is less. Releases the old reservation, then blocks until enough memory is
    /// free. Returns false, with nothing reserved, if that takes too long or the queue stops.
    /// `cancel` is the descriptor of an improvement, or `None` if a request waits for the
    /// conversion.
    pub(crate) fn reserve_memory(
        &self,
        held_bytes: &mut u64,
        bytes: u64,
        cancel: Option<&Arc<OwnedFd>>,
    ) -> bool {
        let wanted = bytes.min(self.limits.memory_bytes_max);
        let deadline = Instant::now() + self.limits.waiting();
        let mut state = self.lock();
        state.running_bytes -= std::mem::take(held_bytes);
        match cancel {
            Some(cancel) => state.set_held(cancel, 0),
            None => state.reserving += 1,
        }
        self.changed.notify_all();
        let is_free = self.wait_for_memory(&mut state, wanted, deadline, cancel.is_none());
        if is_free {
            state.running_bytes += wanted;
            *held_bytes = wanted;
        }
        match cancel {
            Some(cancel) => state.set_held(cancel, *held_bytes),
            None => state.reserving -= 1,
        }
        drop(state);
        self.changed.notify_all();
        is_free
    }

    /// Blocks until `wanted_bytes` of memory are free, for a request or for an improvement. Returns
    /// false if that takes too long or the queue stops.
    fn wait_for_memory(
        &self,
        state: &mut MutexGuard<'_, State>,
        wanted_bytes: u64,
        deadline: Instant,
        is_request: bool,
    ) -> bool {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.stopping || left.is_zero() {
                return false;
            }
            let is_its_turn = is_request || !state.has_waiting_requests();
            if is_its_turn && state.running_bytes + wanted_bytes <= self.limits.memory_bytes_max {
                return true;
            }
            if is_request {
                self.make_room(state, wanted_bytes);
            }
            self.changed.wait_for(state, left);
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
            if improvement.held_bytes == 0 {
                // The improvement itself waits for memory.
                continue;
            }
            if !improvement.is_cancelled {
                improvement.is_cancelled = true;
                self.cancelled.fetch_add(1, Ordering::Relaxed);
                rustix::io::write(&improvement.cancel, &1_u64.to_ne_bytes())
                    .expect("an eventfd accepts a small number");
            }
            lacking_bytes = lacking_bytes.saturating_sub(improvement.held_bytes);
        }
    }

    /// Waits for memory and returns the next flight that has waiters. Returns `None` when the queue
    /// stops.
    pub(crate) fn next_request(&self) -> Option<QueuedConversion> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            self.drop_abandoned(&mut state);
            if let Some(first) = state.waiting.front() {
                let cost = first.task.plan.cost();
                if state.running_bytes + cost.memory_bytes <= self.limits.memory_bytes_max {
                    let next = state.waiting.pop_front().expect("was at the front");
                    state.waiting_cpu_ms -= cost.cpu_ms;
                    state.start(cost.memory_bytes);
                    next.leader.start();
                    if state.waiting.is_empty() {
                        // Improvements may have waited for that.
                        self.changed.notify_all();
                    }
                    return Some(next);
                }
                self.make_room(&mut state, cost.memory_bytes);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Removes an improvement that has ended from the running ones. Queues it again if a request
    /// cancelled it.
    pub(crate) fn end_improvement(&self, task: Task, cancel: &Arc<OwnedFd>, is_cancelled: bool) {
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
    pub(crate) fn next_improvement(&self) -> Option<(Task, Arc<OwnedFd>)> {
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
                && !state.has_waiting_requests()
                && (state.running == 0
                    || state.running_bytes + memory_bytes <= self.limits.memory_bytes_max / 2)
            {
                match &cancel {
                    Ok(cancel) => {
                        state.start(memory_bytes);
                        state.improvements.push(Improvement {
                            cancel: Arc::clone(cancel),
                            held_bytes: memory_bytes,
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

    /// Sets the memory that a running improvement holds.
    fn set_held(&mut self, cancel: &Arc<OwnedFd>, held_bytes: u64) {
        let mut improvements = self.improvements.iter_mut();
        let improvement = improvements.find(|improvement| Arc::ptr_eq(&improvement.cancel, cancel));
        improvement.expect("the improvement runs").held_bytes = held_bytes;
    }

    /// Returns whether requests wait, for a thread or for memory. Improvements then wait, too.
    fn has_waiting_requests(&self) -> bool {
        !self.waiting.is_empty() || self.reserving != 0
    }

    fn retry_after_s(&self, limits: &Limits) -> u64 {
        self.waiting_cpu_ms / limits.concurrency as u64 / 1000 + 1
    }

    /// Removes waiting conversions whose waiters have all left. Returns whether there were any.
    fn drop_abandoned(&mut self) -> bool {
        let before = self.waiting.len();
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
        self.waiting.len() < before
    }
}
