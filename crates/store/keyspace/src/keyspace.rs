//! The whole store, and the execution of one command.

use std::collections::{HashMap, VecDeque};

use bytes::{Bytes, BytesMut};
use resp::{BLOB_BYTES_MIN, Out};

use crate::command::{Command, Flags, Handler};
use crate::commands::server;
use crate::context::{Context, Journal};
use crate::db::{Db, NEVER};
use crate::defrag::Defrag;
use crate::dict::Seed;
use crate::discard::LazyFreeQueue;
use crate::evict::Sampled;
use crate::fault::Fault;
use crate::notify::{Class, Event, Notify};
use crate::session::{Queue, Session};
use crate::settings::Limits;
use crate::snapshot::Snapshots;
use crate::table;
use crate::text::Key;

/// All databases, their settings, and the effects of commands that other parts must handle.
#[derive(Debug)]
pub struct Keyspace {
    pub(crate) dbs: Vec<Db>,
    pub(crate) limits: Limits,
    pub(crate) notify: Notify,
    pub(crate) seed: Seed,
    pub(crate) rng: fastrand::Rng,
    /// Watched keys of each database.
    watches: Vec<HashMap<Bytes, Watch>>,
    /// Keys of each database on which clients block, with the number of those clients.
    waiting: Vec<HashMap<Bytes, usize>>,
    version: u64,
    pub(crate) last_load: LastLoad,
    journaling: bool,
    pub(crate) active_expire: bool,
    pub(crate) stats: Stats,
    /// Bytes that count for `maxmemory` although they are not data, such as client buffers.
    pub(crate) non_data_bytes: usize,
    /// SIEVE: the database and slot that the hand examines next, among all keys (`hand`) and among
    /// keys with blobs (`blob_hand`).
    pub(crate) hand: (usize, u32),
    pub(crate) blob_hand: (usize, u32),
    /// SIEVE: new large keys, which are evicted first unless they are used.
    pub(crate) probation: VecDeque<(usize, u32)>,
    /// Keys that were sampled for an eviction, the best candidate last.
    pub(crate) pool: Vec<Sampled>,
    pub(crate) snapshots: Snapshots,
    pub(crate) discarded: LazyFreeQueue,
    pub(crate) defrag: Defrag,
    /// Freezes the buffers of blobs received in a RESTORE payload, and of large blobs that are
    /// freed.
    pub(crate) keep: fn(BytesMut) -> Bytes,
    /// Function libraries from a loaded snapshot, kept unparsed.
    pub(crate) functions: Vec<Bytes>,
    /// Effects of the commands run so far; the server drains them.
    pub effects: Effects,
}

