//! Tests of the order in which the tracks of several users start, without threads and sandboxes.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use audio_plan::{Codec, Gain, Plan};
use variants::cache::Key;
use variants::library::{Library, LibraryPath, Mount, Wait};

use super::{Limits, State, Task, TrackWaiter};
use crate::single_flight::Abandoned;

/// Generator of tasks with different keys.
struct Tasks {
    directory: PathBuf,
    library: Library,
    path: LibraryPath,
    made: u32,
}

impl Tasks {
    fn new(name: &str) -> Tasks {
        let name = format!("pelton-turns-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("a folder of our own");
        std::fs::write(directory.join("1"), b"music").expect("a folder of our own");
        let root = Mount {
            prefix: String::new(),
            directory: directory.clone(),
            is_internal: false,
        };
        let library = Library::open(&[root], &directory.join("none"));
        Tasks {
            library: library.expect("a folder"),
            path: LibraryPath::from_target("/1").expect("a path"),
            directory,
            made: 0,
        }
    }

    fn task(&mut self, user: &str) -> Task {
        self.made += 1;
        let plan = Plan {
            codec: Codec::Flac,
            channels: 2,
            bit_rate_bps: 64_000 + self.made,
            start_ms: 0,
            duration_ms: 60_000,
            gain: Gain::default(),
            title: String::new(),
            artist: String::new(),
            album: String::new(),
        };
        let identity = self.library.identify(&self.path, Wait::Allowed);
        let identity = identity.expect("it is there");
        Task {
            key: Key::of_sound(&identity, &plan),
            plan,
            path: self.path.clone(),
            identity,
            user: user.into(),
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).expect("it was made");
    }
}

const LIMITS: Limits = Limits {
    concurrency: 1,
    waiting_max: 3,
    waiting_ms_max: 1_000,
    waiters_max: 8,
    memory_bytes_max: 1,
};

/// Removes all waiting tracks and returns their users, in the order in which threads would start
/// the tracks.
fn start_order(state: &mut State) -> Vec<Arc<str>> {
    let next = || Some(state.take_next()?.task.user);
    std::iter::from_fn(next).collect()
}

#[test]
fn users_take_turns() {
    let (mut tasks, mut state) = (Tasks::new("users"), State::new(&LIMITS));
    let mut join = |user| state.admit(tasks.task(user), &LIMITS);
    let _waiting: Vec<TrackWaiter> = ["ann", "ann", "ann", "bob"]
        .map(|user| join(user).expect("there is room"))
        .into();
    let start_order = start_order(&mut state);
    let start_order: Vec<&str> = start_order.iter().map(|user| &**user).collect();
    assert_eq!(start_order, ["ann", "bob", "ann", "ann"]);
}

#[test]
fn a_full_queue_is_shared_evenly() {
    let (mut tasks, mut state) = (Tasks::new("full"), State::new(&LIMITS));
    let mut of_ann = Vec::new();
    for _ in 0..4 {
        let joined = state.admit(tasks.task("ann"), &LIMITS);
        of_ann.push(joined.expect("there is room"));
    }
    assert!(
        state.admit(tasks.task("ann"), &LIMITS).is_err(),
        "it is full"
    );
    let bob = ["first", "second"].map(|what| {
        let joined = state.admit(tasks.task("bob"), &LIMITS);
        joined.expect(what)
    });
    assert!(state.admit(tasks.task("bob"), &LIMITS).is_err(), "two each");
    let is_dropped = |waiter: &mut TrackWaiter| {
        let waiting = pin!(waiter.wait());
        let polled = waiting.poll(&mut Context::from_waker(Waker::noop()));
        matches!(polled, Poll::Ready(Err(Abandoned)))
    };
    let dropped: Vec<bool> = of_ann.iter_mut().map(is_dropped).collect();
    assert_eq!(dropped, [false, false, true, true], "the last ones go");
    assert!(!bob.into_iter().any(|mut waiter| is_dropped(&mut waiter)));
    assert_eq!(state.tracks.len(), 4);
    // A track without waiters leaves the queue, so that another track fits into the queue.
    drop(of_ann);
    let cid = state.admit(tasks.task("cid"), &LIMITS);
    cid.expect("abandoned tracks leave the queue");
    let cpu_ms: u64 = state
        .waiting
        .iter()
        .map(|it| it.task.plan.cost().cpu_ms)
        .sum();
    assert_eq!(state.cpu_ms, cpu_ms);
}
