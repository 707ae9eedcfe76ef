//! The whole store, and the way of a command through it.

use std::collections::{HashMap, VecDeque};

use bytes::{Bytes, BytesMut};
use resp::{BLOB_BYTES_MIN, Out};

use crate::command::{Command, Flags, Handler};
use crate::commands::server;
use crate::context::{Context, Journal};
use crate::db::{Db, NEVER};
use crate::defrag::Defrag;
use crate::dict::Seed;
use crate::discard::Discarded;
use crate::evict::Sampled;
use crate::fault::Fault;
use crate::notify::{Class, Event, Notify};
use crate::session::{Queue, Session};
use crate::settings::Limits;
use crate::snapshot::Snapshots;
use crate::table;
use crate::text::Key;

/// All databases, and what happened in them that others have to hear of.
#[derive(Debug)]
pub struct Keyspace {
    pub(crate) dbs: Vec<Db>,
    pub(crate) limits: Limits,
    pub(crate) notify: Notify,
    pub(crate) seed: Seed,
    pub(crate) rng: fastrand::Rng,
    /// Watched keys of each database.
    watches: Vec<HashMap<Bytes, Watch>>,
    /// Keys of each database that somebody waits for, and how many do.
    waiting: Vec<HashMap<Bytes, usize>>,
    version: u64,
    pub(crate) last_load: LastLoad,
    journaling: bool,
    pub(crate) active_expire: bool,
    pub(crate) stats: Stats,
    /// Bytes that are no data and count for `maxmemory` all the same.
    pub(crate) beside_bytes: usize,
    /// SIEVE: the database and the slot it looks at next, of all keys and of those with blobs.
    pub(crate) hand: (usize, u32),
    pub(crate) blob_hand: (usize, u32),
    /// SIEVE: new keys that take much room, and go first unless they are used.
    pub(crate) probation: VecDeque<(usize, u32)>,
    /// Keys that were sampled for an eviction, the worst last.
    pub(crate) pool: Vec<Sampled>,
    pub(crate) snapshots: Snapshots,
    pub(crate) discarded: Discarded,
    pub(crate) defrag: Defrag,
    /// Makes blobs read-only that a payload brings.
    pub(crate) keep: fn(BytesMut) -> Bytes,
    /// Libraries of functions that a snapshot held, as they were.
    pub(crate) functions: Vec<Bytes>,
    /// What came of the commands so far; whoever serves drains it.
    pub effects: Effects,
}

/// What commands caused beside their replies.
#[derive(Debug, Default)]
pub struct Effects {
    /// Commands that repeat the changes, and their database: what the append-only file takes. Empty unless
    /// [`Keyspace::set_journaling`] turned it on.
    pub journal: Vec<(usize, Vec<Bytes>)>,
    /// Events of the classes that are wanted.
    pub events: Vec<Event>,
    /// Keys that somebody waits for and that got a value, in order.
    pub ready: Vec<(usize, Bytes)>,
    /// How many changes were made, ever: what save points count.
    pub changes: u64,
    /// All databases were emptied by a command.
    pub flushed_all: bool,
}

/// Counters since the start, or since [`Keyspace::reset_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads that found a key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Keys removed because their deadline had passed.
    pub expired: u64,
    /// Keys removed because memory was needed.
    pub evicted: u64,
}

/// Keys of the snapshot that was loaded last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastLoad {
    /// Keys that are there since.
    pub loaded: u64,
    /// Keys that were left out because their deadline had passed.
    pub expired: u64,
}

#[derive(Debug, Default)]
struct Watch {
    clients: usize,
    version: u64,
}

/// What is left to do after a command.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing; the reply is written.
    Done,
    /// Nothing: the command did not begin, and the reply says why.
    Refused,
    /// Nothing until EXEC, which has the command in its queue.
    Queued,
    /// Wait. Nothing is written: run the command again when one of the keys becomes ready, and answer with a null
    /// array when the time has passed.
    Block(Block),
    /// The command is not about data: run it. Its arguments were counted.
    Service(&'static Command),
    /// The head of the reply is written: run these in order, then call [`Session::exec_done`].
    Exec(Vec<Vec<Bytes>>),
}

