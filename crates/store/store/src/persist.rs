//! The data on disk: snapshots, the AOF, and the schedule for writing them.
//!
//! ```text
//! dir/dump.rdb                         the snapshot
//! dir/appendonlydir/NAME.manifest      which of the files below are valid, and their order
//!                   NAME.3.base.rdb    a snapshot, which the increments continue
//!                   NAME.4.incr.aof    commands since that snapshot
//! ```
//!
//! A rewrite starts a new increment and a new base at the same moment, and replaces the manifest
//! once the base is complete: at any moment the listed files hold all data.

mod journal;
mod load;
mod manifest;
mod snapshot;

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
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

use journal::{Commit, Journal, Sum};
pub(crate) use journal::{Loss, sync_parent};
use load::BlobAllocator;
use manifest::Manifest;

/// Bytes encoded at a time by a snapshot that is written before the server accepts clients.
const BLOCKING_PIECE_BYTES: usize = 1 << 20;

/// Delay before a failed snapshot, or a failed start of the AOF, is retried.
const RETRY_MS: u64 = 5_000;

/// Background work that takes a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Save,
    Rewrite,
}

/// Results of the snapshots, or of the rewrites, so far.
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

/// State of the snapshots and of the AOF.
#[derive(Debug)]
pub(crate) struct Persist {
    journal: Option<Journal>,
    /// The error that prevented the configured AOF from being started, if any.
    start_fault: Option<String>,
    loss: Arc<Loss>,
    manifest: Manifest,
    /// Bytes of the AOF's files after the last rewrite.
    rewritten_bytes: u64,
    /// The running job, its start in milliseconds, and the change count at its start.
    running: Option<(Job, u64, u64)>,
    /// Queued jobs.
    wanted: Vec<Job>,
    wake: Rc<Notify>,
    /// Notified when the AOF has bytes to send to its thread.
    dirty: Rc<Notify>,
    /// Notified when fewer bytes of a snapshot wait for the disk.
    pub(crate) drained: Rc<Notify>,
    saves: Record,
    rewrites: Record,
    /// Number of consecutive failed rewrites.
    failed_rewrites: u64,
    /// Longest turn of the running snapshot, or of the last one if none is running.
    longest_turn: Duration,
    last_save_ms: u64,
    /// Time of the last automatic attempt, in milliseconds: a due save, or a start of the AOF.
    tried_ms: u64,
    /// Change count at the start of the last successful snapshot.
    saved_changes: u64,
    /// Clients blocked in `SAVE` until the snapshot is done.
    pub(crate) save_waiters: Vec<ClientKey>,
    /// Number of times that all databases were emptied while save points were set.
    flushes: u64,
    /// Value of `flushes` when the running snapshot started.
    flushes_at_start: u64,
    /// Number of flushes whose snapshot was written or failed, so that no client waits for it.
    flushes_done: u64,
    /// Number of flushes that a snapshot on disk includes.
    flushes_saved: u64,
    /// True if the databases were emptied after the running snapshot started; its file is then
    /// discarded.
    is_outdated: bool,
    /// True if the server stops after the next snapshot.
    stops: bool,
}

/// An AOF to continue or to start.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The file to append to, or the error if the disk is full.
    file: Result<File, String>,
    manifest: Manifest,
    bytes: u64,
    base_bytes: u64,
    /// Checksum state at the end of the file.
    sum: Sum,
}

/// Loads the data and opens the AOF, if it is enabled. On a full disk the data is loaded all the
/// same and only reads are served.
pub(crate) fn open(
    config: &Config,
    keyspace: &mut Keyspace,
    now_ms: u64,
) -> Result<Option<Opened>, Error> {
    let places = BlobAllocator::new(config);
    fs::create_dir_all(&config.dir)
        .map_err(|error| Error::host(format!("{}: {error}", config.dir)))?;
    snapshot::remove_unfinished(config.dir.as_ref(), &config.dbfilename.0);
    snapshot::remove_unfinished(&places.journals, &places.stem);
    let loaded = load::load(config, keyspace, now_ms)?;
    keyspace.effects.flushed_all = false;
    let libraries = keyspace.functions().len();
    if 0 < libraries {
        tracing::warn!(
            libraries,
            "functions cannot be called here: they are kept, and written into the next snapshot"
        );
    }
    if !config.appendonly {
        return Ok(None);
    }
    let mut opened = Opened {
        file: Err(String::new()),
        manifest: loaded.manifest.unwrap_or_default(),
        bytes: loaded.journal_bytes,
        base_bytes: loaded.base_bytes,
        sum: loaded.sum,
    };
    let started = match loaded.unmoved {
        Some(fault) => Err(fault),
        None => begin(config, &places, keyspace, now_ms, &mut opened),
    };
    opened.file = match started {
        Ok(file) => Ok(file),
        Err((path, error)) if journal::is_full(&error) => {
            let fault = format!("{}: {error}", path.display());
            tracing::error!(
                fault,
                "disk full, cannot start the AOF: only reads are served until space is free"
            );
            Err(fault)
        }
        Err((path, error)) => return Err(Error::host(format!("{}: {error}", path.display()))),
    };
    Ok(Some(opened))
}

