//! Bounded queue of conversions. It contains the conversions that wait for a thread, those that
//! run, and the memory that is reserved for running conversions and for other jobs.
//!
//! Background conversions, which replace variants by ones of higher effort, start only while no
//! request waits for a thread or for memory. If a request needs the memory of a background
//! conversion, that conversion is cancelled and queued again.
//!
//! Threads: any. The one lock is held for map and queue operations, never during a conversion. The
//! lock of [`SingleFlight`] may be taken while the queue's lock is held.

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

/// Limits of the conversion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent conversions for requests. In addition, the same number of
    /// background conversions may run, which replace variants by ones of higher effort.
    pub concurrency: usize,
    /// Maximum number of conversions that wait for a thread.
    pub waiting_max: usize,
    /// Maximum estimated CPU time of all waiting conversions, per conversion thread, in
    /// milliseconds. A conversion that would exceed this limit is refused if other conversions are
    /// waiting.
    pub waiting_cpu_ms_max: u64,
    /// Maximum time that a request waits for a thread and for memory, in milliseconds. The request
    /// is refused when this time has passed.
    pub waiting_ms_max: u64,
    /// Maximum estimated memory of all running conversions, in bytes.
    pub memory_bytes_max: u64,
    /// Maximum number of requests that share one conversion.
    pub waiters_max: usize,
    /// Maximum number of queued background conversions. Further ones are dropped; the next request
    /// for the same variant queues the conversion again.
    pub improving_max: usize,
}

/// Minimum of the time limit for waiting requests. Even an idle thread may need this time to wake
/// on a busy machine.
const WAITING_MIN: Duration = Duration::from_millis(100);

/// Interval at which a prefetch that waits for the start of a conversion checks whether it was
/// cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(200);

impl Limits {
    /// Returns the maximum time that a request waits for a thread and for memory.
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
    /// The queue is full. The client should retry later.
    Overloaded {
        /// Estimated time until the waiting conversions will have finished, in seconds.
        retry_after_s: u64,
    },
    /// The conversion alone needs more memory than all conversions together may use.
    TooLarge,
}

/// Conversions that wait or run, and the memory that is reserved for the running ones.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) limits: Limits,
    /// Waiting and running conversions for requests. The lock of this map may be taken while
    /// `state` is locked.
    flights: SingleFlight<Key, Outcome>,
    state: Mutex<State>,
    changed: Condvar,
    /// Number of times that a background conversion was cancelled, because a request needed its
    /// memory.
    cancelled: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Conversions that were queued for requests and wait for a thread, in order of arrival.
    waiting: VecDeque<QueuedConversion>,
    waiting_cpu_ms: u64,
    improving: VecDeque<Task>,
    improving_keys: HashSet<Key>,
    improvements: Vec<Improvement>,
    running_bytes: u64,
    running: usize,
    /// Number of running jobs that wait for more memory; background conversions are not counted.
    reserving: usize,
    stopping: bool,
}

/// Conversion that was queued for a request and waits for a thread.
#[derive(Debug)]
pub(crate) struct QueuedConversion {
    pub(crate) task: Task,
    pub(crate) leader: Leader<Key, Outcome>,
}

/// Background conversion that is running, to replace a variant by one of higher effort.
#[derive(Clone, Debug)]
struct Improvement {
    /// Descriptor that becomes readable when the background conversion is cancelled.
    cancel: Arc<OwnedFd>,
    /// Memory that is reserved for the background conversion, in bytes. It is 0 while the
    /// conversion waits for more memory.
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

    /// Joins the conversion that is waiting or running for the task's key. If there is none, queues
    /// the task.
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
        // Conversions for which no client waits any more are removed first, so that the limits do
        // not count them.
        self.drop_abandoned(&mut state);
        let waiting_cpu_ms = state.waiting_cpu_ms + cost.cpu_ms;
        let too_long = limits.waiting_cpu_ms_max * limits.concurrency as u64;
        // If no other conversion waits, the limit of CPU time does not apply. Otherwise a picture
        // that exceeds the limit by itself would always be refused.
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

