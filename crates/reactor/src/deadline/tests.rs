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
    blocking_threads_max: 1,
    first_byte_ms: 1_000,
    handshake_ms: 1_500,
    head_ms: 2_000,
    idle_ms: 3_000,
    write_stall_ms: 4_000,
    linger_ms: 500,
    linger_bytes_max: 1,
    drain_ms_max: 0,
    sendfile_slice_bytes: 1,
};

fn core() -> Core {
    let counters = Arc::new([Counters::default()]);
    Core::new(0, CoreId(0), LIMITS, Clock::new(0, 0), counters)
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

type Waiting<'a> = Pin<&'a mut dyn Future<Output = Result<(), Ended>>>;

/// Polls once, and tells how the wait stands.
fn poll(wait: &mut Waiting<'_>, wakes: &Arc<Wakes>) -> String {
    let waker = Waker::from(Arc::clone(wakes));
    match wait.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Pending => "waits".to_owned(),
        Poll::Ready(ended) => format!("{ended:?}"),
    }
}

/// The ticks that end a wait: each line is a tick at which something changed.
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
    deadline.arm(Wait::Idle);
    expect![[r#"
        4000 ms: waits
        7500 ms: Err(TimedOut(Idle))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Write);
    expect![[r#"
        7500 ms: waits
        12000 ms: Err(TimedOut(Write))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Linger);
    expect![[r#"
        12000 ms: waits
        13000 ms: Err(TimedOut(Linger))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    deadline.arm(Wait::Handshake);
    expect![[r#"
        13000 ms: waits
        15000 ms: Err(TimedOut(Handshake))
    "#]]
    .assert_eq(&trace(&core, &deadline));
    assert_eq!(
        Wait::ALL.map(|wait| core.counters().timed_out(wait)),
        [1; 6]
    );
}

#[test]
fn bytes_end_the_wait_for_a_request_but_not_the_wait_for_its_rest() {
    let core = core();
    let deadline = Deadline::new(&core);
    core.tick(1_000, 0);
    deadline.request_begun();
    core.tick(2_000, 0);
    // More bytes of the same head, one at a time, win no time.
    deadline.request_begun();
    expect![[r#"
        2000 ms: waits
        3500 ms: Err(TimedOut(Head))
    "#]]
    .assert_eq(&trace(&core, &deadline));
}

#[test]
fn to_read_with_nothing_armed_is_to_wait_for_the_next_request() {
    let core = core();
    let deadline = Deadline::new(&core);
    for before in [
        |it: &Deadline| it.disarm(),
        |it: &Deadline| it.arm(Wait::Write),
    ] {
        before(&deadline);
        deadline.read_begun();
        core.evict();
        let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
        assert_eq!(poll(&mut wait, &Arc::default()), "Err(Evicted)");
    }
    for armed in [Wait::FirstByte, Wait::Handshake, Wait::Head, Wait::Linger] {
        deadline.arm(armed);
        deadline.read_begun();
        let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
        assert_eq!(poll(&mut wait, &Arc::default()), "waits");
    }
}

#[test]
fn a_connection_that_waits_for_us_never_times_out() {
    let core = core();
    let deadline = Deadline::new(&core);
    deadline.disarm();
    core.begin_drain();
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
fn drain_ends_idle_connections_and_gives_new_ones_a_second() {
    let core = core();
    let (idle, new, reading) = (
        Deadline::new(&core),
        Deadline::new(&core),
        Deadline::new(&core),
    );
    idle.arm(Wait::Idle);
    reading.arm(Wait::Head);
    core.begin_drain();
    expect![[r#"
        0 ms: Err(Drained)
    "#]]
    .assert_eq(&trace(&core, &idle));
    expect![[r#"
        0 ms: waits
        1000 ms: Err(TimedOut(FirstByte))
    "#]]
    .assert_eq(&trace(&core, &new));
    expect![[r#"
        1000 ms: waits
        2500 ms: Err(TimedOut(Head))
    "#]]
    .assert_eq(&trace(&core, &reading));
}

#[test]
fn drain_wakes_an_idle_connection_that_waits_already() {
    let core = core();
    let deadline = Deadline::new(&core);
    deadline.arm(Wait::Idle);
    let wakes = Arc::new(Wakes::default());
    let mut wait: Waiting<'_> = pin!(deadline.within(pending()));
    assert_eq!(poll(&mut wait, &wakes), "waits");
    core.begin_drain();
    assert_eq!(wakes.0.load(Relaxed), 1);
    assert_eq!(poll(&mut wait, &wakes), "Err(Drained)");
}

#[test]
fn eviction_takes_each_idle_connection_once_and_no_busy_one() {
    let core = core();
    let deadlines: Vec<_> = (0..4).map(|_| Deadline::new(&core)).collect();
    deadlines[1].arm(Wait::Idle);
    deadlines[3].arm(Wait::Idle);
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
        1500 ms: Err(TimedOut(FirstByte))
        1500 ms: Err(Evicted)
        1500 ms: Err(TimedOut(FirstByte))
        1500 ms: Err(Evicted)
    "#]]
    .assert_eq(&ends.concat());
}

#[test]
fn places_in_the_table_are_used_again() {
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
