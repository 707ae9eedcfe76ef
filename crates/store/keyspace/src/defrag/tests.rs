//! Randomized test of defragmentation, which alternates with commands and snapshots on keys with
//! deadlines and tags. The data is compared with a model.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use resp::{Out, Proto};

use crate::rdb::{LoadOptions, Loader, Options};
use crate::{Keyspace, Limits, Session};

const FIRST_MS: u64 = 1_700_000_000_000;
/// Number of keys. Ranges of keys, and the budgets of defragmentation and snapshots, are shares of
/// this number, so that fewer keys under Miri do not make the sequences simpler.
const KEYS: usize = if cfg!(miri) { 150 } else { 3_000 };
/// Number of random sequences of commands.
const SEEDS: u64 = if cfg!(miri) { 1 } else { 24 };
/// Number of steps of a sequence.
const STEPS: usize = if cfg!(miri) { 80 } else { 150 };
/// Maximum bytes of the snapshot that one call writes.
const PART_BYTES_MAX: usize = if cfg!(miri) { 10_000 } else { 50_000 };
const TAGS: usize = 4;

/// Expected state of a key.
#[derive(Clone, Debug, Default)]
struct Model {
    value: Vec<u8>,
    deadline_ms: Option<u64>,
    tag: Option<usize>,
}

/// A store, its model, and the snapshot in progress with its expected content.
struct ModelledStore {
    keyspace: Keyspace,
    session: Session,
    now_ms: u64,
    model: BTreeMap<usize, Model>,
    file: Vec<u8>,
    expected: BTreeMap<usize, Model>,
}

/// Returns the name of a key. Every third name is so long that it is stored on the heap.
fn name(number: usize) -> String {
    match number % 3 {
        0 => format!("a-name-that-stands-on-the-heap:{number}"),
        _ => format!("key:{number}"),
    }
}

impl ModelledStore {
    fn new() -> ModelledStore {
        let limits = Limits {
            // The limit is low, so that the removal of expired or invalidated keys takes many turns
            // of the event loop.
            expire_keys_per_turn: KEYS / 150,
            ..Limits::default()
        };
        ModelledStore {
            keyspace: Keyspace::new(limits, 1),
            session: Session::new(),
            now_ms: FIRST_MS,
            model: BTreeMap::new(),
            file: Vec::new(),
            expected: BTreeMap::new(),
        }
    }

    fn send(&mut self, words: &[&[u8]]) -> Bytes {
        let args: Vec<Bytes> = words
            .iter()
            .map(|word| Bytes::copy_from_slice(word))
            .collect();
        let mut out = Out::new(Proto::Resp2);
        self.keyspace
            .execute(&mut self.session, &args, self.now_ms, &mut out);
        out.to_bytes()
    }

    /// Sets a key to a number, a text or a blob. On average, one key in three gets a deadline, and
    /// one key in five gets a tag.
    fn set(&mut self, number: usize, rng: &mut fastrand::Rng) {
        let value = match rng.usize(..40) {
            0 => vec![b'b'; 16_384 + rng.usize(..5_000)],
            1..10 => number.to_string().into_bytes(),
            _ => vec![rng.u8(b'a'..=b'z'); rng.usize(1..300)],
        };
        let deadline_ms = (rng.u8(..3) == 0).then(|| self.now_ms + rng.u64(1..60_000));
        let tag = (rng.u8(..5) == 0).then(|| rng.usize(..TAGS));
        let key = name(number);
        let mut words = vec![b"SET".as_slice(), key.as_bytes(), &value];
        let deadline = deadline_ms.unwrap_or_default().to_string();
        if deadline_ms.is_some() {
            words.extend([b"PXAT", deadline.as_bytes()]);
        }
        let tag_name = format!("tag:{}", tag.unwrap_or_default());
        if tag.is_some() {
            words.extend([b"TAG", tag_name.as_bytes()]);
        }
        assert_eq!(&self.send(&words)[..], b"+OK\r\n");
        let model = Model {
            value,
            deadline_ms,
            tag,
        };
        self.model.insert(number, model);
    }

    fn delete(&mut self, number: usize) {
        let was_there = self.model.remove(&number).is_some();
        let reply = self.send(&[b"DEL", name(number).as_bytes()]);
        let expected = format!(":{}\r\n", u8::from(was_there));
        assert_eq!(reply, expected.as_bytes(), "{}", name(number));
    }

    /// Makes one random step, with keys from a random range of all keys.
    fn step(&mut self, rng: &mut fastrand::Rng) {
        let from = rng.usize(..KEYS);
        let many = from..KEYS.min(from + rng.usize(..KEYS / 2));
        match rng.usize(..20) {
            0..4 => many.for_each(|number| self.set(number, rng)),
            4..7 => many.for_each(|number| self.delete(number)),
            7 if rng.u8(..4) == 0 => (0..KEYS).for_each(|number| self.delete(number)),
            8 => self.append(from),
            9 => self.invalidate(rng.usize(..TAGS)),
            10 => self.pass_time(rng.u64(..20_000)),
            15 => _ = self.keyspace.turn(self.now_ms),
            11 => self.begin_snapshot(),
            12 => self.write_snapshot_part(rng.usize(1..PART_BYTES_MAX)),
            13 => self.keyspace.start_defrag(),
            14 if rng.u8(..4) == 0 => self.flush(),
            _ => _ = self.keyspace.continue_defrag(rng.usize(1..KEYS / 5)),
        }
        self.check(rng.usize(..KEYS));
    }