    /// Removes waiting conversions for which no client waits any more. If there were any, wakes the
    /// threads, since other conversions may now be able to start.
    fn drop_abandoned(&self, state: &mut State) {
        if state.drop_abandoned() {
            self.changed.notify_all();
        }
    }

    /// Returns the number of seconds after which a refused request should retry.
    pub(crate) fn retry_after_s(&self) -> u64 {
        self.lock().retry_after_s(&self.limits)
    }

    /// Queues a background conversion at higher effort. Drops the task if too many are queued.
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

    /// Returns the state of the queue, for the metrics.
    pub(crate) fn stats(&self) -> FlightStats {
        let state = self.lock();
        FlightStats {
            waiting: state.waiting.len() as u64,
            running: state.running as u64,
            improvements_running: state.improvements.len() as u64,
            improving: state.improving.len() as u64,
            cancelled: self.cancelled.load(Ordering::Relaxed),
            memory_bytes: state.running_bytes,
        }
    }

    /// Stops the queue: [`Queue::next_request`] and [`Queue::next_improvement`] return `None` from
    /// now on.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Records the end of a running conversion and releases the `held_bytes` that are reserved for
    /// it.
    pub(crate) fn end_conversion(&self, held_bytes: u64) {
        let mut state = self.lock();
        state.running -= 1;
        state.running_bytes -= held_bytes;
        drop(state);
        self.changed.notify_all();
    }

    /// Reserves `bytes` of memory for a job that is not a conversion, as [`Queue::reserve_memory`]
    /// does for a request. Returns the number of reserved bytes, or `None` if the time limit is
    /// exceeded or the queue stops.
    pub(crate) fn reserve_for_job(&self, bytes: u64) -> Option<u64> {
        let mut held_bytes = 0;
        self.reserve_memory(&mut held_bytes, bytes, None)
            .then_some(held_bytes)
    }

    /// Releases a reservation of [`Queue::reserve_for_job`].
    pub(crate) fn release_job(&self, held_bytes: u64) {
        self.lock().running_bytes -= held_bytes;
        self.changed.notify_all();
    }

    /// Replaces a conversion's reservation of `held_bytes` by `bytes` of memory, or by the whole
    /// budget if that is less. Releases the old reservation first, then blocks until enough memory
    /// is free. If that takes too long or the queue stops, returns false, and nothing is reserved.
    /// `cancel` is the descriptor of a background conversion, or `None` if a request waits for the
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

    /// Blocks until `wanted_bytes` of memory are free. Returns false after `deadline` or if the
    /// queue stops.
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

    /// Cancels as many background conversions as necessary to free `wanted_bytes` of memory for a
    /// request.
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
                // This background conversion holds no memory, since it waits for memory itself.
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

