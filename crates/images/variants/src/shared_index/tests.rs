//! Tests of the shared index against a real keyspace in memory, which can be made unreachable.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use image_plan::Target;
use keyspace::{Keyspace, Session};
use resp::{Out, Proto, Reply, ReplyLimits};

use super::{Change, Flight, Found, Kept, Ledger, Limits, Lock, Made, Store};
use crate::cache::{Key, Kind, Variant, Variants, Verdict};
use crate::clock;
use crate::library::LibraryPath;

const NOW_MS: u64 = 1_000;

/// Store in memory.
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
            keyspace.execute(&mut session, args, clock::unix_ms(), &mut out);
            let reply = Reply::take(&mut BytesMut::from(out.to_bytes()), &ReplyLimits::default());
            reply.expect("sound").expect("whole")
        });
        Ok(replies.collect())
    }
}

/// One process: its index of variants, its shared index and the store.
struct House {
    store: Arc<Memory>,
    ledger: Arc<Ledger>,
    variants: Variants,
    kept: Kept,
}

impl House {
    fn new(limits: Limits) -> House {
        let store = Arc::new(Memory {
            keyspace: Mutex::new(Keyspace::new(keyspace::Limits::default(), 7)),
            is_reachable: AtomicBool::new(true),
        });
        House::over(store, limits)
    }

    fn over(store: Arc<Memory>, limits: Limits) -> House {
        let ledger = Arc::new(Ledger::new(Arc::clone(&store) as Arc<dyn Store>, limits));
        // These tests write no files.
        let variants = Variants::new(Path::new("/nonexistent"), 1 << 20);
        House {
            store,
            variants: variants.recorded(Some(Arc::clone(&ledger))),
            ledger,
            kept: Kept::default(),
        }
    }

    fn look(&mut self) {
        let looked = self
            .ledger
            .catch_up(&mut self.kept, &self.variants, &|| vec![("conversions", 0)]);
        self.kept.is_published = looked.is_ok();
    }

    fn find(&self, key: &Key) -> Option<Found> {
        let path = LibraryPath::from_target("/a.jpg").expect("a path");
        let flight = Flight {
            files: "host:1:2",
            path: &path,
            wall_ms_max: 60_000,
        };
        self.ledger.find_or_lock(key, &flight).0
    }

    fn recall(&self, key: &Key) -> Option<Arc<Variant>> {
        self.variants.recall(key, self.find(key)?, NOW_MS)
    }

    fn ask(&self, line: &str) -> Reply {
        let words = line
            .split(' ')
            .map(|word| Bytes::copy_from_slice(word.as_bytes()));
        let replies = self.store.run(vec![words.collect()]).expect("within reach");
        replies[0].clone()
    }

