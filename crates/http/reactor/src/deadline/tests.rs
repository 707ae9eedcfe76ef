use std::future::{pending, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

use expect_test::expect;

use super::{Deadline, Ended, Wait};
use crate::{Clock, Core, CoreId, Counters, Limits};

const LIMITS: Limits = Limits {
    cores_max: 1,
    backlog: 1,
    connections_max: 1,
    address_connections_max: 1,
    blocking_threads_max: 1,
    first_byte_ms: 1_000,
    handshake_ms: 1_500,
    head_ms: 2_000,
    body_ms: 2_500,
    body_bytes_per_s_min: 4,
    idle_ms: 3_000,
    write_stall_ms: 4_000,
    write_bytes_per_s_min: 1,
    linger_ms: 500,
    linger_ms_max: 60_000,
    linger_bytes_max: 1,
    drain_ms_max: 0,
    unsent_bytes_max: 1,
    sendfile_slice_bytes: 1,
};

fn core() -> Core {
    let counters = Arc::new([Counters::default()]);
    Core::new(0, CoreId(0), LIMITS, Clock::new(0, 0), counters)
}

/// Waker that counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

type Waiting<'a> = Pin<&'a mut dyn Future<Output = Result<(), Ended>>>;

/// Polls the wait once, and returns its state as text.
fn poll(wait: &mut Waiting<'_>, wakes: &Arc<Wakes>) -> String {
    let waker = Waker::from(Arc::clone(wakes));
    match wait.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Pending => "waits".to_owned(),
        Poll::Ready(ended) => format!("{ended:?}"),
    }
}

/// Advances the clock tick by tick until a wait on `deadline` ends. Returns one line for the first
/// poll of the wait, and one line for each tick that wakes the wait.
fn trace(core: &Core, deadline: &Deadline) -> String {
    let wakes = Arc::new(Wakes::default());
    let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
    let mut last = poll(&mut wait, &wakes);
    let mut trace = format!("{} ms: {last}\n", core.clock().now_ms());
    for _ in 0..20 {
        if last != "waits" {
            break;
        }
        core.tick(core.clock().now_ms() + 500, 0);
        if 0 < wakes.0.swap(0, Relaxed) {
            last = poll(&mut wait, &wakes);
            trace += &format!("{} ms: {last}\n", core.clock().now_ms());
        }
    }
    trace
}

