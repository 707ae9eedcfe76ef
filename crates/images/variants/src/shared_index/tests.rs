//! Tests of the shared index with an embedded store, which can be made unreachable.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use image_plan::Target;
use keyspace::{Keyspace, Session};
use resp::{Out, Proto, Reply, ReplyLimits};
use wall_clock::unix_ms;

use super::{
    Change, Flight, Limits, Lock, Progress, SharedEntry, SharedIndex, Store, VariantDetails,
};
use crate::cache::{Key, Kind, Variant, Variants, Verdict};
use crate::library::LibraryPath;

const NOW_MS: u64 = 1_000;

/// Embedded store in memory.
#[derive(Debug)]
struct Memory {
    keyspace: Mutex<Keyspace>,
    is_reachable: AtomicBool,
}

impl Store for Memory {
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>> {
        if !self.is_reachable.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let mut keyspace = self.keyspace.lock().expect("nobody panics with it");
        let mut session = Session::new();
        let replies = commands.iter().map(|args| {
            let mut out = Out::new(Proto::Resp2);
            keyspace.execute(&mut session, args, unix_ms(), &mut out);
            let reply = Reply::take(&mut BytesMut::from(out.to_bytes()), &ReplyLimits::default());
            reply.expect("sound").expect("whole")
        });
        Ok(replies.collect())
    }
}

/// One process with its own index of variants, the shared index and the store.
struct TestProcess {
    store: Arc<Memory>,
    shared_index: Arc<SharedIndex>,
    variants: Variants,
    progress: Progress,
}

impl TestProcess {
    fn new(limits: Limits) -> TestProcess {
        let store = Arc::new(Memory {
            keyspace: Mutex::new(Keyspace::new(keyspace::Limits::default(), 7)),
            is_reachable: AtomicBool::new(true),
        });
        TestProcess::over(store, limits)
    }

    fn over(store: Arc<Memory>, limits: Limits) -> TestProcess {
        let shared_index = Arc::new(SharedIndex::new(
            Arc::clone(&store) as Arc<dyn Store>,
            limits,
        ));
        // The directory does not exist, since these tests do not write files.
        let variants = Variants::new(Path::new("/nonexistent"), 1 << 20);
        TestProcess {
            store,
            variants: variants.recorded(Some(Arc::clone(&shared_index))),
            shared_index,
            progress: Progress::default(),
        }
    }

    fn update(&mut self) {
        let updated = self
            .shared_index
            .update_store(&mut self.progress, &self.variants, &|| {
                vec![("conversions", 0)]
            });
        self.progress.is_published = updated.is_ok();
    }

    fn find(&self, key: &Key) -> Option<SharedEntry> {
        let path = LibraryPath::from_target("/a.jpg").expect("a path");
        let flight = Flight {
            files: "host:1:2",
            path: &path,
            wall_ms_max: 60_000,
        };
        self.shared_index.find_or_lock(key, &flight).0
    }

    fn recall(&self, key: &Key) -> Option<Arc<Variant>> {
        self.variants.recall(key, self.find(key)?, NOW_MS)
    }

    fn run_command(&self, line: &str) -> Reply {
        let words = line
            .split(' ')
            .map(|word| Bytes::copy_from_slice(word.as_bytes()));
        let replies = self.store.run(vec![words.collect()]).expect("within reach");
        replies[0].clone()
    }

    fn keys(&self) -> usize {
        match self.run_command("KEYS pelton:variant:*") {
            Reply::Array(keys) => keys.len(),
            other => panic!("{other:?}"),
        }
    }
}

fn key(first: u8) -> Key {
    Key::from_hex(&format!("{first:02x}").repeat(16)).expect("hexadecimal digits")
}

#[test]
fn what_is_kept_is_recorded_and_what_goes_leaves() {
    let mut process = TestProcess::new(Limits::default());
    let now_ms = unix_ms();
    process.variants.remember(key(1), Verdict::Faulty, now_ms);
    process.update();
    let entry = format!("HGET pelton:variant:{} kind", key(1));
    assert_eq!(process.run_command(&entry), Reply::Bulk("faulty".into()));
    let ttl = process.run_command(&format!("TTL pelton:variant:{}", key(1)));
    assert!(
        matches!(ttl, Reply::Int(1..=60)),
        "as long as it counts: {ttl:?}"
    );
    process.variants.forget(&key(1));
    process.update();
    assert_eq!(process.keys(), 0);
}

#[test]
fn an_entry_that_the_store_evicted_before_its_origin_arrived_expires() {
    let mut process = TestProcess::new(Limits::default());
    process.update();
    process
        .shared_index
        .note(Change::VariantDetails(VariantDetails {
            key: key(1),
            path: LibraryPath::from_target("/a.jpg").expect("a path"),
            width_px: 4,
            height_px: 3,
            cpu_us: 20,
        }));
    process.update();
    let expiry = process.run_command(&format!("PTTL pelton:variant:{}", key(1)));
    assert!(
        matches!(expiry, Reply::Int(ms) if 0 < ms),
        "the entry would stay in the store for ever: {expiry:?}"
    );
    assert!(process.find(&key(1)).is_none(), "an entry without kind");
}

#[test]
fn a_store_that_lost_everything_gets_it_again() {
    let mut process = TestProcess::new(Limits::default());
    process
        .variants
        .remember(key(1), Verdict::Faulty, unix_ms());
    process.update();
    assert_eq!(process.shared_index.stats().publications, 1);
    process.update();
    assert_eq!(
        process.shared_index.stats().publications,
        1,
        "once is enough"
    );
    process.run_command("FLUSHALL");
    process.update();
    assert_eq!(
        (process.keys(), process.shared_index.stats().publications),
        (1, 2)
    );
}

