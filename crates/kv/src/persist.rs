//! The data on disk: snapshots, the journal, and when which is written.
//!
//! ```text
//! dir/dump.rdb                         the snapshot
//! dir/appendonlydir/NAME.manifest      which of the files below count, in which order
//!                   NAME.3.base.rdb    a snapshot, from which the increments go on
//!                   NAME.4.incr.aof    commands since
//! ```
//!
//! A rewrite begins a new increment and a new base at one moment, and replaces the list once the base is whole: at any
//! moment the files that are listed hold all data.

mod journal;
mod load;
mod manifest;
mod snapshot;

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use keyspace::{Keyspace, rdb};
use tokio::sync::Notify;
use tokio::task::{spawn_blocking, yield_now};

use crate::Error;
use crate::client::ClientKey;
use crate::config::Config;
use crate::connection::Shared;
use crate::state::{Pause, State};

pub(crate) use journal::sync_parent;
use journal::{Commit, Journal};
use load::{Loaded, Places};
use manifest::Manifest;

/// Bytes that a snapshot written before anybody is served encodes at once.
const BLOCKING_PIECE_BYTES: usize = 1 << 20;

/// Work that takes a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Save,
    Rewrite,
}

/// How the snapshots or the rewrites have gone.
#[derive(Clone, Copy, Debug)]
struct Record {
    ok: bool,
    count: u64,
    took_secs: Option<u64>,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            ok: true,
            count: 0,
            took_secs: None,
        }
    }
}

/// Snapshots and the journal.
#[derive(Debug)]
pub(crate) struct Persist {
    journal: Option<Journal>,
    manifest: Manifest,
    /// Bytes of the journal's files after the last rewrite.
    rewritten_bytes: u64,
    /// Under way, since when, and the changes counted then.
    running: Option<(Job, u64, u64)>,
    /// To be done next.
    wanted: Vec<Job>,
    wake: Rc<Notify>,
    /// Told when the journal has something to send.
    dirty: Rc<Notify>,
    /// Told when less of a snapshot waits.
    pub(crate) drained: Rc<Notify>,
    saves: Record,
    rewrites: Record,
    /// Rewrites that failed since one did not.
    failed_rewrites: u64,
    /// The longest turn of the snapshot under way, or else of the last one.
    longest_turn: Duration,
    last_save_ms: u64,
    /// When a save was last tried because it was due.
    tried_ms: u64,
    /// Changes that the last snapshot holds.
    saved_changes: u64,
    /// Clients that asked for a snapshot and wait for it.
    pub(crate) savers: Vec<ClientKey>,
    /// The server stops after the next snapshot.
    stops: bool,
}

/// A journal that goes on where it was left, or begins.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    manifest: Manifest,
    bytes: u64,
    base_bytes: u64,
}

/// Loads the data and opens the journal, if there is to be one.
pub(crate) fn open(
    config: &Config,
    keyspace: &mut Keyspace,
    now_ms: u64,
) -> Result<Option<Opened>, Error> {
    let places = Places::new(config);
    let host = |what: &std::path::Path| {
        let what = what.display().to_string();
        move |error: io::Error| Error::host(format!("{what}: {error}"))
    };
    fs::create_dir_all(&config.dir).map_err(host(config.dir.as_ref()))?;
    let Loaded {
        manifest,
        mut journal_bytes,
        mut base_bytes,
    } = load::load(config, keyspace, now_ms)?;
    if !config.appendonly {
        return Ok(None);
    }
    let mut manifest = manifest.unwrap_or_default();
    fs::create_dir_all(&places.journals).map_err(host(&places.journals))?;
    if manifest.base.is_none() && manifest.increments.is_empty() {
        let base = manifest.next_base(&places.stem);
        let path = places.journal(&base);
        assert!(
            keyspace.snapshot_begin(options(config, true, now_ms)),
            "nothing else was begun"
        );
        base_bytes =
            snapshot::write_blocking(keyspace, &path, BLOCKING_PIECE_BYTES).map_err(host(&path))?;
        journal_bytes = base_bytes;
        manifest.base = Some(base);
    }
    if manifest.increments.is_empty() {
        let increment = manifest.next_increment(&places.stem);
        manifest.increments.push(increment);
    }
    let last = manifest.increments.last().expect("one was pushed");
    let path = places.journal(last);
    let file = journal::open_for_append(&path).map_err(host(&path))?;
    journal::replace(&places.manifest, manifest.print().as_bytes())
        .map_err(host(&places.manifest))?;
    Ok(Some(Opened {
        file,
        manifest,
        bytes: journal_bytes,
        base_bytes,
    }))
}

