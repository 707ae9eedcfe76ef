//! Tests of the single flight and of the queue under `shuttle`, which runs the threads of a test in
//! many interleavings. A wait that never ends is reported as a deadlock and fails the test.
//!
//! Other tests of this crate need the usual locks, but the locks of `shuttle` work only under
//! `shuttle`. So this module compiles the files `single_flight.rs` and `queue.rs` once more, with
//! its own `sync`. The threads of these tests take tasks from the queue, but convert no pictures.
//! Improvements are background conversions, which replace variants by ones of higher effort.
//!
//! Each of these injected bugs of the single flight made a test fail:
//! - a result is sent before its key is free again;
//! - the `drop` of a leader removes the work of the next leader, or does not remove its own work;
//! - the number of waiters is checked under one lock and increased under another;
//! - dropped waiters count towards the limit.
//!
//! Each of these injected bugs of the queue made a test fail:
//! - the threads are not notified of a new conversion, of the end of a conversion, or of a stop;
//! - a notification is sent before the conversion is queued;
//! - `follow` is called outside the lock under which `lead` is called;
//! - memory is not counted, is counted twice, or is released without a notification;
//! - an improvement is not cancelled for a request, is not queued again after its cancellation, or
//!   stays listed after its end;
//! - a wait for memory ignores the stop of the queue or waiting requests.

#[allow(
    clippy::duplicate_mod,
    dead_code,
    unreachable_pub,
    reason = "compiled with other locks; public in the crate"
)]
#[path = "../queue.rs"]
mod queue;
#[allow(
    clippy::duplicate_mod,
    unreachable_pub,
    reason = "compiled with other locks; public in the crate"
)]
#[path = "../single_flight.rs"]
mod single_flight;
mod sync;

use std::os::fd::OwnedFd;

use image_plan::{Effects, Encoding, Format, Orientation, Plan, Rect, Size};
use shuttle::future::block_on;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use shuttle::sync::mpsc;
use shuttle::thread::{self, JoinHandle};
use variants::cache::Key;
use variants::library::{Identity, LibraryPath};

use crate::convert::{Outcome, Pace, Task};
use crate::flight::FlightStats;
use queue::{Limits, Queue, QueuedConversion, Refused};
use single_flight::{Abandoned, Leader, SingleFlight, TooManyWaiters, Waiter};

/// Number of interleavings per test and scheduler. Each test runs with two schedulers.
const ORDERS: usize = 1_000;
/// Maximum number of changes of thread priorities in one interleaving.
const DEPTH: usize = 3;
/// Number of threads that make requests.
const CALLERS: usize = 3;

/// Expected state of a queue in which no conversion waits or runs.
const IDLE: FlightStats = FlightStats {
    waiting: 0,
    running: 0,
    improvements_running: 0,
    improving: 0,
    cancelled: 0,
    memory_bytes: 0,
};

/// Runs `test` in many interleavings: first with random scheduling, then with thread priorities
/// that change rarely.
fn in_many_orders(test: fn()) {
    shuttle::check_random(test, ORDERS);
    shuttle::check_pct(test, ORDERS, DEPTH);
}

/// Starts `count` threads. Each runs `work` with its own number, counted from 0.
fn spawn(count: usize, work: impl Fn(usize) + Clone + Send + 'static) -> Vec<JoinHandle<()>> {
    let start = |number| {
        let work = work.clone();
        thread::spawn(move || work(number))
    };
    (0..count).map(start).collect()
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}

type OneLeader = Leader<u32, u32, AtomicU32>;
type OneWaiter = Waiter<u32, AtomicU32>;

/// Single flight with one key, and the lock that callers hold while they join or start the work for
/// this key.
struct OneKey {
    flights: SingleFlight<u32, u32, AtomicU32>,
    admission: sync::Mutex<()>,
    /// Number of leaders that the key has had.
    led: AtomicU32,
}

impl OneKey {
    fn new(waiters_max: usize) -> Arc<OneKey> {
        Arc::new(OneKey {
            flights: SingleFlight::new(waiters_max),
            admission: sync::Mutex::default(),
            led: AtomicU32::new(0),
        })
    }

