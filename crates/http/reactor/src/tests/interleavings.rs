//! Tests, under `shuttle`, of the state that cores share. The threads of a test run in many
//! interleavings. A wait that never ends is reported as a deadlock, which fails the test.
//!
//! The other tests of this crate start real cores, but the locks of `shuttle` work only under
//! `shuttle`. So this module compiles the files `gate.rs` and `open.rs` once more, with its own
//! `sync`.
//!
//! To check the tests, each of these bugs was injected, and made a test fail:
//! - an arrival at the gate notifies only one waiter, or none;
//! - an arrival is counted by `wait` but not by `drop`;
//! - the count of open connections is compared and changed in two separate operations.

#[allow(clippy::duplicate_mod, reason = "compiled with other locks")]
#[path = "../gate.rs"]
mod gate;
#[allow(clippy::duplicate_mod, reason = "compiled with other locks")]
#[path = "../open.rs"]
mod open;
mod sync {
    pub(crate) use shuttle::sync::atomic::AtomicUsize;
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};

    pub(crate) use crate::sync::UNPOISONED;
}

use gate::{Arrival, Gate};
use open::OpenConnections;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;

/// Number of interleavings per test, for each of two schedulers.
const ORDERS: usize = 1_000;
/// Maximum number of times per interleaving that the scheduler changes the threads' priorities.
const DEPTH: usize = 3;
const CORES: usize = 4;

/// Runs `test` in many interleavings, half of them chosen at random, half of them by thread
/// priorities, which change rarely.
fn in_many_orders(test: fn()) {
    shuttle::check_random(test, ORDERS);
    shuttle::check_pct(test, ORDERS, DEPTH);
}

#[test]
fn no_core_serves_before_all_cores_have_started_or_failed() {
    in_many_orders(|| {
        let gate = Arc::new(Gate::new(CORES));
        let ready = Arc::new(AtomicUsize::new(0));
        let cores: Vec<_> = (0..CORES)
            .map(|core| {
                let (gate, ready) = (Arc::clone(&gate), Arc::clone(&ready));
                thread::spawn(move || {
                    let arrival = Arrival(&gate);
                    ready.fetch_add(1, Ordering::SeqCst);
                    if core == 1 {
                        // This core fails to start: `arrival` is dropped without a wait.
                        return;
                    }
                    arrival.wait();
                    assert_eq!(ready.load(Ordering::SeqCst), CORES);
                })
            })
            .collect();
        for core in cores {
            core.join().expect("no core panics");
        }
    });
}

#[test]
fn cores_that_accept_together_do_not_exceed_the_limit() {
    const CONNECTIONS_MAX: usize = 2;
    in_many_orders(|| {
        let open = Arc::new(OpenConnections::new());
        let served = Arc::new(AtomicUsize::new(0));
        let cores: Vec<_> = (0..CORES)
            .map(|_| {
                let (open, served) = (Arc::clone(&open), Arc::clone(&served));
                thread::spawn(move || {
                    let is_admitted = open.try_add(CONNECTIONS_MAX);
                    if is_admitted {
                        let before = served.fetch_add(1, Ordering::SeqCst);
                        assert!(before < CONNECTIONS_MAX, "{before} were open");
                        served.fetch_sub(1, Ordering::SeqCst);
                        open.remove();
                    }
                })
            })
            .collect();
        for core in cores {
            core.join().expect("no core panics");
        }
        // All connections are closed now. A connection that is counted by `add`, because it
        // replaces an evicted connection, counts towards the limit.
        open.add();
        let admitted = (0..CORES).filter(|_| open.try_add(CONNECTIONS_MAX));
        assert_eq!(admitted.count(), CONNECTIONS_MAX - 1);
    });
}