#[test]
fn each_wait_ends_after_its_limit_and_within_two_ticks_more() {
    let core = core();
    let deadline = Deadline::new(&core);
    expect![[r#"
        0 ms: waits
        1500 ms: Err(TimedOut(FirstByte))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Head);
    expect![[r#"
        1500 ms: waits
        4000 ms: Err(TimedOut(Head))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Body);
    expect![[r#"
        4000 ms: waits
        7000 ms: Err(TimedOut(Body))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Idle);
    expect![[r#"
        7000 ms: waits
        10500 ms: Err(TimedOut(Idle))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Write);
    expect![[r#"
        10500 ms: waits
        15000 ms: Err(TimedOut(Write))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Linger);
    expect![[r#"
        15000 ms: waits
        16000 ms: Err(TimedOut(Linger))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Handshake);
    expect![[r#"
        16000 ms: waits
        18000 ms: Err(TimedOut(Handshake))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    assert_eq!(
        Wait::ALL.map(|wait| core.counters().timed_out(wait)),
        [1; 7]
    );
}

#[test]
fn bytes_end_the_wait_for_a_request_but_not_the_wait_for_its_rest() {
    let core = core();
    let deadline = Deadline::new(&core);
    core.tick(1_000, 0);
    deadline.note_request_start();
    core.tick(2_000, 0);
    // A client that sends more bytes of the same head, one at a time, does not extend the deadline.
    deadline.note_request_start();
    expect![[r#"
        2000 ms: waits
        3500 ms: Err(TimedOut(Head))
    "#]]
    .assert_eq(&trace(&core, &deadline));
}

#[test]
fn a_body_gets_more_time_only_at_its_minimum_rate() {
    let core = core();
    let deadline = Deadline::new(&core);
    deadline.arm(Wait::Body);
    core.tick(2_000, 0);
    // The limits require ten bytes in two and a half seconds.
    deadline.note_body_bytes(9);
    expect![[r#"
        2000 ms: waits
        3000 ms: Err(TimedOut(Body))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Body);
    deadline.note_body_bytes(9);
    core.tick(5_000, 0);
    deadline.note_body_bytes(1);
    expect![[r#"
        5000 ms: waits
        8000 ms: Err(TimedOut(Body))
    "#]]
    .assert_eq(&trace(&core, &deadline));
}

#[test]
fn a_rearmed_wait_starts_again() {
    let core = core();
    let deadline = Deadline::new(&core);
    deadline.arm(Wait::Write);
    let mut chances = 2;
    let wakes = Arc::new(Wakes::default());
    let should_rearm = || {
        chances -= 1;
        0 < chances
    };
    let mut wait: Waiting<'_> = pin!(deadline.within_while(pending(), should_rearm));
    assert_eq!(poll(&mut wait, &wakes), "waits");
    core.tick(4_500, 0);
    assert_eq!(poll(&mut wait, &wakes), "waits");
    core.tick(8_500, 0);
    assert_eq!(poll(&mut wait, &wakes), "waits");
    core.tick(9_000, 0);
    assert_eq!(poll(&mut wait, &wakes), "Err(TimedOut(Write))");
    assert_eq!(core.counters().timed_out(Wait::Write), 1);
}

#[test]
fn a_read_without_a_deadline_waits_for_the_next_request() {
    let core = core();
    let deadline = Deadline::new(&core);
    for before in [
        |it: &Deadline| it.disarm(),
        |it: &Deadline| it.arm(Wait::Write),
    ] {
        before(&deadline);
        deadline.note_read_start();
        core.evict();
        let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
        assert_eq!(poll(&mut wait, &Arc::default()), "Err(Evicted)");
    }
    for armed in [Wait::Head, Wait::Body, Wait::Linger] {
        deadline.arm(armed);
        deadline.note_read_start();
        let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
        assert_eq!(poll(&mut wait, &Arc::default()), "waits");
    }
}

#[test]
fn a_disarmed_connection_never_times_out() {
    let core = core();
    let deadline = Deadline::new(&core);
    deadline.disarm();
    core.start_drain();
    assert!(!core.evict());
    expect![[r#"
        0 ms: waits
    "#]]
    .assert_eq(&trace(&core, &deadline));
}

#[test]
fn work_that_is_ready_wins_over_a_deadline_that_is_due() {
    let core = core();
    let deadline = Deadline::new(&core);
    core.tick(60_000, 0);
    let mut wait: Waiting<'_> = pin!(deadline.within(ready(())));
    assert_eq!(poll(&mut wait, &Arc::default()), "Ok(())");
}

#[test]
fn a_late_tick_ends_the_wait_once() {
    let core = core();
    let deadline = Deadline::new(&core);
    let wakes = Arc::new(Wakes::default());
    let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
    assert_eq!(poll(&mut wait, &wakes), "waits");
    core.tick(3_600_000, 0);
    assert_eq!(wakes.0.load(Relaxed), 1);
    assert_eq!(poll(&mut wait, &wakes), "Err(TimedOut(FirstByte))");
}

#[test]
fn drain_gives_connections_that_wait_for_a_request_a_second() {
    let core = core();
    let (idle, new, reading) = (
        Deadline::new(&core),
        Deadline::new(&core),
        Deadline::new(&core),
    );
    idle.arm(Wait::Idle);
    reading.arm(Wait::Head);
    core.start_drain();
    let answered = Deadline::new(&core);
    answered.arm(Wait::Idle);
    expect![[r#"
        0 ms: waits
        1000 ms: Err(Drained)
    "#]]
    .assert_eq(&trace(&core, &idle));
    expect![[r#"
        1000 ms: Err(TimedOut(FirstByte))
    "#]]
    .assert_eq(&trace(&core, &new));
    expect![[r#"
        1000 ms: Err(Drained)
    "#]]
    .assert_eq(&trace(&core, &answered));
    expect![[r#"
        1000 ms: waits
        2500 ms: Err(TimedOut(Head))
    "#]]
    .assert_eq(&trace(&core, &reading));
}

#[test]
fn a_request_in_drain_is_still_read() {
    let core = core();
    let deadline = Deadline::new(&core);
    deadline.arm(Wait::Idle);
    core.start_drain();
    core.tick(500, 0);
    deadline.note_request_start();
    expect![[r#"
        500 ms: waits
        3000 ms: Err(TimedOut(Head))
    "#]]
    .assert_eq(&trace(&core, &deadline));
}

#[test]
fn eviction_takes_each_connection_without_a_request_once_and_no_other() {
    let core = core();
    let deadlines: Vec<_> = (0..4).map(|_| Deadline::new(&core)).collect();
    deadlines[0].arm(Wait::Head);
    deadlines[1].arm(Wait::Idle);
    deadlines[2].arm(Wait::Body);
    assert!(core.evict());
    assert!(core.evict());
    assert!(!core.evict());
    assert_eq!(core.counters().evicted(), 2);
    let ends: Vec<_> = deadlines
        .iter()
        .map(|deadline| trace(&core, deadline))
        .collect();
    expect![[r#"
        0 ms: waits
        2500 ms: Err(TimedOut(Head))
        2500 ms: Err(Evicted)
        2500 ms: waits
        3000 ms: Err(TimedOut(Body))
        3000 ms: Err(Evicted)
    "#]]
    .assert_eq(&ends.concat());
}

#[test]
fn table_entries_are_reused() {
    let core = core();
    for _ in 0..100 {
        let first = Deadline::new(&core);
        let second = Deadline::new(&core);
        drop(first);
        let third = Deadline::new(&core);
        drop((second, third));
    }
    assert_eq!(core.table().entries.borrow().len(), 2);
    assert_eq!(core.table().free.borrow().len(), 2);
}

#[test]
fn the_connection_without_a_request_for_longest_is_evicted_first() {
    let core = core();
    let deadlines: Vec<_> = (0..600).map(|_| Deadline::new(&core)).collect();
    // Arm each deadline at a different time, in an order that differs from the order of the table.
    for moment in 0..600 {
        core.tick(moment, 0);
        let wait = [Wait::Idle, Wait::FirstByte][moment as usize % 2];
        deadlines[moment as usize * 7 % 600].arm(wait);
    }
    // The connection that has waited longest is busy again, so it is not evicted.
    deadlines[0].disarm();
    for moment in 1..600 {
        assert!(core.evict());
        let evicted = &deadlines[moment * 7 % 600].entry.evicted;
        assert!(evicted.get(), "the one since moment {moment}");
    }
    assert!(!core.evict());
}