/// What a blocked command waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Any of these keys of the selected database.
    pub keys: Vec<Bytes>,
    /// Until then, in Unix milliseconds; `None` is for ever.
    pub deadline_ms: Option<u64>,
}

impl Keyspace {
    /// An empty store. The seed should be random: it keeps clients from choosing keys that collide.
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
            beside_bytes: 0,
            hand: (0, 0),
            blob_hand: (0, 0),
            probation: VecDeque::new(),
            pool: Vec::new(),
            snapshots: Snapshots::default(),
            discarded: Discarded::default(),
            defrag: Defrag::default(),
            keep: BytesMut::freeze,
            functions: Vec::new(),
            effects: Effects::default(),
        }
    }

    /// Runs one command; its reply, if it has one already, is appended. `now_ms` is Unix time in milliseconds.
    pub fn execute(
        &mut self,
        session: &mut Session,
        args: &[Bytes],
        now_ms: u64,
        out: &mut Out,
    ) -> Outcome {
        let foreseen = std::mem::take(&mut session.foreseen);
        let command = match self.admit(session, args, now_ms, foreseen.command) {
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
        context.hash = foreseen.hash;
        let result = match command.handler {
            Handler::Run(run) => run(&mut context, out).map(|()| Outcome::Done),
            Handler::Wait(run) => {
                run(&mut context, out).map(|block| block.map_or(Outcome::Done, Outcome::Block))
            }
            Handler::Exec => return context.exec(out),
            Handler::Service => return Outcome::Service(command),
            // COMMAND alone: the others of that sort take no fewer than two words.
            Handler::Container => server::command(&mut context, out).map(|()| Outcome::Done),
        };
        context.finish();
        result.unwrap_or_else(|fault| {
            out.error(fault.text());
            Outcome::Done
        })
    }

    /// A command that does not even begin spoils the transaction it is in; EXEC itself ends it.
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

    /// Finds the command, and says why it may not run or be queued.
    fn admit(
        &mut self,
        session: &mut Session,
        args: &[Bytes],
        now_ms: u64,
        foreseen: Option<&'static Command>,
    ) -> Result<&'static Command, Fault> {
        session.command = None;
        let command = match foreseen {
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

    /// What an operator set.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Has memory beside the data count for `maxmemory`: what clients hold.
    pub fn set_beside_bytes(&mut self, bytes: usize) {
        self.beside_bytes = bytes;
    }

    /// Changes what an operator may change while data is there: everything but the number of databases.
    pub fn set_limits(&mut self, limits: Limits) {
        assert_eq!(
            limits.databases, self.limits.databases,
            "databases are fixed at the start"
        );
        self.limits = limits;
    }

    /// Which events are collected.
    #[must_use]
    pub fn notify(&self) -> Notify {
        self.notify
    }

    /// Chooses which events are collected.
    pub fn set_notify(&mut self, notify: Notify) {
        self.notify = notify;
    }

    /// Has blobs that RESTORE brings made read-only by `keep`, which must not change them.
    pub fn set_keep(&mut self, keep: fn(BytesMut) -> Bytes) {
        self.keep = keep;
    }

    /// Whether commands are collected for a journal.
    pub fn set_journaling(&mut self, journaling: bool) {
        self.journaling = journaling;
    }

    /// Whether due keys are removed without being asked for.
    pub fn set_active_expire(&mut self, active: bool) {
        self.active_expire = active;
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns how many keys the snapshot had that was loaded last.
    #[must_use]
    pub fn last_load(&self) -> LastLoad {
        self.last_load
    }

    /// Sets the counters to zero.
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    /// Bytes that the data and its overhead take.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.dbs.iter().map(Db::heap_bytes).sum()
    }

    /// Those of them that are values of 16 KiB and more.
    #[must_use]
    pub fn blob_bytes(&self) -> usize {
        self.dbs.iter().map(Db::blob_bytes).sum()
    }

    /// Keys in a database, how many of them have a deadline, and the mean time to it in milliseconds.
    #[must_use]
    pub fn db_figures(&self, db: usize, now_ms: u64) -> (usize, usize, u64) {
        const SAMPLE: usize = 100;
        let db = &self.dbs[db];
        // Of deadlines at the end of time two are more than 64 bits hold.
        let left = |due: &(i64, u32)| i128::from(due.0) - i128::from(now_ms);
        let sample = db.due.iter().take(SAMPLE);
        let total: i128 = sample.clone().map(|due| left(due).max(0)).sum();
        let mean = total.unsigned_abs() / sample.count().max(1) as u128;
        (db.dict.len(), db.due.len(), mean as u64)
    }

    /// Somebody waits for this key.
    pub fn wait(&mut self, db: usize, key: &Bytes) {
        *self.waiting[db].entry(owned(key)).or_default() += 1;
    }

    /// Somebody does not wait for it any longer.
    pub fn unwait(&mut self, db: usize, key: &Bytes) {
        if let Some(clients) = self.waiting[db].get_mut(key) {
            *clients -= 1;
            if *clients == 0 {
                self.waiting[db].remove(key);
            }
        }
    }

    /// A client goes, or asks for a state as fresh as a new one's.
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
                .expect("sessions watch what they hold");
            watch.clients -= 1;
            if watch.clients == 0 {
                watches.remove(&watched.key);
            }
        }
    }

    pub(crate) fn watched_version(&self, db: usize, key: &[u8]) -> u64 {
        self.watches[db]
            .get(key)
            .expect("sessions watch what they hold")
            .version
    }

    /// A key has changed: whoever watches it will find out.
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

    /// All watched keys of a database have changed that are there, or get a value that another one has.
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

    /// A key got a value where there was none.
    #[inline]
    pub(crate) fn appeared(&mut self, db: usize, key: &[u8]) {
        let locks = &mut self.dbs[db].locks;
        if !locks.is_empty() {
            locks.remove(&Key::new(key));
        }
        if let Some((key, _)) = self.waiting[db].get_key_value(key) {
            self.effects.ready.push((db, key.clone()));
        }
        self.note(db, Class::New, "new", key);
    }

    /// Everything that is waited for in a database and is there is ready.
    pub(crate) fn all_appeared(&mut self, db: usize) {
        for key in self.waiting[db].keys() {
            if self.dbs[db].dict.find(key).is_some() {
                self.effects.ready.push((db, key.clone()));
            }
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, db: usize, class: Class, name: &'static str, key: &[u8]) {
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

    /// Removes a key whose deadline has passed, and tells everybody.
    pub(crate) fn expire(&mut self, db: usize, key: &[u8]) {
        if let Some(slot) = self.dbs[db].dict.find(key) {
            self.about_to_go(db, slot);
            self.remove_key(db, key);
            self.stats.expired += 1;
            self.gone(db, key, Class::Expired, "expired");
        }
    }

    /// Removes a key without a word, and frees its value now or later.
    pub(crate) fn remove_key(&mut self, db: usize, key: &[u8]) {
        if let Some((slot, entry)) = self.dbs[db].remove(key) {
            self.retire(db, slot, entry);
        }
    }

    /// A key went that no command removed.
    pub(crate) fn gone(&mut self, db: usize, key: &[u8], class: Class, event: &'static str) {
        self.touch(db, key);
        self.note(db, class, event, key);
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

    /// Whether a key is due.
    pub(crate) fn is_due(deadline_ms: i64, now: i64) -> bool {
        deadline_ms <= now && deadline_ms != NEVER
    }

    pub(crate) fn begin_multi(session: &mut Session) {
        session.queue = Some(Queue::default());
    }
}

impl Keyspace {
    /// A key got another value in the place of the one it had.
    pub(crate) fn replaced(&mut self, db: usize, key: &[u8]) {
        if let Some((key, _)) = self.waiting[db].get_key_value(key) {
            self.effects.ready.push((db, key.clone()));
        }
    }
}

/// An argument to keep beyond its turn: a short one may be a slice of a whole read buffer.
pub(crate) fn owned(arg: &Bytes) -> Bytes {
    if arg.len() < BLOB_BYTES_MIN {
        Bytes::copy_from_slice(arg)
    } else {
        arg.clone()
    }
}