    fn keys(&self) -> usize {
        match self.ask("KEYS pelton:variant:*") {
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
    let mut house = House::new(Limits::default());
    let now_ms = clock::unix_ms();
    house.variants.remember(key(1), Verdict::Faulty, now_ms);
    house.look();
    let entry = format!("HGET pelton:variant:{} kind", key(1));
    assert_eq!(house.ask(&entry), Reply::Bulk("faulty".into()));
    let ttl = house.ask(&format!("TTL pelton:variant:{}", key(1)));
    assert!(
        matches!(ttl, Reply::Int(1..=60)),
        "as long as it counts: {ttl:?}"
    );
    house.variants.forget(&key(1));
    house.look();
    assert_eq!(house.keys(), 0);
}

#[test]
fn an_entry_that_the_store_evicted_before_its_origin_arrived_expires() {
    let mut house = House::new(Limits::default());
    house.look();
    house.ledger.note(Change::Made(Made {
        key: key(1),
        path: LibraryPath::from_target("/a.jpg").expect("a path"),
        width_px: 4,
        height_px: 3,
        cpu_us: 20,
    }));
    house.look();
    let expiry = house.ask(&format!("PTTL pelton:variant:{}", key(1)));
    assert!(
        matches!(expiry, Reply::Int(ms) if 0 < ms),
        "the entry would stay in the store for ever: {expiry:?}"
    );
    assert!(house.find(&key(1)).is_none(), "an entry without kind");
}

#[test]
fn a_store_that_lost_everything_gets_it_again() {
    let mut house = House::new(Limits::default());
    house
        .variants
        .remember(key(1), Verdict::Faulty, clock::unix_ms());
    house.look();
    assert_eq!(house.ledger.stats().publications, 1);
    house.look();
    assert_eq!(house.ledger.stats().publications, 1, "once is enough");
    house.ask("FLUSHALL");
    house.look();
    assert_eq!((house.keys(), house.ledger.stats().publications), (1, 2));
}

#[test]
fn what_the_directory_held_is_recorded_once_it_is_read() {
    let data = std::env::temp_dir().join(format!("pelton-ledger-{}", std::process::id()));
    let earlier = Variants::new(&data, 1 << 20);
    let stored = earlier.store(key(1), Kind::LARGER, None, NOW_MS);
    stored.expect("there is room");

    let mut house = House::new(Limits::default());
    let variants = Variants::new(&data, 1 << 20);
    house.variants = variants.recorded(Some(Arc::clone(&house.ledger)));
    house.look();
    assert_eq!(house.keys(), 0, "not read yet");
    house.variants.load().expect("it can be listed");
    house.look();
    assert_eq!((house.keys(), house.ledger.stats().publications), (1, 2));
    house.look();
    assert_eq!(house.ledger.stats().publications, 2, "once is enough");
    fs::remove_dir_all(&data).expect("own directory");
}

#[test]
fn out_of_reach_nothing_is_lost_that_the_index_has() {
    let mut house = House::new(Limits::default());
    house.look();
    house.store.is_reachable.store(false, Ordering::Relaxed);
    house
        .variants
        .remember(key(1), Verdict::Faulty, clock::unix_ms());
    house.look();
    assert!(!house.ledger.stats().is_reachable);
    assert_eq!(house.find(&key(1)), None);
    house.store.is_reachable.store(true, Ordering::Relaxed);
    assert_eq!(
        house.find(&key(1)),
        None,
        "not asked before it was seen again"
    );
    house.look();
    assert!(house.ledger.stats().is_reachable);
    assert_eq!(house.keys(), 1);
}

#[test]
fn more_changes_than_may_wait_are_made_up_for() {
    let limits = Limits {
        changes_max: 2,
        batch_max: 2,
        ..Limits::default()
    };
    let mut house = House::new(limits);
    house.look();
    for first in 0..5 {
        let now_ms = clock::unix_ms();
        house.variants.remember(key(first), Verdict::Faulty, now_ms);
    }
    house.look();
    assert_eq!(house.keys(), 5);
}

#[test]
fn another_process_knows_the_verdict() {
    let mut first = House::new(Limits::default());
    first
        .variants
        .remember(key(1), Verdict::TooCostly, clock::unix_ms());
    first.look();
    let second = House::over(Arc::clone(&first.store), Limits::default());
    let recalled = second.recall(&key(1)).expect("recorded");
    assert_eq!(recalled.kind, Kind::Verdict(Verdict::TooCostly));
    assert!(second.recall(&key(2)).is_none());
}

#[test]
fn a_variant_whose_file_is_not_here_is_no_variant() {
    let mut house = House::new(Limits::default());
    let name = format!("pelton:variant:{}", key(1));
    house.ask(&format!("HSET {name} kind webp bytes 10"));
    assert!(house.recall(&key(1)).is_none());
    house.look();
    assert_eq!(house.keys(), 0, "and its record goes");
}

#[test]
fn what_makes_no_sense_is_no_entry() {
    let house = House::new(Limits::default());
    let name = format!("pelton:variant:{}", key(1));
    for fields in [
        "kind webp",
        "bytes 10",
        "kind webp bytes 0",
        "kind webp bytes -1",
        "kind larger bytes 10",
        "kind nothing bytes 10",
    ] {
        house.ask(&format!("DEL {name}"));
        house.ask(&format!("HSET {name} {fields}"));
        assert_eq!(house.find(&key(1)), None, "{fields}");
    }
    house.ask(&format!("SET {name} text"));
    assert_eq!(house.find(&key(1)), None);
    house.ask(&format!("DEL {name}"));
    house.ask(&format!("HSET {name} kind webp bytes 10"));
    let found = house.find(&key(1)).expect("sound");
    assert_eq!((found.kind, found.bytes), (Kind::Picture(Target::Webp), 10));
}

#[test]
fn a_conversion_under_way_is_shown_and_made_once() {
    let mut house = House::new(Limits::default());
    let other = House::over(Arc::clone(&house.store), Limits::default());
    let path = LibraryPath::from_target("/a%20b.jpg").expect("a path");
    let flight = |files| Flight {
        files,
        path: &path,
        wall_ms_max: 60_000,
    };
    let lock = |house: &House, files| house.ledger.find_or_lock(&key(1), &flight(files));
    assert_eq!(lock(&house, "host:1:2"), (None, Lock::Ours));
    let name = format!("pelton:flight:{}", key(1));
    assert_eq!(
        house.ask(&format!("GET {name}")),
        Reply::Bulk("host:1:2 a b.jpg".into())
    );
    assert_eq!(lock(&other, "host:1:2"), (None, Lock::Shared));
    assert_eq!(lock(&other, "host:1:20"), (None, Lock::Elsewhere));
    house.ask(&format!(
        "HSET pelton:variant:{} kind larger bytes 0",
        key(1)
    ));
    house.ledger.note(Change::Ended(key(1)));
    house.look();
    assert_eq!(house.ask(&format!("GET {name}")), Reply::Null);
    let (found, lock) = lock(&other, "host:1:2");
    let kind = found.expect("recorded").kind;
    assert_eq!((kind, lock), (Kind::Verdict(Verdict::Larger), Lock::Ours));
    house.store.is_reachable.store(false, Ordering::Relaxed);
    let unknown = house.ledger.find_or_lock(&key(2), &flight("host:1:2"));
    assert_eq!(unknown, (None, Lock::Elsewhere));
}
