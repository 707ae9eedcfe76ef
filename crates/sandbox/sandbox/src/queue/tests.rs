//! Tests of the queue under `shuttle`: callers, supervisor and ending children run in many
//! interleavings. Time does not pass under `shuttle`, so a wait without a notification is a
//! deadlock, which fails the test.
//!
//! Each of these bugs was inserted on purpose, and made a test fail: a dropped permit notifies no
//! waiter; a dropped permit does not lower the number of running jobs; slots are taken before the
//! signal is cleared; slots are given back after the signal is raised.

use super::{Queue, Signal};
use crate::exit::{ExitOutcome, PendingExit};
use crate::place::Cores;
use crate::sync::{Condvar, Mutex, UNPOISONED};
use sandbox_protocol::control::ExitReport;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use std::time::Duration;

/// Number of interleavings per test, for each of two schedulers.
const ORDERS: usize = 1_000;
/// Maximum number of times that the scheduler changes a thread's priority in one interleaving.
const DEPTH: usize = 3;

/// Exit report of a child that was killed.
const KILLED: ExitReport = ExitReport {
    status: 9,
    cpu_us: 0,
    memory_peak_bytes: 0,
};

/// Timeout that never expires, because time does not pass in these tests.
const LONGEST: Duration = Duration::from_secs(1);

/// Signal for which a thread can wait.
#[derive(Default)]
struct TestSignal {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl TestSignal {
    fn wait(&self) {
        let raised = self.raised.lock().expect(UNPOISONED);
        let guard = self.changed.wait_while(raised, |raised| !*raised);
        drop(guard.expect(UNPOISONED));
    }
}

impl Signal for TestSignal {
    fn raise(&self) {
        *self.raised.lock().expect(UNPOISONED) = true;
        self.changed.notify_one();
    }

    fn clear(&self) {
        *self.raised.lock().expect(UNPOISONED) = false;
    }
}

/// Child in the queue, without a process.
struct Child {
    id: u32,
    end: Arc<PendingExit>,
}

type Children = Queue<Child, TestSignal>;

fn queue(concurrency: u32) -> Arc<Children> {
    let cores = Cores::any();
    Arc::new(Queue::new(4, concurrency, cores, TestSignal::default()))
}

fn child(id: u32) -> Child {
    let end = Arc::default();
    Child { id, end }
}

/// Runs `test` in many interleavings of threads: half of them with random scheduling, half with
/// thread priorities that change rarely.
fn in_many_orders(test: fn()) {
    shuttle::check_random(test, ORDERS);
    shuttle::check_pct(test, ORDERS, DEPTH);
}

/// Checks that no slot and no permit was lost: `slots` slots are ready, and no job runs.
fn assert_whole(queue: &Children, slots: usize) {
    let state = queue.lock();
    assert_eq!(state.ready.len(), slots);
    assert_eq!(state.running, 0);
    assert!(state.returned.is_empty());
}

/// Runs as the supervisor of reusable children: until the pool stops, it queues the children that
/// were given back.
fn supervise(queue: &Children) {
    while !queue.is_stopping() {
        queue.wake.wait();
        for child in queue.take_returned() {
            queue.push_again(child);
        }
    }
    // A slot may have been given back just before the pool stopped.
    for child in queue.take_returned() {
        queue.push_again(child);
    }
}

#[test]
fn callers_share_slots_and_none_waits_for_ever() {
    in_many_orders(|| {
        let queue = queue(2);
        let running = Arc::new(AtomicU32::new(0));
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let (queue, running) = (Arc::clone(&queue), Arc::clone(&running));
                thread::spawn(move || {
                    let acquired = queue.acquire(LONGEST, false);
                    let (child, permit) = acquired.expect("there is a child for each caller");
                    assert!(running.fetch_add(1, Ordering::SeqCst) < 2, "concurrency");
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                    child.id
                })
            })
            .collect();
        // Three jobs need three children, since single-use children are not given back.
        (0..3).for_each(|id| queue.push(child(id)));
        let mut served_ids: Vec<_> = callers
            .into_iter()
            .map(|caller| caller.join().expect("no caller panics"))
            .collect();
        served_ids.sort_unstable();
        assert_eq!(served_ids, [0, 1, 2], "each child has one caller");
        assert_whole(&queue, 0);
    });
}

#[test]
fn slots_that_are_given_back_serve_the_next_callers() {
    in_many_orders(|| {
        let queue = queue(2);
        (0..2).for_each(|id| queue.push(child(id)));
        let supervisor = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || supervise(&queue))
        };
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let acquired = queue.acquire(LONGEST, false);
                    let (child, permit) = acquired.expect("a child");
                    queue.give_back(child);
                    drop(permit);
                })
            })
            .collect();
        for caller in callers {
            caller.join().expect("no caller panics");
        }
        // Both children can be acquired at the same time only if both were given back.
        let acquired = [(); 2].map(|()| queue.acquire(LONGEST, false).expect("both come back"));
        for (child, permit) in acquired {
            queue.give_back(child);
            drop(permit);
        }
        queue.stop();
        supervisor.join().expect("the supervisor does not panic");
        assert_whole(&queue, 2);
    });
}

#[test]
fn a_caller_learns_of_the_death_of_its_child_and_the_next_gets_another() {
    in_many_orders(|| {
        let queue = queue(1);
        let dying = child(0);
        let end = Arc::clone(&dying.end);
        queue.push(dying);
        let reaper = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                // The child may die in the queue, or while a caller holds it.
                drop(queue.remove_ready(|child| child.id == 0));
                end.resolve(ExitOutcome::Reaped(KILLED));
                queue.push(child(1));
            })
        };
        let caller = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let acquired = queue.acquire(LONGEST, false);
                let (child, permit) = acquired.expect("one child or its replacement");
                let id = child.id;
                if id == 0 {
                    let outcome = child.end.wait(LONGEST);
                    assert_eq!(outcome, ExitOutcome::Reaped(KILLED));
                }
                drop(permit);
                id
            })
        };
        let first = caller.join().expect("the caller does not panic");
        reaper.join().expect("the reaper does not panic");
        assert_whole(&queue, usize::from(first == 0));
        if first == 0 {
            let acquired = queue.acquire(LONGEST, false);
            assert_eq!(acquired.expect("the replacement").0.id, 1);
        }
    });
}

#[test]
fn a_caller_that_fails_leaves_its_permit() {
    in_many_orders(|| {
        let queue = queue(1);
        (0..2).for_each(|id| queue.push(child(id)));
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let (_child, _permit) = queue.acquire(LONGEST, false)?;
                    // This simulates a caller that drops its permit because of an error before the
                    // reply.
                    None::<()>
                })
            })
            .collect();
        for caller in callers {
            assert_eq!(caller.join().expect("no caller panics"), None);
        }
        assert_whole(&queue, 0);
    });
}

#[test]
fn a_pool_that_stops_ends_its_supervisor_and_loses_no_slot() {
    in_many_orders(|| {
        let queue = queue(1);
        queue.push(child(0));
        let supervisor = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || supervise(&queue))
        };
        let (child, permit) = queue.acquire(LONGEST, false).expect("the child");
        queue.give_back(child);
        drop(permit);
        // Every job borrows the pool, so no job runs while the pool stops.
        queue.stop();
        supervisor.join().expect("the supervisor does not panic");
        let slots = queue.remove_ready(|_| true);
        assert_eq!(slots.len(), 1, "the slot is dropped by its owner");
        assert_whole(&queue, 0);
    });
}