/// Effects of commands besides their replies.
#[derive(Debug, Default)]
pub struct Effects {
    /// Commands that repeat the changes, each with its database, for the append-only file. Empty
    /// unless [`Keyspace::set_journaling`] turned journaling on.
    pub journal: Vec<(usize, Vec<Bytes>)>,
    /// Events of the classes enabled in [`Notify`].
    pub events: Vec<Event>,
    /// Keys that clients block on and that got a value, in order.
    pub ready: Vec<(usize, Bytes)>,
    /// Changes since the start; save points compare against this counter.
    pub changes: u64,
    /// True if a command emptied all databases.
    pub flushed_all: bool,
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

#[derive(Debug, Default)]
struct Watch {
    clients: usize,
    version: u64,
}

/// State of a command after [`Keyspace::execute`]: finished, or to be continued by the caller.
#[derive(Debug)]
pub enum Outcome {
    /// The command ran; the reply is written.
    Done,
    /// The command did not start; the reply gives the reason.
    Refused,
    /// The command is in the transaction's queue until EXEC.
    Queued,
    /// The command must wait, and nothing is written. Run it again when one of the keys becomes
    /// ready; reply with a null array when the deadline has passed.
    Block(Block),
    /// The command concerns connections, files or the server: the caller runs it. The number of its
    /// arguments was checked.
    Service(&'static Command),
    /// The head of the EXEC reply is written: run these commands in order, then call
    /// [`Session::exec_done`].
    Exec(Vec<Vec<Bytes>>),
}

/// Keys and deadline of a blocked command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Keys of the selected database; any of them unblocks the command.
    pub keys: Vec<Bytes>,
    /// Deadline in Unix milliseconds; `None` waits without limit.
    pub deadline_ms: Option<u64>,
}

impl Keyspace {
    /// Returns an empty store. The seed should be random: a client that knew it could choose keys
    /// whose hashes collide.
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
            watches: (0..databases).map(|_| HashMap::new()).collect(),
            waiting: (0..databases).map(|_| HashMap::new()).collect(),
            version: 0,
            last_load: LastLoad::default(),
            journaling: false,
            active_expire: true,
            stats: Stats::default(),
            non_data_bytes: 0,
            hand: (0, 0),
            blob_hand: (0, 0),
            probation: VecDeque::new(),
            pool: Vec::new(),
            snapshots: Snapshots::default(),
            discarded: LazyFreeQueue::default(),
            defrag: Defrag::default(),
            keep: BytesMut::freeze,
            functions: Vec::new(),
            effects: Effects::default(),
        }
    }

    /// Runs one command and appends its reply, if it has one already. `now_ms` is Unix time in
    /// milliseconds.
    pub fn execute(
        &mut self,
        session: &mut Session,
        args: &[Bytes],
        now_ms: u64,
        out: &mut Out,
    ) -> Outcome {
        let prefetched = std::mem::take(&mut session.prefetched);
        let command = match self.admit(session, args, now_ms, prefetched.command) {
            Ok(command) => command,
            Err(fault) => {
                self.refuse(session, &fault, out);
                return Outcome::Refused;
            }
        };
        if let Some(queue) = &mut session.queue
            && !table::runs_at_once(command.name)
        {
            queue.push(args.iter().map(owned).collect());
            out.simple("QUEUED");
            return Outcome::Queued;
        }
        let mut context = Context::new(self, session, args, now_ms);
        context.hash = prefetched.hash;
        let result = match command.handler {
            Handler::Run(run) => run(&mut context, out).map(|()| Outcome::Done),
            Handler::Wait(run) => {
                run(&mut context, out).map(|block| block.map_or(Outcome::Done, Outcome::Block))
            }
            Handler::Exec => return context.exec(out),
            Handler::Service => return Outcome::Service(command),
            // Only COMMAND gets here: the other containers require at least two arguments.
            Handler::Container => server::command(&mut context, out).map(|()| Outcome::Done),
        };
        context.finish();
        result.unwrap_or_else(|fault| {
            out.error(fault.text());
            Outcome::Done
        })
    }

    /// Writes the error reply. A refused command aborts the transaction around it; a refused EXEC
    /// ends the transaction.
    fn refuse(&mut self, session: &mut Session, fault: &Fault, out: &mut Out) {
        if session
            .command
            .is_some_and(|command| command.name == "exec")
        {
            session.queue = None;
            self.unwatch(session);
            let text = fault.text();
            let text = text.strip_prefix(b"ERR ").unwrap_or(text);
            let abort = b"EXECABORT Transaction discarded because of: ";
            out.error([&abort[..], text].concat());
        } else {
            session.abort_multi();
            out.error(fault.text());
        }
    }

    /// Finds the command, or returns the reason why it may neither run nor be queued.
    fn admit(
        &mut self,
        session: &mut Session,
        args: &[Bytes],
        now_ms: u64,
        prefetched: Option<&'static Command>,
    ) -> Result<&'static Command, Fault> {
        session.command = None;
        let command = match prefetched {
            Some(command) => command,
            None => table::resolve(args)?,
        };
        session.command = Some(command);
        if !command.takes(args.len()) {
            return Err(Fault::arity(command.name));
        }
        if session.in_multi() && command.flags.has(Flags::NO_MULTI) {
            return Err(Fault::of("ERR Command not allowed inside a transaction"));
        }
        let queued = session.queue.as_ref().is_some_and(Queue::needs_memory);
        let queues = session.queue.is_some() && !table::runs_at_once(command.name);
        let needs = command.flags.has(Flags::DENYOOM) || queues || command.name == "exec" && queued;
        let denies = needs && !session.replay && !session.in_exec;
        if denies && !self.make_room(now_ms) {
            return Err(Fault::OUT_OF_MEMORY);
        }
        Ok(command)
    }

    /// Returns the settings in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets the bytes outside the data that count for `maxmemory`: the buffers of clients.
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

    /// Sets the function that freezes the buffers of blobs. It must not change their bytes.
    pub fn set_blob_freezer(&mut self, keep: fn(BytesMut) -> Bytes) {
        self.keep = keep;
    }

    /// Turns the collection of commands for the append-only file on or off.
    pub fn set_journaling(&mut self, journaling: bool) {
        self.journaling = journaling;
    }

    /// Turns the removal of due keys in [`Keyspace::turn`] on or off.
    pub fn set_active_expire(&mut self, active: bool) {
        self.active_expire = active;
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the key counts of the snapshot that was loaded last.
    #[must_use]
    pub fn last_load(&self) -> LastLoad {
        self.last_load
    }

    /// Sets the counters to zero.
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    /// Returns the bytes of all data, overhead included.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.dbs.iter().map(Db::heap_bytes).sum()
    }

    /// Returns the bytes of values of at least 16 KiB, which are part of [`Keyspace::used_bytes`].
    #[must_use]
    pub fn blob_bytes(&self) -> usize {
        self.dbs.iter().map(Db::blob_bytes).sum()
    }

    /// Returns the number of keys in a database, the number of those with a deadline, and the mean
    /// time to these deadlines in milliseconds.
    #[must_use]
    pub fn db_figures(&self, db: usize, now_ms: u64) -> (usize, usize, u64) {
        const SAMPLE: usize = 100;
        let db = &self.dbs[db];
        // 128 bits: the sum of two deadlines at the end of time overflows 64 bits.
        let left = |due: &(i64, u32)| i128::from(due.0) - i128::from(now_ms);
        let sample = db.due.iter().take(SAMPLE);
        let total: i128 = sample.clone().map(|due| left(due).max(0)).sum();
        let mean = total.unsigned_abs() / sample.count().max(1) as u128;
        (db.dict.len(), db.due.len(), mean as u64)
    }

    /// Registers a client that blocks on this key.
    pub fn wait(&mut self, db: usize, key: &Bytes) {
        *self.waiting[db].entry(owned(key)).or_default() += 1;
    }

    /// Removes the registration of one client that blocked on this key.
    pub fn unwait(&mut self, db: usize, key: &Bytes) {
        if let Some(clients) = self.waiting[db].get_mut(key) {
            *clients -= 1;
            if *clients == 0 {
                self.waiting[db].remove(key);
            }
        }
    }

    /// Resets the session of a client that disconnects or sends RESET.
    pub fn close(&mut self, session: &mut Session) {
        self.unwatch(session);
        *session = Session::new();
    }

    pub(crate) fn watch(&mut self, db: usize, key: &Bytes) -> u64 {
        let watch = self.watches[db].entry(key.clone()).or_default();
        watch.clients += 1;
        watch.version
    }

    pub(crate) fn unwatch(&mut self, session: &mut Session) {
        session.watched_bytes = 0;
        for watched in session.watched.drain(..) {
            let watches = &mut self.watches[watched.db];
            let watch = watches
                .get_mut(&watched.key)
                .expect("watched keys of sessions are in the table");
            watch.clients -= 1;
            if watch.clients == 0 {
                watches.remove(&watched.key);
            }
        }
    }

    pub(crate) fn watched_version(&self, db: usize, key: &[u8]) -> u64 {
        self.watches[db]
            .get(key)
            .expect("watched keys of sessions are in the table")
            .version
    }

    /// Gives the key a new version, so that transactions of clients that watch it fail.
    #[inline]
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        if self.watches[db].is_empty() {
            return;
        }
        self.version += 1;
        if let Some(watch) = self.watches[db].get_mut(key) {
            watch.version = self.version;
        }
    }

    /// Gives a new version to each watched key of database `db` that exists there, or that exists
    /// in database `other` and is not gone: for SWAPDB, FLUSHDB and FLUSHALL.
    pub(crate) fn touch_all(&mut self, db: usize, other: usize, now: i64) {
        self.version += 1;
        let (here, there) = (&self.dbs[db], &self.dbs[other]);
        let is_new = |slot: u32| !there.is_gone(slot, now);
        for (key, watch) in &mut self.watches[db] {
            if here.dict.find(key).is_some() || there.dict.find(key).is_some_and(is_new) {
                watch.version = self.version;
            }
        }
    }

    /// Handles a key that got a value where there was none: releases its build lock, and marks it
    /// ready for clients that block on it.
    #[inline]
    pub(crate) fn key_created(&mut self, db: usize, key: &[u8]) {
        let locks = &mut self.dbs[db].locks;
        if !locks.is_empty() {
            locks.remove(&Key::new(key));
        }
        if let Some((key, _)) = self.waiting[db].get_key_value(key) {
            self.effects.ready.push((db, key.clone()));
        }
        self.emit_event(db, Class::New, "new", key);
    }

    /// Marks all keys of a database as ready that exist and that clients block on.
    pub(crate) fn mark_all_ready(&mut self, db: usize) {
        for key in self.waiting[db].keys() {
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

    /// Removes a key whose deadline has passed, and reports the removal to watchers, events and
    /// journal.
    pub(crate) fn expire(&mut self, db: usize, key: &[u8]) {
        if let Some(slot) = self.dbs[db].dict.find(key) {
            self.before_removal(db, slot);
            self.remove_key(db, key);
            self.stats.expired += 1;
            self.gone(db, key, Class::Expired, "expired");
        }
    }

    /// Removes a key without an event or a journal entry, and frees its value now or later.
    pub(crate) fn remove_key(&mut self, db: usize, key: &[u8]) {
        if let Some((slot, entry)) = self.dbs[db].remove(key) {
            self.retire(db, slot, entry);
        }
    }

    /// Reports the removal of a key that no command removed: to watchers, events and journal.
    pub(crate) fn gone(&mut self, db: usize, key: &[u8], class: Class, event: &'static str) {
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

    /// Returns whether the deadline has passed.
    pub(crate) fn is_due(deadline_ms: i64, now: i64) -> bool {
        deadline_ms <= now && deadline_ms != NEVER
    }

    pub(crate) fn start_multi(session: &mut Session) {
        session.queue = Some(Queue::default());
    }
}

impl Keyspace {
    /// Marks a key ready whose value was replaced, if clients block on it.
    pub(crate) fn replaced(&mut self, db: usize, key: &[u8]) {
        if let Some((key, _)) = self.waiting[db].get_key_value(key) {
            self.effects.ready.push((db, key.clone()));
        }
    }
}

/// Returns an argument that may outlive its turn. A short argument is copied, because it may be a
/// slice that keeps a whole read buffer alive.
pub(crate) fn owned(arg: &Bytes) -> Bytes {
    if arg.len() < BLOB_BYTES_MIN {
        Bytes::copy_from_slice(arg)
    } else {
        arg.clone()
    }
}