    /// Joins the work for the key. If there is none, starts it and also returns the leader, with
    /// its number.
    fn join(&self) -> (Option<(u32, OneLeader)>, OneWaiter) {
        let admission = self.admission.lock();
        if let Some(waiter) = self.flights.follow(&1).expect("there is room") {
            return (None, waiter);
        }
        let (leader, waiter) = self.flights.lead(1);
        drop(admission);
        let number = self.led.fetch_add(1, Ordering::SeqCst);
        (Some((number, leader)), waiter)
    }
}

#[test]
fn a_key_has_one_leader_at_a_time_and_all_waiters_get_its_result() {
    in_many_orders(|| {
        let key = OneKey::new(CALLERS);
        let is_led = Arc::new(AtomicBool::new(false));
        let called = Arc::clone(&key);
        join(spawn(CALLERS, move |_| {
            let (leader, mut waiter) = called.join();
            if let Some((number, leader)) = leader {
                assert!(!is_led.swap(true, Ordering::SeqCst), "two leaders");
                leader.start();
                leader.progress().store(number, Ordering::SeqCst);
                is_led.store(false, Ordering::SeqCst);
                leader.finish(&number);
            }
            let result = block_on(waiter.wait());
            assert!(waiter.has_started());
            assert_eq!(result, Ok(waiter.progress().load(Ordering::SeqCst)));
        }));
        assert!(key.flights.is_empty());
    });
}

#[test]
fn waiters_of_a_dropped_leader_fail_and_one_of_them_leads_next() {
    in_many_orders(|| {
        let key = OneKey::new(CALLERS);
        let failed = Arc::new(AtomicUsize::new(0));
        let (called, counted) = (Arc::clone(&key), Arc::clone(&failed));
        join(spawn(CALLERS, move |_| {
            loop {
                let (leader, mut waiter) = called.join();
                match leader {
                    Some((0, leader)) => drop(leader),
                    Some((number, leader)) => leader.finish(&number),
                    None => {}
                }
                match block_on(waiter.wait()) {
                    Ok(number) => {
                        assert_ne!(number, 0);
                        return;
                    }
                    Err(Abandoned) => counted.fetch_add(1, Ordering::SeqCst),
                };
            }
        }));
        assert!(key.flights.is_empty());
        // Only waiters of the first leader fail, since only this leader was dropped without a
        // result. At least one fails: the waiter of the caller that became the first leader.
        let failed = failed.load(Ordering::SeqCst);
        assert!((1..=CALLERS).contains(&failed), "{failed} failed");
    });
}

#[test]
fn callers_that_join_together_do_not_exceed_the_limit_of_waiters() {
    const WAITERS_MAX: usize = 2;
    in_many_orders(|| {
        let key = OneKey::new(WAITERS_MAX);
        let (leader, first) = key.flights.lead(1);
        // Starts at 1, since the caller that started the flight waits, too.
        let waiting = Arc::new(AtomicUsize::new(1));
        let followed = Arc::clone(&key);
        join(spawn(CALLERS, move |_| {
            let Ok(waiter) = followed.flights.follow(&1) else {
                return;
            };
            let waiter = waiter.expect("the key has a leader");
            let before = waiting.fetch_add(1, Ordering::SeqCst);
            assert!(before < WAITERS_MAX, "{before} waited");
            waiting.fetch_sub(1, Ordering::SeqCst);
            drop(waiter);
        }));
        assert!(leader.is_awaited());
        let second = key.flights.follow(&1).expect("the others have left");
        assert!(matches!(key.flights.follow(&1), Err(TooManyWaiters)));
        drop((first, second));
        assert!(!leader.is_awaited());
    });
}