fn options(config: &Config, aof_base: bool, now_ms: u64) -> rdb::Options {
    rdb::Options {
        version: config.rdb_version.0 as u16,
        compress: config.rdbcompression,
        aof_base,
        now_ms,
    }
}

impl Persist {
    pub(crate) fn new(config: &Config, opened: Option<Opened>, now_ms: u64) -> io::Result<Persist> {
        let mut persist = Persist::without_journal(now_ms);
        if let Some(opened) = opened {
            let journal = Journal::start(opened.file, opened.bytes, config.appendfsync)?;
            persist.journal = Some(journal);
            persist.manifest = opened.manifest;
            persist.rewritten_bytes = opened.base_bytes;
        }
        Ok(persist)
    }

    pub(crate) fn without_journal(now_ms: u64) -> Persist {
        Persist {
            journal: None,
            manifest: Manifest::default(),
            rewritten_bytes: 0,
            running: None,
            wanted: Vec::new(),
            wake: Rc::new(Notify::new()),
            dirty: Rc::new(Notify::new()),
            drained: Rc::new(Notify::new()),
            saves: Record::default(),
            rewrites: Record::default(),
            failed_rewrites: 0,
            longest_turn: Duration::ZERO,
            last_save_ms: now_ms,
            tried_ms: now_ms,
            saved_changes: 0,
            savers: Vec::new(),
            stops: false,
        }
    }

    pub(crate) fn is_journaling(&self) -> bool {
        self.journal.is_some()
    }

    /// Why commands that change data are refused, if they are.
    pub(crate) fn refuses_writes(&self, config: &Config) -> Option<String> {
        if !self.saves.ok && config.stop_writes_on_bgsave_error && !config.save.is_empty() {
            return Some(
                "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. \
                 Commands that may modify the data set are disabled, because this instance is configured to report \
                 errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check \
                 the Redis logs for details about the RDB error."
                    .to_owned(),
            );
        }
        let fault = self.journal.as_ref()?.fault()?;
        Some(format!("MISCONF Errors writing to the AOF file: {fault}"))
    }

    /// Takes what one command or transaction changed.
    pub(crate) fn append(&mut self, commands: &[(usize, Vec<Bytes>)]) {
        if let Some(journal) = &mut self.journal {
            journal.append(commands);
            self.dirty.notify_one();
        }
    }

    /// What replies so far have to wait for.
    pub(crate) fn commit(&self, bytes_max: usize) -> Option<Commit> {
        self.journal.as_ref()?.commit(bytes_max)
    }

    /// A snapshot has kept the core for so long at once.
    fn note_turn(&mut self, took: Duration) {
        self.longest_turn = self.longest_turn.max(took);
    }

    /// For how long a snapshot has kept the core at once, at most.
    pub(crate) fn longest_turn_us(&self) -> u128 {
        self.longest_turn.as_micros()
    }

    pub(crate) fn last_save_ms(&self) -> u64 {
        self.last_save_ms
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.journal.as_ref().map_or(0, Journal::pending_bytes)
    }