/// A path that could not be written, with the error.
type Unwritten = (PathBuf, io::Error);

/// Opens the AOF's last increment, and creates the base and the increment if they are missing.
/// Existing files are not rewritten, as the disk may be full.
fn begin(
    config: &Config,
    places: &BlobAllocator,
    keyspace: &mut Keyspace,
    now_ms: u64,
    opened: &mut Opened,
) -> Result<File, Unwritten> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| (path, error)
    };
    fs::create_dir_all(&places.journals).map_err(at(&places.journals))?;
    let mut manifest = opened.manifest.clone();
    if manifest.base.is_none() && manifest.increments.is_empty() {
        let base = manifest.next_base(&places.stem);
        let path = places.journal(&base);
        set_aside(&path).map_err(at(&path))?;
        assert!(
            keyspace.start_snapshot(options(config, true, now_ms)),
            "nothing else was begun"
        );
        opened.base_bytes =
            snapshot::write_blocking(keyspace, &path, BLOCKING_PIECE_BYTES).map_err(at(&path))?;
        opened.bytes = opened.base_bytes;
        manifest.base = Some(base);
    }
    if manifest.increments.is_empty() {
        let increment = manifest.next_increment(&places.stem);
        let path = places.journal(&increment);
        set_aside(&path).map_err(at(&path))?;
        manifest.increments.push(increment);
    }
    let last = manifest.increments.last().expect("one was pushed");
    let path = places.journal(last);
    let file = journal::open_for_append(&path).map_err(at(&path))?;
    if manifest != opened.manifest {
        journal::replace(&places.manifest, manifest.print().as_bytes())
            .map_err(at(&places.manifest))?;
        opened.manifest = manifest;
    }
    Ok(file)
}

