//! The keyspace: all databases of the store with their settings and counters, and the effects of
//! commands.

mod debug;
mod execute;
mod functions;
mod memory;
mod prefetch;
mod snapshots;
mod turn;

use bytes::{Bytes, BytesMut};
use resp::BLOB_BYTES_MIN;

use crate::db::Db;
use crate::defrag::Defrag;
use crate::dict::Seed;
use crate::discard::LazyFreeQueue;
use crate::evict::Evictor;
use crate::notify::{Class, Event, Notify};
use crate::settings::{Growth, Limits};
use crate::snapshot::Snapshots;
use crate::text::Key;
use crate::value::Value;
use crate::waiting::WaitedKeys;
use crate::watches::Watches;

/// All databases, their settings, and the [`Effects`] of the commands that have run, which the
/// caller must handle.
#[derive(Debug)]
pub struct Keyspace {
    pub(crate) dbs: Vec<Db>,
    pub(crate) limits: Limits,
    pub(crate) notify: Notify,
    pub(crate) seed: Seed,
    pub(crate) rng: fastrand::Rng,
    pub(crate) watches: Watches,
    waiting: WaitedKeys,
    pub(crate) last_load: LastLoad,
    journaling: bool,
    pub(crate) active_expire: bool,
    pub(crate) stats: Stats,
    /// Bytes that count for `maxmemory` although they are not data, such as client buffers.
    pub(crate) non_data_bytes: usize,
    evictor: Evictor,
    snapshots: Snapshots,
    discarded: LazyFreeQueue,
    defrag: Defrag,
    /// Sources of the function libraries, for snapshots.
    pub(crate) functions: Vec<Bytes>,
    /// Effects of the commands that have run; the server takes them out.
    pub effects: Effects,
}

/// Effects of commands besides their replies.
#[derive(Debug, Default)]
pub struct Effects {
    /// Commands for the append-only file, which repeat the changes, each with the index of its
    /// database. Empty unless [`Keyspace::set_journaling`] turned journaling on.
    pub journal: Vec<(usize, Vec<Bytes>)>,
    /// Events of the classes enabled in [`Notify`].
    pub events: Vec<Event>,
    /// Keys that got a value and that clients block on, each with the index of its database, in the
    /// order in which they got the value.
    pub ready: Vec<(usize, Bytes)>,
    /// Number of changes since the start of the server. This counter decides whether a save point
    /// is reached.
    pub changes: u64,
    /// True if a command emptied all databases.
    pub flushed_all: bool,
}

/// Commands that the append-only file gets for one executed command.
pub(crate) enum Journal<'a> {
    /// The command itself, if it changed anything.
    AsIs(&'a [Bytes]),
    /// Other commands that have the same effect whenever they run, such as a command with a fixed
    /// deadline instead of a time to live.
    Rewritten(Vec<Vec<Bytes>>),
}

/// Counters since the start, or since [`Keyspace::reset_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads that found a key.
    pub hits: u64,
    /// Reads that found no key.
    pub misses: u64,
    /// Keys removed because their deadline had passed.
    pub expired: u64,
    /// Keys removed because memory was needed.
    pub evicted: u64,
}

/// Counts of keys in the snapshot that was loaded last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastLoad {
    /// Keys that were loaded into the databases.
    pub loaded: u64,
    /// Keys that were skipped because their deadline had passed.
    pub expired: u64,
}

impl Keyspace {
    /// Returns an empty store. The seed should be random: a client that knew the seed could choose
    /// keys whose hashes collide.
    #[must_use]
    pub fn new(limits: Limits, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let seed = Seed(rng.u64(..), rng.u64(..));
        let databases = limits.databases;
        Self {
            dbs: (0..databases).map(|_| Db::new(seed)).collect(),
            limits,
            notify: Notify::default(),
            seed,
            rng,
            watches: Watches::new(databases),
            waiting: WaitedKeys::new(databases),
            last_load: LastLoad::default(),
            journaling: false,
            active_expire: true,
            stats: Stats::default(),
            non_data_bytes: 0,
            evictor: Evictor::default(),
            snapshots: Snapshots::default(),
            discarded: LazyFreeQueue::new(BytesMut::freeze),
            defrag: Defrag::default(),
            functions: Vec::new(),
            effects: Effects::default(),
        }
    }