    /// The lines of `INFO persistence`.
    pub(crate) fn describe(
        &self,
        changes: u64,
        now_ms: u64,
        mut add: impl FnMut(&str, &dyn Display),
    ) {
        let status = |record: &Record| if record.ok { "ok" } else { "err" };
        let secs = |record: &Record| record.took_secs.map_or(-1, |secs| secs as i64);
        let runs = |job| self.running.is_some_and(|(running, ..)| running == job);
        let running_secs = |job| match self.running {
            Some((running, since_ms, _)) if running == job => {
                (now_ms.saturating_sub(since_ms) / 1000) as i64
            }
            _ => -1,
        };
        add("loading", &0);
        add("async_loading", &0);
        // There is no fork.
        add("current_cow_peak", &0);
        add("current_cow_size", &0);
        add("current_cow_size_age", &0);
        add("current_fork_perc", &"0.00");
        add(
            "rdb_changes_since_last_save",
            &changes.saturating_sub(self.saved_changes),
        );
        add("rdb_bgsave_in_progress", &u8::from(runs(Job::Save)));
        add("rdb_last_save_time", &(self.last_save_ms / 1000));
        add("rdb_last_bgsave_status", &status(&self.saves));
        add("rdb_last_bgsave_time_sec", &secs(&self.saves));
        add("rdb_current_bgsave_time_sec", &running_secs(Job::Save));
        add("rdb_saves", &self.saves.count);
        add("rdb_last_cow_size", &0);
        add("rdb_longest_turn_usec", &self.longest_turn_us());
        add("aof_enabled", &u8::from(self.is_journaling()));
        add("aof_rewrite_in_progress", &u8::from(runs(Job::Rewrite)));
        add(
            "aof_rewrite_scheduled",
            &u8::from(self.wanted.contains(&Job::Rewrite)),
        );
        add("aof_last_rewrite_time_sec", &secs(&self.rewrites));
        add("aof_current_rewrite_time_sec", &running_secs(Job::Rewrite));
        add("aof_last_bgrewrite_status", &status(&self.rewrites));
        add("aof_rewrites", &self.rewrites.count);
        add("aof_rewrites_consecutive_failures", &self.failed_rewrites);
        let write_fails = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.fault().is_some());
        add(
            "aof_last_write_status",
            &(if write_fails { "err" } else { "ok" }),
        );
        add("aof_last_cow_size", &0);
        add("module_fork_in_progress", &0);
        add("module_fork_last_cow_size", &0);
        if let Some(journal) = &self.journal {
            add("aof_current_size", &journal.bytes());
            add("aof_base_size", &self.rewritten_bytes);
            add("aof_pending_rewrite", &0);
            add("aof_buffer_length", &journal.pending_bytes());
            add("aof_pending_bio_fsync", &0);
            add("aof_delayed_fsync", &0);
        }
    }
}

impl State {
    /// Has a snapshot written; its moment is the next turn's begin.
    pub(crate) fn begin_save(&mut self) -> Result<(), String> {
        match self.persist.running {
            Some((Job::Save, ..)) => {
                return Err("ERR Background save already in progress".to_owned());
            }
            _ if self.persist.wanted.contains(&Job::Save) => {
                return Err("ERR Background save already in progress".to_owned());
            }
            _ => {}
        }
        self.want(Job::Save);
        Ok(())
    }

    /// Has a snapshot written and the client wait for it.
    pub(crate) fn save_for(&mut self, key: ClientKey) -> Result<(), String> {
        self.begin_save()?;
        self.persist.savers.push(key);
        Ok(())
    }

