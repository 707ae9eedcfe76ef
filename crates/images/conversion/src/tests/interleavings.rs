//! Tests, under `shuttle`, of the single flight: the threads of a test run in many
//! interleavings, and a wait that never ends is reported as a deadlock, which fails the test.
//!
//! Other tests of this crate need real locks, and the locks of `shuttle` work only under `shuttle`.
//! So this module compiles the file `single_flight.rs` once more, with its own `sync`.
//!
//! Each of these injected bugs made a test fail: a result that is sent before
//! its flight is removed; a leader whose `drop` removes the next leader's flight, or none; a limit
//! of waiters that is checked under one lock and used under another, or that counts waiters which
//! have left.

#[allow(
    clippy::duplicate_mod,
    unreachable_pub,
    reason = "compiled with other locks; public in the crate"
)]
#[path = "../single_flight.rs"]
mod single_flight;
mod sync;

use shuttle::future::block_on;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use shuttle::thread::{self, JoinHandle};
use single_flight::{Abandoned, Leader, SingleFlight, TooManyWaiters, Waiter};

/// Number of interleavings per test, for each of two schedulers.
const ORDERS: usize = 1_000;
/// Maximum number of times that the scheduler changes a thread's priority in one interleaving.
const DEPTH: usize = 3;
/// Number of threads that make requests.
const CALLERS: usize = 3;

/// Runs `test` in many interleavings, half of them at random, half with priorities that change
/// rarely.
fn in_many_orders(test: fn()) {
    shuttle::check_random(test, ORDERS);
    shuttle::check_pct(test, ORDERS, DEPTH);
}

/// Starts `count` threads that run `work` with their number.
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

/// Single flight for one key, with the lock under which callers decide whether to lead.
struct OneKey {
    flights: SingleFlight<u32, u32, AtomicU32>,
    admission: sync::Mutex<()>,
    /// Number of flights that were led.
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

    /// Joins the flight, or leads one, as the queue does. A leader comes with its number.
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
        // Only the waiters of the first leader fail, its own waiter among them.
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
        // The first waiter counts towards the limit.
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