/// Renames a non-empty file that is not in the manifest: the manifest was lost, or never written.
fn set_aside(path: &Path) -> io::Result<()> {
    if !fs::metadata(path).is_ok_and(|file| 0 < file.len()) {
        return Ok(());
    }
    let named = |number: u32| {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".unlisted.{number}"));
        PathBuf::from(aside)
    };
    let free = (1..).map(named).find(|aside| !aside.exists());
    let aside = free.expect("there are more numbers than files");
    tracing::warn!(
        file = %path.display(),
        aside = %aside.display(),
        "AOF file is not in the manifest: renamed and not loaded"
    );
    fs::rename(path, aside)
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
    pub(crate) fn new(
        config: &Config,
        opened: Option<Opened>,
        now_ms: u64,
        loss: &Arc<Loss>,
    ) -> io::Result<Persist> {
        let mut persist = Persist::without_journal(now_ms);
        persist.loss = Arc::clone(loss);
        if let Some(opened) = opened {
            persist.manifest = opened.manifest;
            persist.rewritten_bytes = opened.base_bytes;
            match opened.file {
                Ok(file) => {
                    let fsync = config.appendfsync;
                    let (bytes, sum, loss) = (opened.bytes, opened.sum, Arc::clone(loss));
                    let journal = Journal::start(file, bytes, fsync, sum, loss)?;
                    persist.journal = Some(journal);
                }
                Err(fault) => persist.start_fault = Some(fault),
            }
        }
        Ok(persist)
    }

    pub(crate) fn without_journal(now_ms: u64) -> Persist {
        Persist {
            journal: None,
            start_fault: None,
            loss: Arc::default(),
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
            save_waiters: Vec::new(),
            flushes: 0,
            flushes_at_start: 0,
            flushes_done: 0,
            flushes_saved: 0,
            is_outdated: false,
            stops: false,
        }
    }

    pub(crate) fn is_journaling(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns the error reply for commands that change data, if they are refused.
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
        let fault = self.journal_fault()?;
        Some(format!("MISCONF Errors writing to the AOF file: {fault}"))
    }

    /// Returns the error that currently prevents changes from being written to the AOF, if any.
    fn journal_fault(&self) -> Option<String> {
        // While the AOF is being restarted, its start error counts until the rewrite is complete.
        let start_fault = self.start_fault.clone();
        start_fault.or_else(|| self.journal.as_ref()?.fault())
    }

    /// Returns the reply to a command whose change is not on disk although `appendfsync always`
    /// promises that.
    pub(crate) fn unwritten_reply(&self) -> String {
        let fault = self.journal_fault().unwrap_or_default();
        format!(
            "MISCONF Errors writing to the AOF file: {fault}; the change is in memory and is written when the disk takes it"
        )
    }

    /// Returns whether a reply promises that the change is on the disk.
    pub(crate) fn promises(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::promises)
    }

    /// Appends the changes of one command or transaction to the AOF, if any.
    pub(crate) fn append(&mut self, commands: &[(usize, Vec<Bytes>)]) {
        if let Some(journal) = &mut self.journal {
            journal.append(commands);
            self.dirty.notify_one();
        }
    }

    /// Returns the write that the replies so far must wait for, if any.
    pub(crate) fn commit(&self, bytes_max: usize) -> Option<Commit> {
        self.journal.as_ref()?.commit(bytes_max)
    }

    /// Records that a turn of the snapshot occupied the core for `took`.
    fn note_turn(&mut self, took: Duration) {
        self.longest_turn = self.longest_turn.max(took);
    }

    /// Returns the longest time, in microseconds, that a turn of the snapshot occupied the core.
    pub(crate) fn longest_turn_us(&self) -> u128 {
        self.longest_turn.as_micros()
    }

    /// Returns whether the running snapshot contains data that was flushed since, so that it must
    /// not replace a file.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Returns whether the snapshot for flush number `flushes` was written, or failed.
    pub(crate) fn is_flush_done(&self, flushes: u64) -> bool {
        flushes <= self.flushes_done
    }

    pub(crate) fn last_save_ms(&self) -> u64 {
        self.last_save_ms
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.journal.as_ref().map_or(0, Journal::pending_bytes)
    }

    /// Adds the lines of `INFO persistence`.
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
        // Snapshots do not fork, so there are no copy-on-write pages.
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
        let write_fails = self.journal_fault().is_some();
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
    /// Queues a snapshot; its point in time is the start of a later turn.
    pub(crate) fn start_save(&mut self) -> Result<(), String> {
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

    /// Queues a snapshot and makes the client wait for it.
    pub(crate) fn save_for(&mut self, key: ClientKey) -> Result<(), String> {
        self.start_save()?;
        self.persist.save_waiters.push(key);
        Ok(())
    }

    /// Queues a rewrite of the AOF. Returns the reply.
    pub(crate) fn start_rewrite(&mut self) -> Result<&'static str, String> {
        let started = self.persist.running.is_none() && self.persist.wanted.is_empty();
        match self.persist.running {
            Some((Job::Rewrite, ..)) => {
                return Err(
                    "ERR Background append only file rewriting already in progress".to_owned(),
                );
            }
            _ if self.persist.wanted.contains(&Job::Rewrite) => {}
            _ => self.want(Job::Rewrite),
        }
        Ok(match started {
            true => "Background append only file rewriting started",
            false => "Background append only file rewriting scheduled",
        })
    }

    /// Queues a snapshot without data. It replaces the snapshot on disk, whose data would otherwise
    /// return after a crash. Without an AOF, returns the flush number to pass to
    /// [`Persist::is_flush_done`].
    pub(crate) fn save_flush(&mut self) -> Option<u64> {
        if self.config.save.is_empty() {
            return None;
        }
        let persist = &mut self.persist;
        persist.flushes += 1;
        if matches!(persist.running, Some((Job::Save, ..))) {
            persist.is_outdated = true;
            self.keyspace.cancel_snapshot();
        }
        persist.wanted.retain(|job| *job != Job::Save);
        persist.wanted.insert(0, Job::Save);
        persist.wake.notify_one();
        (!persist.is_journaling()).then_some(persist.flushes)
    }

    fn want(&mut self, job: Job) {
        self.persist.wanted.push(job);
        self.persist.wake.notify_one();
    }

    /// Stops the server, after a snapshot if `save` is set. No command runs from here on, unless
    /// that snapshot fails.
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

    /// Returns whether a stop without `SAVE` or `NOSAVE` writes a snapshot: if there are save
    /// points.
    pub(crate) fn saves_at_end(&self) -> bool {
        !self.config.save.is_empty()
    }

    /// Queues due jobs: snapshots by their save points, rewrites by growth. Stops the server after
    /// a failed sync of the AOF.
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
        if persist.start_fault.is_some() && RETRY_MS < now_ms.saturating_sub(persist.tried_ms) {
            self.persist.tried_ms = now_ms;
            self.want(Job::Rewrite);
            return;
        }
        let changes = self.keyspace.effects.changes - persist.saved_changes;
        let since_ms = now_ms.saturating_sub(persist.last_save_ms);
        let mut points = self.config.save.iter();
        let due = points.any(|point| {
            point.changes <= changes && 0 < changes && point.seconds * 1000 < since_ms
        });
        let is_flush_due = persist.flushes_saved < persist.flushes
            && RETRY_MS < now_ms.saturating_sub(persist.tried_ms);
        // A failed snapshot is retried after `RETRY_MS`, not at each tick.
        let may_try = persist.saves.ok || RETRY_MS < now_ms.saturating_sub(persist.tried_ms);
        if due && may_try || is_flush_due {
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

    /// Applies changes that `CONFIG SET` made to persistence settings.
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
            // A rewrite starts the AOF. A rewrite that is already running may have started without
            // an AOF, so another one is queued.
            (false, true)
                if !self.persist.is_journaling()
                    && !self.persist.wanted.contains(&Job::Rewrite) =>
            {
                self.want(Job::Rewrite);
            }
            (true, false) => {
                // The drop writes and syncs the rest; it runs on a blocking thread, so that the
                // core does not wait.
                let journal = self.persist.journal.take();
                drop(spawn_blocking(move || drop(journal)));
                self.persist.start_fault = None;
                self.keyspace.set_journaling(false);
            }
            _ => {}
        }
        Ok(())
    }

    /// `DEBUG RELOAD`: writes the data to a snapshot in memory and loads it again.
    pub(crate) fn reload(&mut self) -> Result<(), String> {
        if self.persist.running.is_some() {
            return Err("ERR a snapshot is being written".to_owned());
        }
        let now_ms = self.now_ms();
        self.keyspace
            .start_snapshot(options(&self.config, false, now_ms));
        let mut bytes = Vec::new();
        while !self
            .keyspace
            .write_snapshot_part(BLOCKING_PIECE_BYTES, &mut bytes)
        {}
        load::reload(&mut self.keyspace, &bytes, now_ms)
            .map_err(|error| format!("ERR Error trying to load the RDB dump: {error}"))
    }

    /// `DEBUG LOADAOF`: writes out the AOF and loads the data from its files again.
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