    /// Has the journal written anew.
    pub(crate) fn begin_rewrite(&mut self) -> Result<&'static str, String> {
        let begun = self.persist.running.is_none() && self.persist.wanted.is_empty();
        match self.persist.running {
            Some((Job::Rewrite, ..)) => {
                return Err(
                    "ERR Background append only file rewriting already in progress".to_owned(),
                );
            }
            _ if self.persist.wanted.contains(&Job::Rewrite) => {}
            _ => self.want(Job::Rewrite),
        }
        Ok(match begun {
            true => "Background append only file rewriting started",
            false => "Background append only file rewriting scheduled",
        })
    }

    fn want(&mut self, job: Job) {
        self.persist.wanted.push(job);
        self.persist.wake.notify_one();
    }

    /// Stops the server, after a snapshot if there is to be one. Nothing runs from here on.
    pub(crate) fn shut_down(&mut self, save: bool) {
        if self.persist.stops {
            return;
        }
        self.pause = Some(Pause {
            until_ms: u64::MAX,
            all: true,
        });
        self.persist.stops = true;
        if save {
            self.want(Job::Save);
        }
        self.persist.wake.notify_one();
    }

    /// Whether a stop without further words writes a snapshot: when snapshots are due at times anyway.
    pub(crate) fn saves_at_end(&self) -> bool {
        !self.config.save.is_empty()
    }

    /// Begins what is due: snapshots by their points, rewrites by growth; and stops when the disk is lost.
    pub(crate) fn persist_tick(&mut self) {
        let now_ms = self.now_ms();
        let persist = &self.persist;
        if persist.journal.as_ref().is_some_and(Journal::is_broken) {
            self.stop.trigger();
            return;
        }
        if persist.running.is_some() || !persist.wanted.is_empty() {
            return;
        }
        let changes = self.keyspace.effects.changes - persist.saved_changes;
        let since_ms = now_ms.saturating_sub(persist.last_save_ms);
        let mut points = self.config.save.iter();
        let due = points.any(|point| {
            point.changes <= changes && 0 < changes && point.seconds * 1000 < since_ms
        });
        // One that failed is tried again after a while, not at each tick.
        let may_try = persist.saves.ok || 5_000 < now_ms.saturating_sub(persist.tried_ms);
        if due && may_try {
            self.persist.tried_ms = now_ms;
            tracing::info!(changes, "writing a snapshot");
            self.want(Job::Save);
            return;
        }
        let percentage = self.config.auto_aof_rewrite_percentage.0 as u64;
        if let Some(journal) = &persist.journal
            && 0 < percentage
        {
            let bytes = journal.bytes();
            let base = persist.rewritten_bytes.max(1);
            let grown = bytes.saturating_sub(base).saturating_mul(100) / base;
            if self.config.auto_aof_rewrite_min_size.0 < bytes && percentage <= grown {
                tracing::info!(bytes, "rewriting the journal");
                self.want(Job::Rewrite);
            }
        }
    }

    /// Takes over what `CONFIG SET` changed about the files.
    pub(crate) fn persist_config(&mut self, before: &Config) -> Result<(), String> {
        if before.dir != self.config.dir
            && !fs::metadata(&self.config.dir).is_ok_and(|dir| dir.is_dir())
        {
            return Err(format!("{} is no directory", self.config.dir));
        }
        if let Some(journal) = &mut self.persist.journal {
            journal.set_fsync(self.config.appendfsync);
        }
        match (before.appendonly, self.config.appendonly) {
            // The rewrite begins the journal; one that runs may have begun without.
            (false, true)
                if !self.persist.is_journaling()
                    && !self.persist.wanted.contains(&Job::Rewrite) =>
            {
                self.want(Job::Rewrite);
            }
            (true, false) => {
                // The rest is written and synced, which the core does not wait for.
                let journal = self.persist.journal.take();
                drop(spawn_blocking(move || drop(journal)));
                self.keyspace.set_journaling(false);
            }
            _ => {}
        }
        Ok(())
    }

    /// `DEBUG RELOAD`: the data through a snapshot in memory and back.
    pub(crate) fn reload(&mut self) -> Result<(), String> {
        if self.persist.running.is_some() {
            return Err("ERR a snapshot is being written".to_owned());
        }
        let now_ms = self.now_ms();
        self.keyspace
            .snapshot_begin(options(&self.config, false, now_ms));
        let mut bytes = Vec::new();
        while !self
            .keyspace
            .snapshot_next(BLOCKING_PIECE_BYTES, &mut bytes)
        {}
        load::reload(&mut self.keyspace, &bytes, now_ms)
            .map_err(|error| format!("ERR Error trying to load the RDB dump: {error}"))
    }

    /// `DEBUG LOADAOF`: the data through the journal's files and back.
    pub(crate) fn reload_journal(&mut self) -> Result<(), String> {
        if self.persist.running.is_some() {
            return Err("ERR the journal is being rewritten, or a snapshot written".to_owned());
        }
        let now_ms = self.now_ms();
        let journal = self.persist.journal.as_mut();
        let written = journal.map_or(Ok(()), Journal::write_out);
        let loaded = written.and_then(|()| {
            let loaded = load::reload_journals(&self.config, &mut self.keyspace, now_ms);
            loaded.map_err(|error| error.to_string())
        });
        loaded.map_err(|error| format!("ERR Error trying to load the AOF: {error}"))
    }
}