    fn append(&mut self, number: usize) {
        self.send(&[b"APPEND", name(number).as_bytes(), b"more"]);
        let model = self.model.entry(number).or_default();
        model.value.extend(b"more");
    }

    fn invalidate(&mut self, tag: usize) {
        let before = self.model.len();
        self.model.retain(|_, model| model.tag != Some(tag));
        let reply = self.send(&[b"TAG", b"INVALIDATE", format!("tag:{tag}").as_bytes()]);
        let expected = format!(":{}\r\n", before - self.model.len());
        assert_eq!(reply, expected.as_bytes());
        // Defragmentation alternates with the removal of the keys whose tag was dropped, so keys
        // move while the removal is in the middle of the table.
        self.keyspace.start_defrag();
        for _ in 0..6 {
            self.keyspace.turn(self.now_ms);
            self.keyspace.continue_defrag(KEYS / 30);
        }
    }

    fn pass_time(&mut self, ms: u64) {
        self.now_ms += ms;
        let now_ms = self.now_ms;
        let is_due = |model: &Model| model.deadline_ms.is_some_and(|due_ms| due_ms <= now_ms);
        self.model.retain(|_, model| !is_due(model));
        while self.keyspace.turn(now_ms) {}
        // Keys that expired or whose tag was dropped are no longer in the table.
        assert_eq!(self.keyspace.dbs[0].dict.len(), self.model.len());
    }

    fn flush(&mut self) {
        self.send(&[b"FLUSHDB"]);
        self.model.clear();
    }

    fn begin_snapshot(&mut self) {
        let options = Options {
            version: 10,
            compress: false,
            aof_base: false,
            now_ms: self.now_ms,
        };
        if self.keyspace.start_snapshot(options) {
            self.expected = self.model.clone();
            self.file.clear();
        }
    }

    /// Continues the snapshot, if one is running, and compares it with the model once it is
    /// complete.
    fn write_snapshot_part(&mut self, work_bytes: usize) {
        if !self.keyspace.has_snapshot()
            || !self
                .keyspace
                .write_snapshot_part(work_bytes, &mut self.file)
        {
            return;
        }
        let mut loaded = ModelledStore::new();
        let mut loader = Loader::new(LoadOptions {
            now_ms: FIRST_MS,
            check_crc: true,
            skip_expired: false,
        });
        let file = &mut BytesMut::from(&self.file[..]);
        let is_whole = loader.feed(&mut loaded.keyspace, file);
        assert!(is_whole.expect("sound"), "the file ended early");
        loaded.model = std::mem::take(&mut self.expected);
        loaded.check_all();
    }

    fn check(&mut self, number: usize) {
        let reply = self.send(&[b"GET", name(number).as_bytes()]);
        let expected = match self.model.get(&number) {
            Some(Model { value, .. }) => {
                let head = format!("${}\r\n", value.len()).into_bytes();
                [&head, &value[..], b"\r\n"].concat()
            }
            None => b"$-1\r\n".to_vec(),
        };
        let escape = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert!(
            reply == expected,
            "{}: {} instead of {}",
            name(number),
            escape(&reply),
            escape(&expected)
        );
    }

    /// Compares with the model: every key with its value and deadline, and the numbers of keys,
    /// deadlines, blobs and tagged keys that the database records.
    fn check_all(&mut self) {
        (0..KEYS).for_each(|number| self.check(number));
        for (number, model) in self.model.clone() {
            let reply = self.send(&[b"PEXPIRETIME", name(number).as_bytes()]);
            let deadline = model.deadline_ms.map_or(-1, |due_ms| due_ms as i64);
            assert_eq!(reply, format!(":{deadline}\r\n"), "{}", name(number));
        }
        let now_ms = self.now_ms;
        while self.keyspace.turn(now_ms) {}
        let db = &self.keyspace.dbs[0];
        let has = |is_one: fn(&Model) -> bool| self.model.values().filter(|it| is_one(it)).count();
        assert_eq!(db.dict.len(), self.model.len());
        assert_eq!(db.due.len(), has(|it| it.deadline_ms.is_some()));
        assert_eq!(db.blobs.len(), has(|it| 16_384 <= it.value.len()));
        for tag in 0..TAGS {
            let tagged = self.model.values().filter(|it| it.tag == Some(tag)).count();
            assert_eq!(db.tags.count(format!("tag:{tag}").as_bytes()), tagged);
        }
    }
}

#[test]
fn defragmentation_preserves_all_keys() {
    for seed in 0..SEEDS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut modelled_store = ModelledStore::new();
        for _ in 0..STEPS {
            modelled_store.step(&mut rng);
        }
        modelled_store.check_all();
        while modelled_store.keyspace.has_snapshot() {
            modelled_store.write_snapshot_part(PART_BYTES_MAX);
        }
        modelled_store.keyspace.start_defrag();
        while modelled_store.keyspace.continue_defrag(KEYS / 3) {}
        modelled_store.check_all();
    }
}