    /// Returns the settings in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets the number of bytes that count for `maxmemory` although they are not data: the buffers
    /// of clients.
    pub fn set_non_data_bytes(&mut self, bytes: usize) {
        self.non_data_bytes = bytes;
    }

    /// Replaces the settings. The number of databases is fixed at the start.
    ///
    /// # Panics
    /// If the number of databases differs.
    pub fn set_limits(&mut self, limits: Limits) {
        assert_eq!(
            limits.databases, self.limits.databases,
            "databases are fixed at the start"
        );
        self.limits = limits;
    }

    /// Returns the classes of events that are collected.
    #[must_use]
    pub fn notify(&self) -> Notify {
        self.notify
    }

    /// Sets the classes of events that are collected.
    pub fn set_notify(&mut self, notify: Notify) {
        self.notify = notify;
    }

    /// Sets the function that turns the buffer of a blob (a string of at least 16 KiB) into
    /// immutable bytes. The function must not change the content.
    pub fn set_blob_freezer(&mut self, keep: fn(BytesMut) -> Bytes) {
        self.discarded.keep = keep;
    }

    /// Returns the function that turns the buffers of blobs into immutable bytes.
    pub(crate) fn blob_freezer(&self) -> fn(BytesMut) -> Bytes {
        self.discarded.keep
    }

    /// Returns the settings and hash seed that a collection needs to grow.
    #[inline]
    pub(crate) fn growth(&self) -> Growth {
        Growth {
            encodings: self.limits.encodings,
            seed: self.seed,
        }
    }

    /// Turns the collection of commands for the append-only file on or off.
    pub fn set_journaling(&mut self, journaling: bool) {
        self.journaling = journaling;
    }

    /// Turns the removal of expired keys in [`Keyspace::turn`] on or off.
    pub fn set_active_expire(&mut self, active: bool) {
        self.active_expire = active;
    }

    /// Returns the counters of hits, misses, expired and evicted keys.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the key counts of the snapshot that was loaded last.
    #[must_use]
    pub fn last_load(&self) -> LastLoad {
        self.last_load
    }