/// Does what is wanted, one after the other, until the server stops.
pub(crate) async fn keep_files(shared: Rc<Shared>) {
    let wake = Rc::clone(&shared.state.borrow().persist.wake);
    loop {
        if !shared.state.borrow().persist.wanted.is_empty() {
            swept(&shared).await;
        }
        let job = {
            let mut state = shared.state.borrow_mut();
            state.next_job()
        };
        match job {
            Some(Job::Save) => {
                let path = Places::new(&shared.state.borrow().config).snapshot;
                let written = snapshot::write(&shared, path).await;
                shared.state.borrow_mut().save_done(written);
            }
            Some(Job::Rewrite) => {
                let rewritten = rewrite(&shared).await;
                shared.state.borrow_mut().rewrite_done(rewritten);
            }
            None if shared.state.borrow().persist.stops => {
                shared.state.borrow().stop.trigger();
                return;
            }
            None => wake.notified().await,
        }
    }
}

/// Waits until keys whose tags were dropped are gone, so that a snapshot can begin without that.
async fn swept(shared: &Shared) {
    while !shared.state.borrow_mut().sweep_tagged() {
        yield_now().await;
    }
}

/// Sends the journal's batches, one after the other.
pub(crate) async fn keep_journal(shared: Rc<Shared>) {
    let dirty = Rc::clone(&shared.state.borrow().persist.dirty);
    loop {
        let sent = {
            let mut state = shared.state.borrow_mut();
            state.persist.journal.as_mut().and_then(Journal::send)
        };
        match sent {
            Some(commit) => commit.wait().await,
            None => dirty.notified().await,
        }
    }
}

impl State {
    /// What is to be done next; a snapshot's moment is this one.
    fn next_job(&mut self) -> Option<Job> {
        if self.persist.wanted.is_empty() {
            return None;
        }
        let job = self.persist.wanted.remove(0);
        let now_ms = self.now_ms();
        self.persist.running = Some((job, now_ms, self.keyspace.effects.changes));
        self.persist.longest_turn = Duration::ZERO;
        if job == Job::Save {
            let begun = self
                .keyspace
                .snapshot_begin(options(&self.config, false, now_ms));
            assert!(begun, "one job runs at a time");
        }
        Some(job)
    }

    fn save_done(&mut self, written: io::Result<u64>) {
        let now_ms = self.now_ms();
        let (_, begun_ms, changes) = self.persist.running.take().expect("a save was running");
        let persist = &mut self.persist;
        // Whoever waits for it is told, and may do something about it; of others commands must tell.
        let is_waited_for = persist.stops || !persist.savers.is_empty();
        persist.saves.ok = written.is_ok() || persist.saves.ok && is_waited_for;
        persist.saves.took_secs = Some(now_ms.saturating_sub(begun_ms) / 1000);
        let reply = match &written {
            Ok(bytes) => {
                tracing::info!(bytes, "snapshot written");
                persist.saves.count += 1;
                persist.last_save_ms = now_ms;
                persist.saved_changes = changes;
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "the snapshot could not be written");
                let stops = persist.stops;
                if stops {
                    tracing::error!("so the server does not stop, which would lose what it holds");
                    persist.stops = false;
                    self.unpause();
                }
                Err(match stops {
                    true => "ERR Errors trying to SHUTDOWN. Check logs.",
                    false => "ERR",
                })
            }
        };
        for key in std::mem::take(&mut self.persist.savers) {
            if self.unpark(key).is_some() {
                let out = &mut self.clients[key].out;
                match reply {
                    Ok(()) => out.ok(),
                    Err(text) => out.error(text),
                }
            }
        }
    }

    fn rewrite_done(&mut self, rewritten: io::Result<u64>) {
        let now_ms = self.now_ms();
        let (_, begun_ms, _) = self.persist.running.take().expect("a rewrite was running");
        let persist = &mut self.persist;
        persist.rewrites.ok = rewritten.is_ok();
        persist.rewrites.took_secs = Some(now_ms.saturating_sub(begun_ms) / 1000);
        match rewritten {
            Ok(bytes) => {
                tracing::info!(bytes, "journal rewritten");
                persist.rewrites.count += 1;
                persist.failed_rewrites = 0;
                persist.rewritten_bytes = bytes;
            }
            Err(error) => {
                persist.failed_rewrites += 1;
                tracing::error!(%error, "the journal could not be rewritten; it goes on as it was")
            }
        }
    }
}