/// Returns a conversion. Conversions with different numbers have different keys and equal costs.
fn task(number: u64) -> Task {
    let size = Size::new(100, 100);
    let plan = Plan {
        source: Format::Jpeg,
        stored: size,
        orientation: Orientation::Upright,
        crop: Rect { x: 0, y: 0, size },
        inner: size,
        target: size,
        encoding: Encoding::Avif {
            quality: 66,
            speed: 9,
            lossless: false,
        },
        page: 1,
        effects: Effects::NONE,
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: None,
    };
    let identity = Identity {
        device: 0,
        inode: number,
        size_bytes: 0,
        modified_s: 0,
        modified_ns: 0,
        inode_changed_s: 0,
        inode_changed_ns: 0,
    };
    Task {
        key: Key::new(&identity, &plan),
        plan,
        path: LibraryPath::from_target("/1.jpg").expect("a valid path"),
        identity,
        original_competes: false,
        replaces: None,
        pace: Pace::Awaited,
    }
}

/// Returns the estimated memory of each conversion of these tests, in bytes.
fn memory_bytes() -> u64 {
    task(0).plan.cost().memory_bytes
}

/// Returns a queue in which `running_max` conversions may run and `waiting_max` more may wait.
fn queue(running_max: u64, waiting_max: usize) -> Arc<Queue> {
    Arc::new(Queue::new(Limits {
        concurrency: 2,
        waiting_max,
        waiting_cpu_ms_max: 1 << 32,
        // This time limit is never reached, since time does not pass under `shuttle`.
        waiting_ms_max: 1 << 32,
        memory_bytes_max: running_max * memory_bytes(),
        waiters_max: CALLERS,
        improving_max: 2,
    }))
}

/// Conversions that the threads of a test are running.
#[derive(Default)]
struct Running {
    count: AtomicUsize,
    /// True for each key that is being converted. A key is the inode number of an original.
    keys: [AtomicBool; 2],
}

impl Running {
    /// Runs `work` as a conversion. Checks that no other conversion with the same key runs, and
    /// that at most `running_max` conversions run in total.
    fn run<T>(&self, task: &Task, running_max: usize, work: impl FnOnce() -> T) -> T {
        let key = &self.keys[task.identity.inode as usize];
        assert!(!key.swap(true, Ordering::SeqCst), "one conversion per key");
        let before = self.count.fetch_add(1, Ordering::SeqCst);
        assert!(before < running_max, "{before} conversions run");
        let done = work();
        self.count.fetch_sub(1, Ordering::SeqCst);
        key.store(false, Ordering::SeqCst);
        done
    }
}

/// Takes conversions for requests from the queue and ends them, as a conversion thread does, until
/// the queue stops.
fn serve_requests(queue: &Queue, running: &Running, running_max: usize) {
    while let Some(QueuedConversion { task, leader }) = queue.next_request() {
        running.run(&task, running_max, || {});
        queue.end_conversion(task.plan.cost().memory_bytes);
        leader.finish(&Outcome::Refused);
    }
}

/// Takes background conversions from the queue, as a thread of the server does, until the queue
/// stops. A conversion ends when it is cancelled or when `may_end` returns true. In the second
/// case, sends a message to `ended`.
fn serve_improvements(
    queue: &Queue,
    running: &Running,
    running_max: usize,
    may_end: impl Fn() -> bool,
    ended: &mpsc::Sender<()>,
) {
    while let Some((task, cancel)) = queue.next_improvement() {
        let is_cancelled = running.run(&task, running_max, || {
            loop {
                if is_readable(&cancel) {
                    return true;
                }
                if may_end() {
                    return false;
                }
                thread::yield_now();
            }
        });
        queue.end_conversion(task.plan.cost().memory_bytes);
        queue.end_improvement(task, &cancel, is_cancelled);
        if !is_cancelled {
            ended.send(()).expect("the test waits for it");
        }
    }
}

/// Returns whether the counter of an eventfd is not zero, and resets the counter. Does not block.
fn is_readable(eventfd: &OwnedFd) -> bool {
    rustix::io::read(eventfd, &mut [0; 8]).is_ok()
}