    /// Sets the counters of [`Keyspace::stats`] to zero.
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    /// Returns the number of bytes that all data uses, overhead included.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.dbs.iter().map(Db::heap_bytes).sum()
    }

    /// Returns the number of bytes that values of at least 16 KiB use. [`Keyspace::used_bytes`]
    /// includes these bytes.
    #[must_use]
    pub fn blob_bytes(&self) -> usize {
        self.dbs.iter().map(Db::blob_bytes).sum()
    }

    /// Returns the number of keys in a database, the number of keys with a deadline, and the mean
    /// time left, in milliseconds, of the (at most 100) keys with the earliest deadlines.
    #[must_use]
    pub fn db_figures(&self, db: usize, now_ms: u64) -> (usize, usize, u64) {
        const SAMPLE: usize = 100;
        let db = &self.dbs[db];
        // 128 bits: the sum of two deadlines near the maximum overflows 64 bits.
        let left = |due: &(i64, u32)| i128::from(due.0) - i128::from(now_ms);
        let sample = db.due.iter().take(SAMPLE);
        let total: i128 = sample.clone().map(|due| left(due).max(0)).sum();
        let mean = total.unsigned_abs() / sample.count().max(1) as u128;
        (db.dict.len(), db.due.len(), mean as u64)
    }

    /// Registers a client that blocks on this key.
    pub fn wait(&mut self, db: usize, key: &Bytes) {
        self.waiting.add(db, owned(key));
    }

    /// Removes the registration of one client that blocked on this key.
    pub fn unwait(&mut self, db: usize, key: &Bytes) {
        self.waiting.remove(db, key);
    }

    /// Gives the key a new version. The transactions of clients that watch this key then fail.
    #[inline]
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        self.watches.touch(db, key);
    }

    /// Gives new versions to the watched keys of database `db` that SWAPDB, FLUSHDB or FLUSHALL may
    /// change. These are the keys that `db` contains, even if they have expired, and the keys that
    /// the database `other` contains, unless they have expired.
    pub(crate) fn touch_all(&mut self, db: usize, other: usize, now: i64) {
        let dbs = (&self.dbs[db], &self.dbs[other]);
        self.watches.touch_all(db, dbs, now);
    }

    /// Handles the creation of a key: releases the lock that a client holds on the key while it
    /// computes the value (GETORLOCK), and marks the key as ready for clients that block on it.
    #[inline]
    pub(crate) fn key_created(&mut self, db: usize, key: &[u8]) {
        let locks = &mut self.dbs[db].locks;
        if !locks.is_empty() {
            locks.remove(&Key::new(key));
        }
        if let Some(key) = self.waiting.find(db, key) {
            self.effects.ready.push((db, key.clone()));
        }
        self.emit_event(db, Class::New, "new", key);
    }

    /// Marks as ready, in one database, every existing key that clients block on.
    pub(crate) fn mark_all_ready(&mut self, db: usize) {
        for key in self.waiting.keys(db) {
            if self.dbs[db].dict.find(key).is_some() {
                self.effects.ready.push((db, key.clone()));
            }
        }
    }

    #[inline]
    pub(crate) fn emit_event(&mut self, db: usize, class: Class, name: &'static str, key: &[u8]) {
        if self.notify.wants(class) {
            let key = Bytes::copy_from_slice(key);
            self.effects.events.push(Event {
                db,
                class,
                name,
                key,
            });
        }
    }

    pub(crate) fn journals(&self) -> bool {
        self.journaling
    }

    /// Removes a key whose deadline has passed. Invalidates watches of the key, emits the event
    /// `expired`, and records the removal in the append-only file.
    pub(crate) fn expire(&mut self, db: usize, key: &[u8]) {
        if let Some(slot) = self.dbs[db].dict.find(key) {
            self.before_removal(db, slot);
            self.remove_key(db, key);
            self.stats.expired += 1;
            self.report_removal(db, key, Class::Expired, "expired");
        }
    }

    /// Removes a key, and frees its value now or later. Emits no event, and does not record the
    /// removal in the append-only file.
    pub(crate) fn remove_key(&mut self, db: usize, key: &[u8]) {
        if let Some((slot, entry)) = self.dbs[db].remove(key) {
            self.removed(db, key, &entry.value);
            self.retire(db, slot, entry);
        }
    }

    /// Handles a removal that no command requested: the key expired, was evicted, or was removed by
    /// a caller in this process. Invalidates watches of the key, emits the given event, and records
    /// the removal in the append-only file.
    pub(crate) fn report_removal(
        &mut self,
        db: usize,
        key: &[u8],
        class: Class,
        event: &'static str,
    ) {
        self.touch(db, key);
        self.emit_event(db, class, event, key);
        if self.journaling {
            let del = vec![Bytes::from_static(b"DEL"), Bytes::copy_from_slice(key)];
            self.effects.journal.push((db, del));
        }
    }

    pub(crate) fn commit(&mut self, db: usize, dirty: u64, journal: Journal<'_>) {
        self.effects.changes += dirty;
        if !self.journaling {
            return;
        }
        match journal {
            Journal::AsIs(args) if 0 < dirty => self.effects.journal.push((db, args.to_vec())),
            Journal::AsIs(_) => {}
            Journal::Rewritten(commands) => {
                let commands = commands.into_iter().map(|args| (db, args));
                self.effects.journal.extend(commands);
            }
        }
    }

    /// Marks the key of a removed stream as ready, if clients block on the key: clients that wait
    /// in XREADGROUP get an error. For other values, does nothing.
    #[inline]
    pub(crate) fn removed(&mut self, db: usize, key: &[u8], value: &Value) {
        if matches!(value, Value::Stream(_)) {
            self.mark_ready(db, key);
        }
    }

    /// Marks as ready, in one database, every stream that clients block on.
    pub(crate) fn mark_streams_ready(&mut self, db: usize) {
        for key in self.waiting.keys(db) {
            let entry = self.dbs[db].dict.get(key);
            if entry.is_some_and(|entry| matches!(entry.value, Value::Stream(_))) {
                self.effects.ready.push((db, key.clone()));
            }
        }
    }

    /// Marks a key as ready after its value was replaced or has grown, if clients block on the key.
    pub(crate) fn mark_ready(&mut self, db: usize, key: &[u8]) {
        if let Some(key) = self.waiting.find(db, key) {
            self.effects.ready.push((db, key.clone()));
        }
    }
}

/// Returns an argument in a form that may be kept after the command. A short argument is copied,
/// because it may be a slice that keeps a whole read buffer alive.
pub(crate) fn owned(arg: &Bytes) -> Bytes {
    if arg.len() < BLOB_BYTES_MIN {
        Bytes::copy_from_slice(arg)
    } else {
        arg.clone()
    }
}
