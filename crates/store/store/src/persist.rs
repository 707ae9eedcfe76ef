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
//! once the base is complete. So at any moment the files that the manifest lists hold all data.

pub(crate) mod jobs;
mod journal;
mod load;
mod manifest;
mod open;
mod paths;
mod snapshot;

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keyspace::Keyspace;
use reactor::Stop;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::client::ClientKey;
use crate::config::Config;

use journal::{Commit, Journal, Sum};
pub(crate) use journal::{Loss, sync_parent};
use manifest::Manifest;
pub(crate) use open::{Opened, open};

/// Number of bytes that `DEBUG RELOAD` encodes at a time.
const RELOAD_PIECE_BYTES: usize = 1 << 20;

/// Delay before a failed snapshot, or a failed start of the AOF, is retried.
const RETRY_MS: u64 = 5_000;

/// Kind of background job. Jobs of both kinds write a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Save,
    Rewrite,
}

/// Results of the finished jobs of one kind (snapshots or rewrites).
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
    /// Total length, in bytes, of the AOF's files after the last rewrite.
    rewritten_bytes: u64,
    /// The running job, its start in Unix milliseconds, and the number of changes to the data at
    /// its start.
    running: Option<(Job, u64, u64)>,
    /// Jobs that are queued to run.
    queued_jobs: Vec<Job>,
    wake: Rc<Notify>,
    /// Notified when the AOF has bytes to send to its writer thread.
    dirty: Rc<Notify>,
    /// Notified when the number of snapshot bytes that wait for the disk has fallen.
    pub(crate) drained: Rc<Notify>,
    saves: Record,
    rewrites: Record,
    /// Number of consecutive failed rewrites.
    failed_rewrites: u64,
    /// Longest time for which one step of the running snapshot occupied the core. If no snapshot is
    /// running, the value of the last snapshot is kept.
    longest_turn: Duration,
    last_save_ms: u64,
    /// Unix time, in milliseconds, of the last automatic attempt to write a due snapshot or to
    /// start the AOF.
    last_attempt_ms: u64,
    /// Number of changes to the data at the start of the last successful snapshot.
    saved_changes: u64,
    /// Clients that wait for the snapshot that they requested with `SAVE`.
    save_waiters: Vec<ClientKey>,
    /// Number of times that all databases were emptied while the configuration had save points.
    flushes: u64,
    /// Value of `flushes` at the start of the running snapshot.
    flushes_at_start: u64,
    /// Number of flushes (all databases emptied) whose snapshot was written or failed, so that no
    /// client waits for it.
    flushes_done: u64,
    /// Number of flushes (all databases emptied) before the start of the last successful snapshot.
    flushes_saved: u64,
    /// True if the databases were emptied after the running snapshot started. The file of that
    /// snapshot is then discarded.
    is_outdated: bool,
    /// True if a stop was requested: the server stops as soon as no job is queued. A snapshot that
    /// fails resets this flag.
    stops: bool,
    /// Handle that stops the server.
    stop: Stop,
}

/// Outcome of a finished snapshot, which the caller has to act on.
struct SaveDone {
    /// Clients that waited for the snapshot.
    waiters: Vec<ClientKey>,
    /// Reply to the waiting clients.
    reply: Result<(), &'static str>,
    /// True if the server was to stop after this snapshot, but the snapshot failed. The caller then
    /// lets commands run again.
    is_stop_cancelled: bool,
}