#[test]
fn what_the_directory_held_is_recorded_once_it_is_read() {
    let data = std::env::temp_dir().join(format!("pelton-shared-index-{}", std::process::id()));
    let earlier = Variants::new(&data, 1 << 20);
    let stored = earlier.store(key(1), Kind::LARGER, None, NOW_MS);
    stored.expect("there is room");

    let mut process = TestProcess::new(Limits::default());
    let variants = Variants::new(&data, 1 << 20);
    process.variants = variants.recorded(Some(Arc::clone(&process.shared_index)));
    process.update();
    assert_eq!(process.keys(), 0, "not read yet");
    process.variants.load().expect("it can be listed");
    process.update();
    assert_eq!(
        (process.keys(), process.shared_index.stats().publications),
        (1, 2)
    );
    process.update();
    assert_eq!(
        process.shared_index.stats().publications,
        2,
        "once is enough"
    );
    fs::remove_dir_all(&data).expect("own directory");
}

#[test]
fn out_of_reach_nothing_is_lost_that_the_index_has() {
    let mut process = TestProcess::new(Limits::default());
    process.update();
    process.store.is_reachable.store(false, Ordering::Relaxed);
    process
        .variants
        .remember(key(1), Verdict::Faulty, unix_ms());
    process.update();
    assert!(!process.shared_index.stats().is_reachable);
    assert_eq!(process.find(&key(1)), None);
    process.store.is_reachable.store(true, Ordering::Relaxed);
    assert_eq!(
        process.find(&key(1)),
        None,
        "not asked before it was seen again"
    );
    process.update();
    assert!(process.shared_index.stats().is_reachable);
    assert_eq!(process.keys(), 1);
}

#[test]
fn more_changes_than_may_wait_are_made_up_for() {
    let limits = Limits {
        changes_max: 2,
        batch_max: 2,
        ..Limits::default()
    };
    let mut process = TestProcess::new(limits);
    process.update();
    for first in 0..5 {
        let now_ms = unix_ms();
        process
            .variants
            .remember(key(first), Verdict::Faulty, now_ms);
    }
    process.update();
    assert_eq!(process.keys(), 5);
}

#[test]
fn another_process_knows_the_verdict() {
    let mut first = TestProcess::new(Limits::default());
    first
        .variants
        .remember(key(1), Verdict::TooCostly, unix_ms());
    first.update();
    let second = TestProcess::over(Arc::clone(&first.store), Limits::default());
    let recalled = second.recall(&key(1)).expect("recorded");
    assert_eq!(recalled.kind, Kind::Verdict(Verdict::TooCostly));
    assert!(second.recall(&key(2)).is_none());
}

#[test]
fn a_variant_whose_file_is_not_here_is_no_variant() {
    let mut process = TestProcess::new(Limits::default());
    let name = format!("pelton:variant:{}", key(1));
    process.run_command(&format!("HSET {name} kind webp bytes 10"));
    assert!(process.recall(&key(1)).is_none());
    process.update();
    assert_eq!(process.keys(), 0, "and its record goes");
}

#[test]
fn what_makes_no_sense_is_no_entry() {
    let process = TestProcess::new(Limits::default());
    let name = format!("pelton:variant:{}", key(1));
    for fields in [
        "kind webp",
        "bytes 10",
        "kind webp bytes 0",
        "kind webp bytes -1",
        "kind larger bytes 10",
        "kind nothing bytes 10",
    ] {
        process.run_command(&format!("DEL {name}"));
        process.run_command(&format!("HSET {name} {fields}"));
        assert_eq!(process.find(&key(1)), None, "{fields}");
    }
    process.run_command(&format!("SET {name} text"));
    assert_eq!(process.find(&key(1)), None);
    process.run_command(&format!("DEL {name}"));
    process.run_command(&format!("HSET {name} kind webp bytes 10"));
    let found = process.find(&key(1)).expect("sound");
    assert_eq!((found.kind, found.bytes), (Kind::Picture(Target::Webp), 10));
}

#[test]
fn a_conversion_under_way_is_shown_and_made_once() {
    let mut process = TestProcess::new(Limits::default());
    let other = TestProcess::over(Arc::clone(&process.store), Limits::default());
    let path = LibraryPath::from_target("/a%20b.jpg").expect("a path");
    let flight = |files| Flight {
        files,
        path: &path,
        wall_ms_max: 60_000,
    };
    let lock =
        |process: &TestProcess, files| process.shared_index.find_or_lock(&key(1), &flight(files));
    assert_eq!(lock(&process, "host:1:2"), (None, Lock::Ours));
    let name = format!("pelton:flight:{}", key(1));
    assert_eq!(
        process.run_command(&format!("GET {name}")),
        Reply::Bulk("host:1:2 a b.jpg".into())
    );
    assert_eq!(lock(&other, "host:1:2"), (None, Lock::Shared));
    assert_eq!(lock(&other, "host:1:20"), (None, Lock::Elsewhere));
    process.run_command(&format!(
        "HSET pelton:variant:{} kind larger bytes 0",
        key(1)
    ));
    process.shared_index.note(Change::Ended(key(1)));
    process.update();
    assert_eq!(process.run_command(&format!("GET {name}")), Reply::Null);
    let (found, lock) = lock(&other, "host:1:2");
    let kind = found.expect("recorded").kind;
    assert_eq!((kind, lock), (Kind::Verdict(Verdict::Larger), Lock::Ours));
    process.store.is_reachable.store(false, Ordering::Relaxed);
    let unknown = process
        .shared_index
        .find_or_lock(&key(2), &flight("host:1:2"));
    assert_eq!(unknown, (None, Lock::Elsewhere));
}
