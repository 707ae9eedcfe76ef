use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::single_flight::{Abandoned, Leader, SingleFlight, TooManyWaiters, Waiter};

type Flights = SingleFlight<&'static str, u32, AtomicU32>;

/// Polls `waiter` once and returns its result, or `None` if the result is pending.
fn poll(waiter: &mut Waiter<u32, AtomicU32>) -> Option<Result<u32, Abandoned>> {
    match pin!(waiter.wait()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

fn follow(flights: &Flights, key: &'static str) -> Option<Waiter<u32, AtomicU32>> {
    flights.follow(&key).expect("there is room")
}

#[test]
fn all_waiters_get_the_one_result() {
    let flights = Flights::new(8);
    assert!(follow(&flights, "a").is_none(), "nobody leads yet");
    let (leader, first) = flights.lead("a");
    let second = follow(&flights, "a").expect("a flight");
    let mut waiters = [first, second];
    assert!(!waiters[1].has_started());
    leader.start();
    leader.progress().store(7, Ordering::Relaxed);
    for waiter in &mut waiters {
        assert!(waiter.has_started());
        assert_eq!(waiter.progress().load(Ordering::Relaxed), 7);
        assert_eq!(poll(waiter), None);
    }
    leader.finish(&42);
    assert_eq!(waiters.map(|mut it| poll(&mut it)), [Some(Ok(42)); 2]);
    assert!(flights.is_empty());
}

#[test]
fn keys_do_not_wait_for_each_other() {
    let flights = Flights::new(8);
    let (a, mut of_a) = flights.lead("a");
    let (b, mut of_b) = flights.lead("b");
    assert_eq!(flights.len(), 2);
    b.finish(&2);
    assert_eq!((poll(&mut of_a), poll(&mut of_b)), (None, Some(Ok(2))));
    a.finish(&1);
    assert_eq!(poll(&mut of_a), Some(Ok(1)));
}

#[test]
fn a_dropped_leader_fails_its_waiters_and_frees_the_key() {
    let flights = Flights::new(8);
    let (leader, mut first) = flights.lead("a");
    let mut second = follow(&flights, "a").expect("a flight");
    drop(leader);
    assert_eq!(poll(&mut first), Some(Err(Abandoned)));
    assert_eq!(poll(&mut second), Some(Err(Abandoned)));
    assert!(flights.is_empty());
    let (next, mut waiter) = flights.lead("a");
    next.finish(&1);
    assert_eq!(poll(&mut waiter), Some(Ok(1)));
}

#[test]
fn a_leader_that_panics_fails_its_waiters_and_frees_the_key() {
    let flights = Arc::new(Flights::new(8));
    let (leader, mut waiter) = flights.lead("a");
    let work = |leader: Leader<&'static str, u32, AtomicU32>| {
        leader.start();
        panic!("an injected bug");
    };
    let panicked = thread::spawn(move || work(leader)).join();
    assert!(panicked.is_err());
    assert_eq!(poll(&mut waiter), Some(Err(Abandoned)));
    assert!(flights.is_empty());
    // The leader's panic has not poisoned the lock of the map, so the key can be used again.
    let (next, mut waiter) = flights.lead("a");
    next.finish(&1);
    assert_eq!(poll(&mut waiter), Some(Ok(1)));
}

/// A waiter that has received its result may lead the next flight for the same key. The previous
/// leader may still be sending the result to other waiters. When the previous leader is dropped,
/// the new flight must remain.
#[test]
fn a_finished_leader_leaves_the_next_one_alone() {
    let flights = Arc::new(Flights::new(8));
    for round in 0..1_000 {
        let (leader, mut waiter) = flights.lead("a");
        let finishing = thread::spawn(move || leader.finish(&round));
        while poll(&mut waiter).is_none() {
            thread::yield_now();
        }
        let (next, mut waiter) = flights.lead("a");
        finishing.join().expect("it finishes");
        assert!(follow(&flights, "a").is_some(), "in round {round}");
        next.finish(&round);
        assert_eq!(poll(&mut waiter), Some(Ok(round)));
    }
}

#[test]
fn waiters_are_bounded_and_those_that_left_make_room() {
    let flights = Flights::new(2);
    let (leader, first) = flights.lead("a");
    let second = follow(&flights, "a").expect("a flight");
    assert_eq!(flights.follow(&"a").err(), Some(TooManyWaiters));
    drop(first);
    let third = follow(&flights, "a").expect("one has left");
    assert!(leader.is_awaited());
    drop((second, third));
    assert!(!leader.is_awaited());
    leader.finish(&1);
}

#[test]
#[should_panic(expected = "one leader per key")]
fn a_second_leader_is_a_bug() {
    let flights = Flights::new(2);
    let (_first, _waiter) = flights.lead("a");
    drop(flights.lead("a"));
}