    /// Removes and returns the next conversion for which a client waits. Blocks until there is one
    /// and enough memory is free for it. Returns `None` if the queue stops.
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
                        // Wakes the threads of background conversions. They may start one now,
                        // since no request waits for a thread any more.
                        self.changed.notify_all();
                    }
                    return Some(next);
                }
                self.make_room(&mut state, cost.memory_bytes);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Removes a background conversion that has ended from the list of running ones. Queues its
    /// task again if it was cancelled for a request.
    pub(crate) fn end_improvement(&self, task: Task, cancel: &Arc<OwnedFd>, is_cancelled: bool) {
        let mut state = self.lock();
        state
            .improvements
            .retain(|improvement| !Arc::ptr_eq(&improvement.cancel, cancel));
        if is_cancelled && state.improving.len() < self.limits.improving_max {
            state.improving.push_back(task);
        } else {
            // If the index has no result of this background conversion, a later request queues it
            // again.
            state.improving_keys.remove(&task.key);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Blocks until a background conversion may start. Then counts one as running, without taking a
    /// task from the queue. Reserves `memory_bytes` for it, but at most the whole budget. Returns
    /// the descriptor that cancels the conversion, and the number of reserved bytes. Returns `None`
    /// if `is_cancelled` becomes true or the queue stops.
    pub(crate) fn start_when_idle(
        &self,
        memory_bytes: u64,
        is_cancelled: &std::sync::atomic::AtomicBool,
    ) -> Option<(Arc<OwnedFd>, u64)> {
        let held_bytes = memory_bytes.min(self.limits.memory_bytes_max);
        let mut has_logged = false;
        let mut state = self.lock();
        while !state.stopping && !is_cancelled.load(Ordering::Relaxed) {
            if self.may_start_background(&state, held_bytes) {
                match new_cancel() {
                    Ok(cancel) => {
                        state.start(held_bytes);
                        state.improvements.push(Improvement {
                            cancel: Arc::clone(&cancel),
                            held_bytes,
                            is_cancelled: false,
                        });
                        return Some((cancel, held_bytes));
                    }
                    // Tries again later, when the host may allow a descriptor. Logs only the first
                    // error of each conversion.
                    Err(err) if !has_logged => {
                        log_refused_eventfd(&err);
                        has_logged = true;
                    }
                    Err(_) => {}
                }
            }
            self.changed.wait_for(&mut state, CANCEL_POLL);
        }
        None
    }

    /// Returns whether a background conversion with this estimate may start: no request waits, and
    /// either no memory is reserved or half of the memory budget stays free.
    fn may_start_background(&self, state: &State, memory_bytes: u64) -> bool {
        !state.has_waiting_requests()
            && (state.running_bytes == 0
                || state.running_bytes + memory_bytes <= self.limits.memory_bytes_max / 2)
    }

    /// Records the end of a conversion that [`Queue::start_when_idle`] has started, and releases
    /// the `held_bytes` that are reserved for it.
    pub(crate) fn end_idle_conversion(&self, cancel: &Arc<OwnedFd>, held_bytes: u64) {
        let mut state = self.lock();
        state
            .improvements
            .retain(|improvement| !Arc::ptr_eq(&improvement.cancel, cancel));
        drop(state);
        self.end_conversion(held_bytes);
    }

    /// Removes and returns the next background conversion. Blocks until no request waits, and until
    /// either no memory is reserved or half of the memory budget stays free. Returns `None` if the
    /// queue stops.
    pub(crate) fn next_improvement(&self) -> Option<(Task, Arc<OwnedFd>)> {
        // A background conversion is cancelled through an eventfd. While the host does not allow
        // another descriptor, no background conversion starts.
        let mut cancel = new_cancel();
        if let Err(err) = &cancel {
            log_refused_eventfd(err);
        }
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
                && self.may_start_background(&state, memory_bytes)
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

/// Returns a new descriptor that cancels a background conversion.
fn new_cancel() -> rustix::io::Result<Arc<OwnedFd>> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new)
}

fn log_refused_eventfd(err: &rustix::io::Errno) {
    tracing::error!(%err, "cannot create an eventfd; background conversions wait until the host \
                           allows an eventfd");
}

impl State {
    fn start(&mut self, memory_bytes: u64) {
        self.running += 1;
        self.running_bytes += memory_bytes;
    }

    /// Records the number of bytes that are reserved for a background conversion.
    fn set_held(&mut self, cancel: &Arc<OwnedFd>, held_bytes: u64) {
        let mut improvements = self.improvements.iter_mut();
        let improvement = improvements.find(|improvement| Arc::ptr_eq(&improvement.cancel, cancel));
        improvement.expect("the improvement runs").held_bytes = held_bytes;
    }

    /// Returns whether a request waits for a thread or for memory. In that case, no background
    /// conversion starts.
    fn has_waiting_requests(&self) -> bool {
        !self.waiting.is_empty() || self.reserving != 0
    }

    fn retry_after_s(&self, limits: &Limits) -> u64 {
        self.waiting_cpu_ms / limits.concurrency as u64 / 1000 + 1
    }

    /// Removes waiting conversions for which no client waits any more. Returns whether any was
    /// removed.
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