/// Begins a new increment and a new base at one moment, then replaces what was before. Without `appendonly` there is a base
/// alone. Returns its length.
async fn rewrite(shared: &Shared) -> io::Result<u64> {
    let (places, mut manifest, was_on) = {
        let state = shared.state.borrow();
        let persist = &state.persist;
        (
            Places::new(&state.config),
            persist.manifest.clone(),
            persist.is_journaling(),
        )
    };
    let increment = manifest.next_increment(&places.stem);
    manifest.increments.push(increment.clone());
    let file = {
        let (places, listed) = (places.clone(), manifest.clone());
        blocking(move || {
            fs::create_dir_all(&places.journals)?;
            let file = journal::create(&places.journal(&increment))?;
            // A journal that only begins is not listed before its base is there: alone it would not be all data.
            if was_on {
                journal::replace(&places.manifest, listed.print().as_bytes())?;
            }
            Ok(file)
        })
        .await?
    };
    swept(shared).await;
    let bytes_before = shared.state.borrow_mut().split_journal(file, &manifest)?;
    let base = manifest.next_base(&places.stem);
    let base_bytes = snapshot::write(shared, places.journal(&base)).await?;
    // One that nothing is written to goes with what was before.
    let last = bytes_before.and_then(|_| manifest.increments.pop());
    let mut replaced = Manifest {
        base: Some(base),
        increments: last.into_iter().collect(),
        history: manifest
            .base
            .into_iter()
            .chain(manifest.increments)
            .collect(),
    };
    let listed = replaced.clone();
    blocking(move || {
        journal::replace(&places.manifest, listed.print().as_bytes())?;
        for old in &listed.history {
            // One that stays is listed as history, and removed by whoever rewrites next.
            fs::remove_file(places.journal(old))?;
        }
        let clean = Manifest {
            history: Vec::new(),
            ..listed
        };
        journal::replace(&places.manifest, clean.print().as_bytes())
    })
    .await?;
    replaced.history.clear();
    let persist = &mut shared.state.borrow_mut().persist;
    persist.manifest = replaced;
    if let Some(journal) = &persist.journal {
        journal.set_bytes(base_bytes + (journal.bytes() - bytes_before.unwrap_or(0)));
    }
    Ok(base_bytes)
}

impl State {
    /// The moment of a rewrite: what comes from here on is in the new increment, what was before in the snapshot.
    /// Returns the bytes journaled before; none where there is to be no journal.
    fn split_journal(&mut self, file: File, manifest: &Manifest) -> io::Result<Option<u64>> {
        let now_ms = self.now_ms();
        let persist = &mut self.persist;
        let bytes_before = match &mut persist.journal {
            Some(journal) => {
                journal.rotate(file);
                Some(journal.bytes())
            }
            none if self.config.appendonly => {
                *none = Some(Journal::start(file, 0, self.config.appendfsync)?);
                self.keyspace.set_journaling(true);
                Some(0)
            }
            _ => None,
        };
        if bytes_before.is_some() {
            persist.manifest = manifest.clone();
        }
        let begun = self
            .keyspace
            .snapshot_begin(options(&self.config, true, now_ms));
        assert!(begun, "one job runs at a time");
        Ok(bytes_before)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