#[test]
fn every_request_gets_an_outcome_and_conversions_fit_into_memory() {
    in_many_orders(|| {
        let queue = queue(1, CALLERS);
        let running = Arc::new(Running::default());
        let served = Arc::clone(&queue);
        let threads = spawn(2, move |_| serve_requests(&served, &running, 1));
        let asked = Arc::clone(&queue);
        join(spawn(CALLERS, move |number| {
            let waiter = asked.join(task(number as u64 % 2));
            let mut waiter = waiter.expect("there is room");
            let outcome = block_on(waiter.wait());
            assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        }));
        queue.stop();
        join(threads);
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn requests_of_a_queue_that_stops_do_not_wait_for_ever() {
    in_many_orders(|| {
        let queue = queue(1, CALLERS);
        let running = Arc::new(Running::default());
        let served = Arc::clone(&queue);
        let threads = spawn(2, move |_| serve_requests(&served, &running, 1));
        let asked = Arc::clone(&queue);
        let callers = spawn(CALLERS, move |number| {
            let waiter = asked.join(task(number as u64 % 2));
            waiter.expect("there is room");
        });
        let mut waiter = queue.join(task(0)).expect("there is room");
        queue.stop();
        join(threads);
        join(callers);
        drop(queue);
        let outcome = block_on(waiter.wait());
        assert!(matches!(outcome, Ok(Outcome::Refused) | Err(Abandoned)));
    });
}

#[test]
fn requests_that_come_together_do_not_exceed_the_limit_of_the_queue() {
    const WAITING_MAX: usize = 2;
    in_many_orders(|| {
        let queue = queue(1, WAITING_MAX);
        let refused = Arc::new(AtomicUsize::new(0));
        let (asked, counted) = (Arc::clone(&queue), Arc::clone(&refused));
        let (kept, waiters) = mpsc::channel();
        join(spawn(CALLERS, move |number| {
            match asked.join(task(number as u64)) {
                Ok(waiter) => kept.send(waiter).expect("the test keeps them"),
                Err(refusal) => {
                    let retry_after_s = asked.retry_after_s();
                    assert_eq!(refusal, Refused::Overloaded { retry_after_s });
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            }
        }));
        assert_eq!(refused.load(Ordering::SeqCst), CALLERS - WAITING_MAX);
        assert_eq!(queue.stats().waiting, WAITING_MAX as u64);
        drop(waiters);
        // The waiters were dropped, so there is room for another request.
        queue.join(task(9)).expect("there is room");
        assert_eq!(queue.stats().waiting, 1);
    });
}

#[test]
fn each_request_gets_the_memory_of_an_improvement_which_runs_again() {
    const REQUESTS: u64 = 2;
    in_many_orders(|| {
        let queue = queue(1, 1);
        let running = Arc::new(Running::default());
        let is_served = Arc::new(AtomicBool::new(false));
        let (ended, has_ended) = mpsc::channel();
        queue.improve(task(0));
        let (served, counted) = (Arc::clone(&queue), Arc::clone(&running));
        let mut threads = spawn(1, move |_| serve_requests(&served, &counted, 1));
        let (improved, may_end) = (Arc::clone(&queue), Arc::clone(&is_served));
        threads.extend(spawn(1, move |_| {
            let may_end = || may_end.load(Ordering::SeqCst);
            serve_improvements(&improved, &running, 1, may_end, &ended);
        }));
        for _ in 0..REQUESTS {
            let mut waiter = queue.join(task(1)).expect("there is room");
            let outcome = block_on(waiter.wait());
            assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        }
        is_served.store(true, Ordering::SeqCst);
        has_ended.recv().expect("the improvement ends");
        queue.stop();
        join(threads);
        let cancelled = queue.stats().cancelled;
        assert!(cancelled <= REQUESTS, "cancelled {cancelled} times");
        assert_eq!(queue.stats(), FlightStats { cancelled, ..IDLE });
        // The queue accepts the same background conversion again.
        queue.improve(task(0));
        assert_eq!(queue.stats().improving, 1);
    });
}

#[test]
fn an_improvement_starts_once_the_last_request_has_left() {
    in_many_orders(|| {
        let queue = queue(1, 1);
        let running = Arc::new(Running::default());
        let (ended, has_ended) = mpsc::channel();
        let (served, counted) = (Arc::clone(&queue), Arc::clone(&running));
        let mut threads = spawn(1, move |_| serve_requests(&served, &counted, 1));
        let improved = Arc::clone(&queue);
        threads.extend(spawn(1, move |_| {
            serve_improvements(&improved, &running, 1, || true, &ended);
        }));
        queue.improve(task(0));
        drop(queue.join(task(1)).expect("there is room"));
        has_ended.recv().expect("the improvement ends");
        // The queue is idle, so only this call can wake the threads.
        queue.improve(task(0));
        has_ended.recv().expect("the improvement ends");
        queue.stop();
        join(threads);
    });
}

#[test]
fn an_improvement_runs_beside_a_request_that_leaves_it_memory() {
    in_many_orders(|| {
        // The memory suffices for four conversions, so that two can run: a background conversion
        // starts only if half of the memory stays free.
        let queue = queue(4, 1);
        let (ended, has_ended) = mpsc::channel();
        let served = Arc::clone(&queue);
        let converting = thread::spawn(move || {
            let request = served.next_request().expect("the queue does not stop");
            // This conversion for a request runs until the background conversion has ended.
            has_ended.recv().expect("the improvement ends");
            served.end_conversion(memory_bytes());
            request.leader.finish(&Outcome::Refused);
        });
        let improved = Arc::clone(&queue);
        let improving = thread::spawn(move || {
            let next = improved.next_improvement();
            let (task, cancel) = next.expect("the queue does not stop");
            let mut held_bytes = memory_bytes();
            assert!(improved.reserve_memory(&mut held_bytes, memory_bytes(), Some(&cancel)));
            improved.end_conversion(held_bytes);
            improved.end_improvement(task, &cancel, false);
            ended.send(()).expect("the conversion waits for it");
        });
        queue.improve(task(0));
        let mut waiter = queue.join(task(1)).expect("there is room");
        let outcome = block_on(waiter.wait());
        assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        join(vec![converting, improving]);
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn conversions_that_need_more_memory_than_planned_all_get_it() {
    in_many_orders(|| {
        const RUNNING_MAX: u64 = 2;
        let queue = queue(RUNNING_MAX, CALLERS);
        let used_bytes = Arc::new(AtomicUsize::new(0));
        let served = Arc::clone(&queue);
        let threads = spawn(2, move |_| {
            while let Some(QueuedConversion { task, leader }) = served.next_request() {
                let mut held_bytes = task.plan.cost().memory_bytes;
                let wanted_bytes = RUNNING_MAX * held_bytes;
                assert!(served.reserve_memory(&mut held_bytes, wanted_bytes, None));
                assert_eq!(held_bytes, wanted_bytes);
                let before = used_bytes.swap(held_bytes as usize, Ordering::SeqCst);
                assert_eq!(before, 0, "each conversion needs all memory");
                used_bytes.store(0, Ordering::SeqCst);
                served.end_conversion(held_bytes);
                leader.finish(&Outcome::Refused);
            }
        });
        let asked = Arc::clone(&queue);
        join(spawn(CALLERS, move |number| {
            let waiter = asked.join(task(number as u64));
            let outcome = block_on(waiter.expect("there is room").wait());
            assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        }));
        queue.stop();
        join(threads);
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn jobs_and_conversions_share_the_memory() {
    in_many_orders(|| {
        let queue = queue(1, CALLERS);
        let used_bytes = Arc::new(AtomicUsize::new(0));
        let alone = |used_bytes: &AtomicUsize| {
            let before = used_bytes.swap(1, Ordering::SeqCst);
            assert_eq!(before, 0, "each needs all memory");
            used_bytes.store(0, Ordering::SeqCst);
        };
        let (served, used) = (Arc::clone(&queue), Arc::clone(&used_bytes));
        let threads = spawn(1, move |_| {
            while let Some(QueuedConversion { task, leader }) = served.next_request() {
                alone(&used);
                served.end_conversion(task.plan.cost().memory_bytes);
                leader.finish(&Outcome::Refused);
            }
        });
        let asked = Arc::clone(&queue);
        join(spawn(CALLERS, move |number| {
            if number == 0 {
                let held_bytes = asked.reserve_for_job(memory_bytes()).expect("it runs");
                alone(&used_bytes);
                asked.release_job(held_bytes);
                return;
            }
            let waiter = asked.join(task(number as u64));
            let outcome = block_on(waiter.expect("there is room").wait());
            assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        }));
        queue.stop();
        join(threads);
        assert_eq!(queue.stats(), IDLE);
        assert_eq!(
            queue.reserve_for_job(1),
            None,
            "a stopped queue reserves nothing"
        );
    });
}

#[test]
fn an_improvement_waits_for_the_memory_of_a_job() {
    in_many_orders(|| {
        let queue = queue(1, 1);
        let held_bytes = queue.reserve_for_job(memory_bytes()).expect("it runs");
        let has_memory = Arc::new(AtomicBool::new(true));
        let (served, is_held) = (Arc::clone(&queue), Arc::clone(&has_memory));
        let threads = spawn(1, move |_| {
            while let Some((task, cancel)) = served.next_improvement() {
                assert!(!is_held.load(Ordering::SeqCst), "the job has all memory");
                served.end_conversion(task.plan.cost().memory_bytes);
                served.end_improvement(task, &cancel, false);
            }
        });
        queue.improve(task(0));
        thread::yield_now();
        has_memory.store(false, Ordering::SeqCst);
        queue.release_job(held_bytes);
        while queue.stats().running != 0 || queue.stats().improving != 0 {
            thread::yield_now();
        }
        queue.stop();
        join(threads);
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn a_prefetch_waits_for_the_memory_of_a_job() {
    in_many_orders(|| {
        let queue = queue(1, 1);
        let held_bytes = queue.reserve_for_job(memory_bytes()).expect("it runs");
        let has_memory = Arc::new(AtomicBool::new(true));
        let (served, is_held) = (Arc::clone(&queue), Arc::clone(&has_memory));
        let threads = spawn(1, move |_| {
            let is_cancelled = std::sync::atomic::AtomicBool::new(false);
            let started = served.start_when_idle(memory_bytes(), &is_cancelled);
            let (cancel, prefetch_bytes) = started.expect("neither is cancelled");
            assert!(!is_held.load(Ordering::SeqCst), "the job has all memory");
            served.end_idle_conversion(&cancel, prefetch_bytes);
        });
        thread::yield_now();
        has_memory.store(false, Ordering::SeqCst);
        queue.release_job(held_bytes);
        join(threads);
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn a_conversion_that_needs_all_memory_cancels_each_improvement_once() {
    const IMPROVEMENTS: u64 = 2;
    in_many_orders(|| {
        const ALL: u64 = 4;
        let queue = queue(ALL, 1);
        let is_served = Arc::new(AtomicBool::new(false));
        let (ended, has_ended) = mpsc::channel();
        let served = Arc::clone(&queue);
        let mut threads = spawn(1, move |_| {
            while let Some(QueuedConversion { task, leader }) = served.next_request() {
                let mut held_bytes = task.plan.cost().memory_bytes;
                let all_bytes = ALL * held_bytes;
                assert!(served.reserve_memory(&mut held_bytes, all_bytes, None));
                assert_eq!(served.stats().running, 1);
                served.end_conversion(held_bytes);
                leader.finish(&Outcome::Refused);
            }
        });
        let (improved, may_end) = (Arc::clone(&queue), Arc::clone(&is_served));
        let running = Arc::new(Running::default());
        threads.extend(spawn(IMPROVEMENTS as usize, move |number| {
            // The first of these threads may end its background conversion at any time.
            let may_end = || number == 0 || may_end.load(Ordering::SeqCst);
            serve_improvements(&improved, &running, IMPROVEMENTS as usize, may_end, &ended);
        }));
        for number in 0..IMPROVEMENTS {
            queue.improve(task(number));
        }
        let mut waiter = queue.join(task(9)).expect("there is room");
        let outcome = block_on(waiter.wait());
        assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        is_served.store(true, Ordering::SeqCst);
        for _ in 0..IMPROVEMENTS {
            has_ended.recv().expect("the improvements end");
        }
        queue.stop();
        join(threads);
        let cancelled = queue.stats().cancelled;
        assert!(cancelled <= IMPROVEMENTS, "cancelled {cancelled} times");
        assert_eq!(queue.stats(), FlightStats { cancelled, ..IDLE });
    });
}

/// Waits until a running background conversion is cancelled, and then ends it.
fn run_until_cancelled(queue: &Queue, task: Task, cancel: &Arc<OwnedFd>, held_bytes: u64) {
    while !is_readable(cancel) {
        thread::yield_now();
    }
    queue.end_conversion(held_bytes);
    queue.end_improvement(task, cancel, true);
}

#[test]
fn a_request_cancels_the_improvement_that_holds_memory_not_one_that_waits_for_it() {
    in_many_orders(|| {
        let queue = queue(4, 1);
        let all_bytes = 4 * memory_bytes();
        let serve = |number| {
            let mut waiter = queue.join(task(number)).expect("there is room");
            let request = queue.next_request().expect("a request waits");
            let mut held_bytes = memory_bytes();
            assert!(queue.reserve_memory(&mut held_bytes, all_bytes, None));
            queue.end_conversion(held_bytes);
            request.leader.finish(&Outcome::Refused);
            assert!(matches!(block_on(waiter.wait()), Ok(Outcome::Refused)));
        };
        queue.improve(task(0));
        queue.improve(task(1));
        let [first, second] = [(); 2].map(|()| queue.next_improvement().expect("two are queued"));
        let (improved, (first, first_cancel)) = (Arc::clone(&queue), first);
        let first = thread::spawn(move || {
            let (mut held_bytes, cancel) = (memory_bytes(), first_cancel);
            assert!(improved.reserve_memory(&mut held_bytes, all_bytes, Some(&cancel)));
            run_until_cancelled(&improved, first, &cancel, held_bytes);
        });
        let (improved, (second, cancel)) = (Arc::clone(&queue), second);
        let second = thread::spawn(move || {
            run_until_cancelled(&improved, second, &cancel, memory_bytes());
        });
        while queue.stats().memory_bytes != memory_bytes() {
            // The first background conversion has not released its memory yet.
            thread::yield_now();
        }
        serve(2);
        assert_eq!(queue.stats().cancelled, 1);
        join(vec![second]);
        while queue.stats().memory_bytes != all_bytes {
            // The first background conversion still waits for a part of the memory that it needs.
            thread::yield_now();
        }
        serve(3);
        join(vec![first]);
        let (improving, cancelled) = (2, 2);
        let stats = FlightStats {
            improving,
            cancelled,
            ..IDLE
        };
        assert_eq!(queue.stats(), stats);
    });
}

#[test]
fn an_improvement_runs_beside_a_conversion_that_waited_for_memory() {
    in_many_orders(|| {
        // Half of the memory, in multiples of the memory of one conversion. This half must stay
        // free when a background conversion starts.
        const HALF: u64 = 4;
        let queue = queue(2 * HALF, 2);
        let waiters = [1, 2].map(|number| queue.join(task(number)).expect("there is room"));
        let [large, small] = [(); 2].map(|()| queue.next_request().expect("a request waits"));
        let mut large_bytes = memory_bytes();
        assert!(queue.reserve_memory(&mut large_bytes, 6 * memory_bytes(), None));
        let (ended, has_ended) = mpsc::channel();
        let converted = Arc::clone(&queue);
        let converting = thread::spawn(move || {
            let mut held_bytes = memory_bytes();
            assert!(converted.reserve_memory(&mut held_bytes, 3 * memory_bytes(), None));
            // This conversion for a request runs until the background conversion has ended.
            has_ended.recv().expect("the improvement ends");
            converted.end_conversion(held_bytes);
            small.leader.finish(&Outcome::Refused);
        });
        let improved = Arc::clone(&queue);
        let improving = thread::spawn(move || {
            let next = improved.next_improvement();
            let (task, cancel) = next.expect("the queue does not stop");
            let used_bytes = improved.stats().memory_bytes;
            assert!(used_bytes <= HALF * memory_bytes(), "{used_bytes} bytes");
            improved.end_conversion(memory_bytes());
            improved.end_improvement(task, &cancel, false);
            ended.send(()).expect("the conversion waits for it");
        });
        queue.improve(task(0));
        queue.end_conversion(large_bytes);
        large.leader.finish(&Outcome::Refused);
        join(vec![converting, improving]);
        for mut waiter in waiters {
            assert!(matches!(block_on(waiter.wait()), Ok(Outcome::Refused)));
        }
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn memory_that_a_conversion_gives_back_starts_the_next_one() {
    in_many_orders(|| {
        let queue = queue(2, CALLERS);
        let started = Arc::new(AtomicUsize::new(0));
        let (ended, has_ended) = mpsc::channel();
        let has_ended = Arc::new(sync::Mutex::new(has_ended));
        let served = Arc::clone(&queue);
        let threads = spawn(3, move |_| {
            let next = served.next_request().expect("the queue does not stop");
            let mut held_bytes = memory_bytes();
            match started.fetch_add(1, Ordering::SeqCst) {
                // The first conversion ends after the third one.
                0 => has_ended.lock().recv().expect("the third one ends"),
                // The second conversion releases its memory and waits for twice as much.
                1 => assert!(served.reserve_memory(&mut held_bytes, 2 * memory_bytes(), None)),
                _ => ended.send(()).expect("the first one waits"),
            }
            served.end_conversion(held_bytes);
            next.leader.finish(&Outcome::Refused);
        });
        let waiters: Vec<_> = (0..3)
            .map(|number| queue.join(task(number)).expect("there is room"))
            .collect();
        join(threads);
        for mut waiter in waiters {
            let outcome = block_on(waiter.wait());
            assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        }
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn an_improvement_gets_more_memory_after_waiting_requests_have_started() {
    in_many_orders(|| {
        let queue = queue(4, 1);
        let (improving, is_improving) = mpsc::channel();
        let (asked, is_asked) = mpsc::channel();
        let improved = Arc::clone(&queue);
        let improvement = thread::spawn(move || {
            let next = improved.next_improvement();
            let (task, cancel) = next.expect("the queue does not stop");
            improving.send(()).expect("the test waits for it");
            is_asked.recv().expect("the request is queued");
            let mut held_bytes = memory_bytes();
            assert!(improved.reserve_memory(&mut held_bytes, 2 * memory_bytes(), Some(&cancel)));
            assert_eq!(improved.stats().waiting, 0);
            improved.end_conversion(held_bytes);
            improved.end_improvement(task, &cancel, false);
        });
        queue.improve(task(0));
        is_improving.recv().expect("the improvement starts");
        let served = Arc::clone(&queue);
        let running = Arc::new(Running::default());
        let threads = spawn(1, move |_| serve_requests(&served, &running, 1));
        let mut waiter = queue.join(task(1)).expect("there is room");
        asked.send(()).expect("the improvement waits for it");
        let outcome = block_on(waiter.wait());
        assert!(matches!(outcome, Ok(Outcome::Refused)), "{outcome:?}");
        join(vec![improvement]);
        queue.stop();
        join(threads);
        assert_eq!(queue.stats(), IDLE);
    });
}

#[test]
fn a_conversion_of_a_queue_that_stops_does_not_wait_for_memory() {
    in_many_orders(|| {
        let queue = queue(2, 2);
        let waiters = [1, 2].map(|number| queue.join(task(number)).expect("there is room"));
        let [first, second] = [(); 2].map(|()| queue.next_request().expect("a request waits"));
        let reserved = Arc::clone(&queue);
        let reserving = thread::spawn(move || {
            let mut held_bytes = memory_bytes();
            assert!(!reserved.reserve_memory(&mut held_bytes, 2 * memory_bytes(), None));
            assert_eq!(held_bytes, 0);
            reserved.end_conversion(held_bytes);
            second.leader.finish(&Outcome::Refused);
        });
        queue.stop();
        join(vec![reserving]);
        queue.end_conversion(memory_bytes());
        first.leader.finish(&Outcome::Refused);
        for mut waiter in waiters {
            assert!(matches!(block_on(waiter.wait()), Ok(Outcome::Refused)));
        }
        assert_eq!(queue.stats(), IDLE);
    });
}
