//! Timed work of the core: ticks, deadlines, expiry, eviction and defragmentation.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, sleep_until};

use crate::config::Hertz;
use crate::effects;
use crate::pace::Pace;
use crate::shared::Shared;
use crate::state::State;

/// Interval at which work that must wait for a snapshot checks whether the snapshot is complete.
const SNAPSHOT_POLL: Duration = Duration::from_millis(100);

/// Runs the timed work: ticks, deadlines of blocked clients, and the end of a pause of commands.
pub(crate) async fn run_housekeeping(shared: Rc<Shared>) {
    let (mut hz, changed) = {
        let state = shared.state.borrow();
        (state.config.hz, Rc::clone(&state.tasks.deadline_changed))
    };
    let mut ticks = ticks_of(hz);
    loop {
        let configured = shared.state.borrow().config.hz;
        if configured != hz {
            hz = configured;
            ticks = ticks_of(hz);
        }
        let due = {
            let state = shared.state.borrow();
            next_due_ms(&state).map(|due_ms| state.clock.until(due_ms))
        };
        tokio::select! {
            _ = ticks.tick() => {
                {
                    let mut state = shared.state.borrow_mut();
                    state.clock.start_turn();
                    tick(&mut state);
                }
                while turn(&shared) {
                    yield_now().await;
                }
            }
            () = changed.notified() => {}
            () = async { sleep_until(due.expect("this branch waits only if there is a deadline")).await }, if due.is_some() => {
                let mut state = shared.state.borrow_mut();
                state.clock.start_turn();
                handle_due(&mut state);
            }
        }
    }
}

fn ticks_of(hz: Hertz) -> Interval {
    let mut ticks = interval(Duration::from_millis(1000 / hz.0 as u64));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Removes expired keys, and evicts keys if memory is used up, within the limits for one pass of
/// the event loop. Returns whether more keys are left to remove.
fn turn(shared: &Shared) -> bool {
    let state = &mut *shared.state.borrow_mut();
    // While a script runs, data changes only by the script.
    if state.scripts.is_busy() {
        return false;
    }
    state.clock.start_turn();
    state.keyspace.set_non_data_bytes(state.clients.bytes());
    let more = state.keyspace.turn(state.now_ms());
    effects::apply(state);
    more
}

/// Runs the work that is repeated `hz` times a second.
fn tick(state: &mut State) {
    let now_ms = state.now_ms();
    let used_bytes = state.used_bytes() as u64;
    state.stats.counters.sample(now_ms, state.clock.turns());
    state.stats.note_peak(used_bytes);
    let idle_ms_max = state.config.timeout.0 as u64 * 1000;
    state.clients.tick(now_ms, idle_ms_max);
    if state.scripts.is_busy() {
        return;
    }
    let changes = state.keyspace.effects.changes;
    state.persist.tick(&state.config, changes, now_ms);
}

/// Returns the next deadline of a blocked client or of the pause of commands, if any. While a
/// script runs, deadlines have to wait.
fn next_due_ms(state: &State) -> Option<u64> {
    if state.scripts.is_busy() {
        return None;
    }
    let pause = state.pauses.until_ms();
    state.blocked.next_due_ms().into_iter().chain(pause).min()
}

/// Handles deadlines that have passed: blocked clients get their timeout reply, and the pause of
/// commands ends.
fn handle_due(state: &mut State) {
    effects::time_out(state);
    if state
        .pauses
        .until_ms()
        .is_some_and(|due_ms| due_ms <= state.now_ms())
    {
        state.pauses.end(&mut state.clients);
    }
}

/// Defragments the data, up to the limit for one pass of the event loop. When the defragmentation
/// is complete, the allocator returns free memory to the system. Returns whether more data is left
/// to move.
fn defrag_turn(state: &mut State) -> bool {
    let keyspace = &mut state.keyspace;
    if !keyspace.is_defragmenting() {
        return false;
    }
    let elements_max = state.limits.defrag_elements_per_turn;
    let goes_on = reactor::without_block_cache(|| keyspace.continue_defrag(elements_max));
    if !goes_on {
        reactor::purge_heap();
    }
    goes_on
}

/// Runs a defragmentation whenever one is requested.
pub(crate) async fn defragment_on_request(shared: Rc<Shared>) {
    let wanted = Rc::clone(&shared.state.borrow().tasks.defrag_wanted);
    loop {
        wanted.notified().await;
        let mut pace = Pace::default();
        while pace.work(&shared, defrag_turn) {
            if shared.state.borrow().keyspace.has_snapshot() {
                sleep(SNAPSHOT_POLL).await;
            }
            pace.rest(&shared).await;
        }
    }
}