impl Persist {
    pub(crate) fn new(
        config: &Config,
        opened: Option<Opened>,
        now_ms: u64,
        loss: &Arc<Loss>,
        stop: Stop,
    ) -> io::Result<Persist> {
        let mut persist = Persist::without_journal(now_ms, stop);
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

    pub(crate) fn without_journal(now_ms: u64, stop: Stop) -> Persist {
        Persist {
            journal: None,
            start_fault: None,
            loss: Arc::default(),
            manifest: Manifest::default(),
            rewritten_bytes: 0,
            running: None,
            queued_jobs: Vec::new(),
            wake: Rc::new(Notify::new()),
            dirty: Rc::new(Notify::new()),
            drained: Rc::new(Notify::new()),
            saves: Record::default(),
            rewrites: Record::default(),
            failed_rewrites: 0,
            longest_turn: Duration::ZERO,
            last_save_ms: now_ms,
            last_attempt_ms: now_ms,
            saved_changes: 0,
            save_waiters: Vec::new(),
            flushes: 0,
            flushes_at_start: 0,
            flushes_done: 0,
            flushes_saved: 0,
            is_outdated: false,
            stops: false,
            stop,
        }
    }

    pub(crate) fn is_journaling(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns the error reply to commands that change data, if such commands are refused at
    /// present.
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
        // A rewrite restarts the AOF. Until that rewrite is complete, the error of the failed start
        // still applies.
        let start_fault = self.start_fault.clone();
        start_fault.or_else(|| self.journal.as_ref()?.fault())
    }

    /// Returns the error reply for a command whose change is not on disk, for use with `appendfsync
    /// always`, under which a normal reply would promise that the change is on disk.
    pub(crate) fn unwritten_reply(&self) -> String {
        let fault = self.journal_fault().unwrap_or_default();
        format!(
            "MISCONF Errors writing to the AOF file: {fault}; the change is in memory and is written when the disk accepts it"
        )
    }

    /// Returns whether a reply promises that the command's change is on disk. This is so with
    /// `appendfsync always`.
    pub(crate) fn promises(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::promises)
    }

    /// Appends the changes of one command or transaction to the AOF. Does nothing if the AOF is
    /// off.
    pub(crate) fn append(&mut self, commands: &[(usize, Vec<Bytes>)]) {
        if let Some(journal) = &mut self.journal {
            journal.append(commands);
            self.dirty.notify_one();
        }
    }

    /// Returns the write to the AOF that must finish before the replies to the commands so far are
    /// sent; `None` if the replies need not wait. They must wait under `appendfsync always`, or if
    /// more than `bytes_max` bytes are pending.
    pub(crate) fn commit(&self, bytes_max: usize) -> Option<Commit> {
        self.journal.as_ref()?.commit(bytes_max)
    }

    /// Records the time for which one step of the snapshot occupied the core.
    fn note_turn(&mut self, took: Duration) {
        self.longest_turn = self.longest_turn.max(took);
    }

    /// Returns the longest time, in microseconds, for which one step of a snapshot occupied the
    /// core.
    pub(crate) fn longest_turn_us(&self) -> u128 {
        self.longest_turn.as_micros()
    }

    /// Returns whether all databases were emptied since the running snapshot started. If so, the
    /// snapshot must not replace the file on disk.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Returns whether the snapshot after the flush (`FLUSHALL`) with the number `flushes` was
    /// written, or failed.
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
            &u8::from(self.queued_jobs.contains(&Job::Rewrite)),
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

    /// Queues a snapshot, which will contain the data as of the moment at which the queued job
    /// starts.
    pub(crate) fn start_save(&mut self) -> Result<(), String> {
        match self.running {
            Some((Job::Save, ..)) => {
                return Err("ERR Background save already in progress".to_owned());
            }
            _ if self.queued_jobs.contains(&Job::Save) => {
                return Err("ERR Background save already in progress".to_owned());
            }
            _ => {}
        }
        self.queue_job(Job::Save);
        Ok(())
    }

    /// Queues a snapshot and makes the client wait for it.
    pub(crate) fn save_for(&mut self, key: ClientKey) -> Result<(), String> {
        self.start_save()?;
        self.save_waiters.push(key);
        Ok(())
    }

    /// Makes a client wait until the next snapshot is written.
    pub(crate) fn wait_for_save(&mut self, key: ClientKey) {
        self.save_waiters.push(key);
    }