/// Runs queued jobs one after the other until the server stops.
pub(crate) async fn run_jobs(shared: Rc<Shared>) {
    let wake = Rc::clone(&shared.state.borrow().persist.wake);
    loop {
        if !shared.state.borrow().persist.wanted.is_empty() {
            await_tag_sweep(&shared).await;
        }
        let job = {
            let mut state = shared.state.borrow_mut();
            state.next_job()
        };
        match job {
            Some(Job::Save) => {
                let path = BlobAllocator::new(&shared.state.borrow().config).snapshot;
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

/// Waits until all keys whose cache tags were dropped are removed, so that a snapshot starts
/// without them.
async fn await_tag_sweep(shared: &Shared) {
    while !shared.state.borrow_mut().sweep_tagged() {
        yield_now().await;
    }
}

/// Sends the AOF's batches to its thread, one after the other.
pub(crate) async fn write_batches(shared: Rc<Shared>) {
    let dirty = Rc::clone(&shared.state.borrow().persist.dirty);
    loop {
        let sent = {
            let mut state = shared.state.borrow_mut();
            state.persist.journal.as_mut().and_then(Journal::send)
        };
        match sent {
            Some(commit) => commit.done().await,
            None => dirty.notified().await,
        }
    }
}

impl State {
    /// Takes the next job off the queue. For a save, the snapshot's point in time is this call.
    fn next_job(&mut self) -> Option<Job> {
        if self.persist.wanted.is_empty() {
            return None;
        }
        let job = self.persist.wanted.remove(0);
        let now_ms = self.now_ms();
        self.persist.running = Some((job, now_ms, self.keyspace.effects.changes));
        self.persist.flushes_at_start = self.persist.flushes;
        self.persist.is_outdated = false;
        self.persist.longest_turn = Duration::ZERO;
        if job == Job::Save {
            let started = self
                .keyspace
                .start_snapshot(options(&self.config, false, now_ms));
            assert!(started, "one job runs at a time");
        }
        Some(job)
    }

    fn save_done(&mut self, written: io::Result<u64>) {
        let now_ms = self.now_ms();
        let (_, started_ms, changes) = self.persist.running.take().expect("a save was running");
        let persist = &mut self.persist;
        if persist.is_outdated {
            // The snapshot queued by the flush answers the waiting clients.
            return;
        }
        // If a client waits for this snapshot, it gets the error. A failure of any other snapshot
        // must be reported by refusing writes (`saves.ok`).
        let is_for_flush = persist.flushes_done < persist.flushes_at_start;
        let is_waited_for = persist.stops || !persist.save_waiters.is_empty() || is_for_flush;
        persist.flushes_done = persist.flushes_at_start;
        persist.drained.notify_waiters();
        persist.saves.ok = written.is_ok() || persist.saves.ok && is_waited_for;
        persist.saves.took_secs = Some(now_ms.saturating_sub(started_ms) / 1000);
        let reply = match &written {
            Ok(bytes) => {
                tracing::info!(bytes, "snapshot written");
                persist.saves.count += 1;
                persist.last_save_ms = now_ms;
                persist.saved_changes = changes;
                persist.flushes_saved = persist.flushes_at_start;
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "the snapshot could not be written");
                let stops = persist.stops;
                if stops {
                    tracing::error!(
                        "shutdown cancelled: stopping without a snapshot would lose data"
                    );
                    persist.stops = false;
                    self.unpause();
                }
                Err(match stops {
                    true => "ERR Errors trying to SHUTDOWN. Check logs.",
                    false => "ERR",
                })
            }
        };
        for key in std::mem::take(&mut self.persist.save_waiters) {
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
        let (_, started_ms, _) = self.persist.running.take().expect("a rewrite was running");
        let persist = &mut self.persist;
        persist.rewrites.ok = rewritten.is_ok();
        persist.rewrites.took_secs = Some(now_ms.saturating_sub(started_ms) / 1000);
        match rewritten {
            Ok(bytes) => {
                tracing::info!(bytes, "journal rewritten");
                persist.start_fault = None;
                if !persist.journal.as_ref().is_some_and(Journal::is_broken) {
                    // The new base holds all data on disk, including changes that an increment
                    // lacked.
                    *persist.loss.lock().expect("lock is not poisoned") = None;
                }
                persist.rewrites.count += 1;
                persist.failed_rewrites = 0;
                persist.rewritten_bytes = bytes;
            }
            Err(error) => {
                persist.failed_rewrites += 1;
                tracing::error!(%error, "AOF rewrite failed; the existing AOF stays in use")
            }
        }
    }
}

/// Rewrites the AOF. If the AOF was off and its first rewrite fails, the started AOF is undone: its
/// files are not in the manifest, so they would never be read.
async fn rewrite(shared: &Shared) -> io::Result<u64> {
    let (before, was_on) = {
        let persist = &shared.state.borrow().persist;
        (persist.manifest.clone(), persist.is_journaling())
    };
    let rewritten = write_new_files(shared, before.clone(), was_on).await;
    if let Err(error) = &rewritten
        && !was_on
    {
        let journal = {
            let state = &mut *shared.state.borrow_mut();
            state.keyspace.set_journaling(false);
            let persist = &mut state.persist;
            persist.manifest = before;
            persist.start_fault = state.config.appendonly.then(|| error.to_string());
            persist.journal.take()
        };
        // The next attempt uses the same file name, so the old thread must have ended before.
        blocking(move || {
            drop(journal);
            Ok(())
        })
        .await?;
    }
    rewritten
}

/// Starts a new increment and a new base at the same moment, then replaces the older files. Without
/// `appendonly` only a base is written. Returns the base's length.
async fn write_new_files(shared: &Shared, mut manifest: Manifest, was_on: bool) -> io::Result<u64> {
    let places = BlobAllocator::new(&shared.state.borrow().config);
    let increment = manifest.next_increment(&places.stem);
    manifest.increments.push(increment.clone());
    let file = {
        let (places, listed) = (places.clone(), manifest.clone());
        blocking(move || {
            fs::create_dir_all(&places.journals)?;
            let file = journal::create(&places.journal(&increment))?;
            // If the AOF is only starting, the increment is not listed before its base exists:
            // alone it would not be all data.
            if was_on {
                journal::replace(&places.manifest, listed.print().as_bytes())?;
            }
            Ok(file)
        })
        .await?
    };
    await_tag_sweep(shared).await;
    let bytes_before = shared.state.borrow_mut().split_journal(file, &manifest)?;
    let mut base = manifest.next_base(&places.stem);
    // An existing base is never overwritten: the manifest on disk may name it, if replacing the
    // manifest failed late.
    while places.journal(&base).exists() {
        base = Manifest {
            base: Some(base),
            ..Manifest::default()
        }
        .next_base(&places.stem);
    }
    let base_bytes = snapshot::write(shared, places.journal(&base)).await?;
    // Without an AOF the new increment stays unused and is removed with the older files.
    let last = bytes_before.and_then(|_| manifest.increments.pop());
    let listed = Manifest {
        base: Some(base),
        increments: last.into_iter().collect(),
        history: manifest
            .history
            .into_iter()
            .chain(manifest.base)
            .chain(manifest.increments)
            .collect(),
    };
    let (at, text) = (places.manifest.clone(), listed.print());
    blocking(move || journal::replace(&at, text.as_bytes())).await?;
    {
        let persist = &mut shared.state.borrow_mut().persist;
        persist.manifest = listed.clone();
        if let Some(journal) = &persist.journal {
            journal.set_bytes(base_bytes + (journal.bytes() - bytes_before.unwrap_or(0)));
        }
    }
    let left = blocking(move || Ok(remove_history(&places, listed))).await?;
    shared.state.borrow_mut().persist.manifest = left;
    Ok(base_bytes)
}

/// Removes files that count no more. Those that stay are still listed, and removed after the next
/// rewrite.
fn remove_history(places: &BlobAllocator, mut manifest: Manifest) -> Manifest {
    let listed = manifest.clone();
    manifest.history.retain(|old| {
        let path = places.journal(old);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = %path.display(), "cannot remove an obsolete AOF file; retried after the next rewrite");
                true
            }
            _ => false,
        }
    });
    match journal::replace(&places.manifest, manifest.print().as_bytes()) {
        Ok(()) => manifest,
        Err(error) => {
            tracing::warn!(%error, "cannot update the AOF manifest: it still lists removed files as history");
            listed
        }
    }
}

impl State {
    /// Marks the moment of a rewrite: later changes go to the new increment, earlier ones are in
    /// the snapshot. Returns the AOF's bytes so far, or `None` without an AOF.
    fn split_journal(&mut self, file: File, manifest: &Manifest) -> io::Result<Option<u64>> {
        let now_ms = self.now_ms();
        let persist = &mut self.persist;
        let bytes_before = match &mut persist.journal {
            Some(journal) => {
                journal.rotate(file);
                Some(journal.bytes())
            }
            none if self.config.appendonly => {
                let loss = Arc::clone(&persist.loss);
                *none = Some(Journal::start(
                    file,
                    0,
                    self.config.appendfsync,
                    Sum::default(),
                    loss,
                )?);
                self.keyspace.set_journaling(true);
                Some(0)
            }
            _ => None,
        };
        if bytes_before.is_some() {
            persist.manifest = manifest.clone();
        }
        let started = self
            .keyspace
            .start_snapshot(options(&self.config, true, now_ms));
        assert!(started, "one job runs at a time");
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