    /// Removes a disconnected client from the clients that wait for a snapshot.
    pub(crate) fn forget(&mut self, key: ClientKey) {
        self.save_waiters.retain(|saver| *saver != key);
    }

    /// Queues a rewrite of the AOF. Returns the reply.
    pub(crate) fn start_rewrite(&mut self) -> Result<&'static str, String> {
        let started = self.running.is_none() && self.queued_jobs.is_empty();
        match self.running {
            Some((Job::Rewrite, ..)) => {
                return Err(
                    "ERR Background append only file rewriting already in progress".to_owned(),
                );
            }
            _ if self.queued_jobs.contains(&Job::Rewrite) => {}
            _ => self.queue_job(Job::Rewrite),
        }
        Ok(match started {
            true => "Background append only file rewriting started",
            false => "Background append only file rewriting scheduled",
        })
    }

    /// Queues a snapshot after a flush, which emptied all databases. The new snapshot replaces the
    /// one on disk, whose data would otherwise return after a crash. If there is no AOF, the reply
    /// to the flush must wait for the snapshot: returns the number of the flush, for
    /// [`Persist::is_flush_done`]. Without save points, does nothing.
    pub(crate) fn save_flush(&mut self, config: &Config, keyspace: &mut Keyspace) -> Option<u64> {
        if config.save.is_empty() {
            return None;
        }
        self.flushes += 1;
        if matches!(self.running, Some((Job::Save, ..))) {
            self.is_outdated = true;
            keyspace.cancel_snapshot();
        }
        self.queued_jobs.retain(|job| *job != Job::Save);
        self.queued_jobs.insert(0, Job::Save);
        self.wake.notify_one();
        (!self.is_journaling()).then_some(self.flushes)
    }

    fn queue_job(&mut self, job: Job) {
        self.queued_jobs.push(job);
        self.wake.notify_one();
    }

    /// Queues the stop of the server, after a snapshot if `save` is set. Returns false if a stop
    /// was queued already. The caller pauses all commands until [`SaveDone`] reports that the
    /// snapshot failed.
    pub(crate) fn start_stop(&mut self, save: bool) -> bool {
        if self.stops {
            return false;
        }
        self.stops = true;
        if save {
            self.queue_job(Job::Save);
        }
        self.wake.notify_one();
        true
    }

    /// Queues due jobs: a snapshot if a save point is reached, a rewrite if the AOF has grown
    /// enough. Stops the server after a failed sync of the AOF.
    pub(crate) fn tick(&mut self, config: &Config, changes: u64, now_ms: u64) {
        if self.journal.as_ref().is_some_and(Journal::is_broken) {
            self.stop.trigger();
            return;
        }
        if self.running.is_some() || !self.queued_jobs.is_empty() {
            return;
        }
        if self.start_fault.is_some() && RETRY_MS < now_ms.saturating_sub(self.last_attempt_ms) {
            self.last_attempt_ms = now_ms;
            self.queue_job(Job::Rewrite);
            return;
        }
        let changes = changes - self.saved_changes;
        let since_ms = now_ms.saturating_sub(self.last_save_ms);
        let mut points = config.save.iter();
        let due = points.any(|point| {
            point.changes <= changes && 0 < changes && point.seconds * 1000 < since_ms
        });
        let is_flush_due = self.flushes_saved < self.flushes
            && RETRY_MS < now_ms.saturating_sub(self.last_attempt_ms);
        // A failed snapshot is retried after `RETRY_MS`, not at each tick.
        let may_try = self.saves.ok || RETRY_MS < now_ms.saturating_sub(self.last_attempt_ms);
        if due && may_try || is_flush_due {
            self.last_attempt_ms = now_ms;
            tracing::info!(changes, "writing a snapshot");
            self.queue_job(Job::Save);
            return;
        }
        let percentage = config.auto_aof_rewrite_percentage.0 as u64;
        if let Some(journal) = &self.journal
            && 0 < percentage
        {
            let bytes = journal.bytes();
            let base = self.rewritten_bytes.max(1);
            let grown = bytes.saturating_sub(base).saturating_mul(100) / base;
            if config.auto_aof_rewrite_min_size.0 < bytes && percentage <= grown {
                tracing::info!(bytes, "rewriting the AOF");
                self.queue_job(Job::Rewrite);
            }
        }
    }

    /// Applies changes that `CONFIG SET` made to persistence settings.
    ///
    /// # Errors
    /// The new directory does not exist.
    pub(crate) fn apply_config(
        &mut self,
        before: &Config,
        config: &Config,
        keyspace: &mut Keyspace,
    ) -> Result<(), String> {
        if before.dir != config.dir && !fs::metadata(&config.dir).is_ok_and(|dir| dir.is_dir()) {
            return Err(format!("{} is not a directory", config.dir));
        }
        if let Some(journal) = &mut self.journal {
            journal.set_fsync(config.appendfsync);
        }
        match (before.appendonly, config.appendonly) {
            // A rewrite starts the AOF. A rewrite that is already running may have started without
            // an AOF, so another rewrite is queued.
            (false, true) if !self.is_journaling() && !self.queued_jobs.contains(&Job::Rewrite) => {
                self.queue_job(Job::Rewrite);
            }
            (true, false) => {
                // Dropping the journal writes and syncs its remaining bytes. This happens on a
                // blocking thread, so that the core does not wait.
                let journal = self.journal.take();
                drop(spawn_blocking(move || drop(journal)));
                self.start_fault = None;
                keyspace.set_journaling(false);
            }
            _ => {}
        }
        Ok(())
    }

    /// `DEBUG RELOAD`: writes the data to a snapshot in memory and loads it again.
    pub(crate) fn reload(
        &self,
        config: &Config,
        keyspace: &mut Keyspace,
        now_ms: u64,
    ) -> Result<(), String> {
        if self.running.is_some() {
            return Err("ERR a snapshot is being written".to_owned());
        }
        keyspace.start_snapshot(snapshot::options(config, false, now_ms));
        let mut bytes = Vec::new();
        while !keyspace.write_snapshot_part(RELOAD_PIECE_BYTES, &mut bytes) {}
        load::reload(keyspace, &bytes, now_ms)
            .map_err(|error| format!("ERR Error trying to load the RDB dump: {error}"))
    }

    /// `DEBUG LOADAOF`: writes the pending changes to the AOF, and loads the data from the AOF's
    /// files again.
    pub(crate) fn reload_journal(
        &mut self,
        config: &Config,
        keyspace: &mut Keyspace,
        now_ms: u64,
    ) -> Result<(), String> {
        if self.running.is_some() {
            return Err(
                "ERR the AOF is being rewritten, or a snapshot is being written".to_owned(),
            );
        }
        let journal = self.journal.as_mut();
        let written = journal.map_or(Ok(()), Journal::write_out);
        let loaded = written.and_then(|()| {
            let loaded = load::reload_journals(config, keyspace, now_ms);
            loaded.map_err(|error| error.to_string())
        });
        loaded.map_err(|error| format!("ERR Error trying to load the AOF: {error}"))
    }

    /// Takes the next job off the queue. If the job is a snapshot, it contains the data at the time
    /// of this call.
    fn next_job(&mut self, config: &Config, keyspace: &mut Keyspace, now_ms: u64) -> Option<Job> {
        if self.queued_jobs.is_empty() {
            return None;
        }
        let job = self.queued_jobs.remove(0);
        self.running = Some((job, now_ms, keyspace.effects.changes));
        self.flushes_at_start = self.flushes;
        self.is_outdated = false;
        self.longest_turn = Duration::ZERO;
        if job == Job::Save {
            let started = keyspace.start_snapshot(snapshot::options(config, false, now_ms));
            assert!(started, "one job runs at a time");
        }
        Some(job)
    }

    /// Records the result of a snapshot. Returns the outcome for the clients that wait for the
    /// snapshot.
    fn save_done(&mut self, written: io::Result<u64>, now_ms: u64) -> SaveDone {
        let (_, started_ms, changes) = self.running.take().expect("a save was running");
        if self.is_outdated {
            // `FLUSHALL` has queued another snapshot. The waiting clients get their reply after
            // that snapshot.
            return SaveDone {
                waiters: Vec::new(),
                reply: Ok(()),
                is_stop_cancelled: false,
            };
        }
        // If a client waits for this snapshot, it gets the error. A failure of any other snapshot
        // must be reported by refusing writes, which `saves.ok` controls.
        let is_for_flush = self.flushes_done < self.flushes_at_start;
        let is_waited_for = self.stops || !self.save_waiters.is_empty() || is_for_flush;
        self.flushes_done = self.flushes_at_start;
        self.drained.notify_waiters();
        self.saves.ok = written.is_ok() || self.saves.ok && is_waited_for;
        self.saves.took_secs = Some(now_ms.saturating_sub(started_ms) / 1000);
        let is_stop_cancelled = written.is_err() && std::mem::take(&mut self.stops);
        let reply = match &written {
            Ok(bytes) => {
                tracing::info!(bytes, "snapshot written");
                self.saves.count += 1;
                self.last_save_ms = now_ms;
                self.saved_changes = changes;
                self.flushes_saved = self.flushes_at_start;
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "the snapshot could not be written");
                if is_stop_cancelled {
                    tracing::error!(
                        "shutdown cancelled: stopping without a snapshot would lose data"
                    );
                }
                Err(match is_stop_cancelled {
                    true => "ERR Errors trying to SHUTDOWN. Check logs.",
                    false => "ERR",
                })
            }
        };
        SaveDone {
            waiters: std::mem::take(&mut self.save_waiters),
            reply,
            is_stop_cancelled,
        }
    }

    /// Records the result of a rewrite.
    fn rewrite_done(&mut self, rewritten: io::Result<u64>, now_ms: u64) {
        let (_, started_ms, _) = self.running.take().expect("a rewrite was running");
        self.rewrites.ok = rewritten.is_ok();
        self.rewrites.took_secs = Some(now_ms.saturating_sub(started_ms) / 1000);
        match rewritten {
            Ok(bytes) => {
                tracing::info!(bytes, "AOF rewritten");
                self.start_fault = None;
                if !self.journal.as_ref().is_some_and(Journal::is_broken) {
                    // The new base holds all data, including changes that could not be written to
                    // an increment.
                    *self.loss.lock() = None;
                }
                self.rewrites.count += 1;
                self.failed_rewrites = 0;
                self.rewritten_bytes = bytes;
            }
            Err(error) => {
                self.failed_rewrites += 1;
                tracing::error!(%error, "AOF rewrite failed; the existing AOF stays in use")
            }
        }
    }

    /// Separates the changes before the start of a rewrite, which the rewrite's snapshot contains,
    /// from the later changes, which go to the new increment. Returns the length of the AOF so far,
    /// in bytes, or `None` if there is no AOF.
    fn split_journal(
        &mut self,
        file: File,
        manifest: &Manifest,
        config: &Config,
        keyspace: &mut Keyspace,
        now_ms: u64,
    ) -> io::Result<Option<u64>> {
        let bytes_before = match &mut self.journal {
            Some(journal) => {
                journal.rotate(file);
                Some(journal.bytes())
            }
            none if config.appendonly => {
                let loss = Arc::clone(&self.loss);
                *none = Some(Journal::start(
                    file,
                    0,
                    config.appendfsync,
                    Sum::default(),
                    loss,
                )?);
                keyspace.set_journaling(true);
                Some(0)
            }
            _ => None,
        };
        if bytes_before.is_some() {
            self.manifest = manifest.clone();
        }
        let started = keyspace.start_snapshot(snapshot::options(config, true, now_ms));
        assert!(started, "one job runs at a time");
        Ok(bytes_before)
    }
}
