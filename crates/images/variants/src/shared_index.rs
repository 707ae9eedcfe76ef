//! Shared index of variants in a Redis-compatible store. Operators can read it; other processes,
//! and later runs, find variants that their own index lacks, and verdicts such as "not smaller".
//!
//! ```text
//! variants, convert ── note ──► changes ──► thread "ledger" ──► Store ──► HSET, UNLINK, EXPIRE …
//! convert ── lock and find, before a conversion ───────────────► Store ──► SET NX, HMGET
//! ```
//!
//! The files are the truth, and each process reads its index from them. The shared index may be
//! lost, outdated or unreachable at any time; the only effect is that a result is computed once
//! more. The whole index is written again when the store becomes reachable again, when it has lost
//! its data, and when the directory has been read completely.
//!
//! Layout: see `layout.rs`, and docs/store.md for its readers. Threads: a thread that adds or
//! removes a variant locks `changes` for one push; cache hits do not lock it. One thread writes to
//! the store, and conversion threads query the store before they start a conversion.

mod layout;

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use openmetrics::Text;
use resp::Reply;

use crate::cache::{Key, Kind, Variant, Variants};
use crate::clock;
use crate::library::LibraryPath;

/// Counters of this process by name, each since its start.
pub type Totals = Vec<(&'static str, u64)>;

/// Redis-compatible store, in this process or elsewhere.
pub trait Store: Debug + Send + Sync {
    /// Runs commands in order and returns as many replies. Blocks until the replies arrive or the
    /// store's own timeout expires.
    ///
    /// # Errors
    /// If the store is unreachable, or its reply is invalid. Some of the commands may have run.
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>>;
}

/// Bounds of the shared index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of changes that wait for the store. Further changes are dropped, and the
    /// whole index is written again. Default 16,384.
    pub changes_max: usize,
    /// Maximum number of changes per batch of commands. Default 256.
    pub batch_max: usize,
    /// Interval between polls of the store while nothing changes, and between retries of an
    /// unreachable store, in milliseconds. Default 1,000.
    pub look_ms: u64,
    /// Interval between writes of the times of last use, in milliseconds. Default 60,000.
    pub uses_ms: u64,
    /// Lifetime of an unused variant's entry, in milliseconds. Default 30 days.
    pub keep_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            changes_max: 16_384,
            batch_max: 256,
            look_ms: 1_000,
            uses_ms: 60_000,
            keep_ms: 30 * 24 * 3_600_000,
        }
    }
}

/// Change to record in the shared index.
#[derive(Clone, Debug)]
pub enum Change {
    /// The entry was added, or has changed.
    Kept(Arc<Variant>),
    /// Origin, size and cost of an entry that was just converted.
    VariantDetails(VariantDetails),
    /// The entry no longer exists.
    Removed(Key),
    /// A conversion that held the lock of this key has ended.
    Ended(Key),
}

/// Origin, size and cost of a variant, which the index does not contain.
#[derive(Clone, Debug)]
pub struct VariantDetails {
    /// Key of the variant.
    pub key: Key,
    /// Path of its original.
    pub path: LibraryPath,
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
    /// CPU time of the conversion in its cell, in microseconds.
    pub cpu_us: u64,
}

/// Entry of the shared index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedEntry {
    /// Format, or verdict.
    pub kind: Kind,
    /// Size of the file in bytes; 0 for a verdict.
    pub bytes: u64,
}

/// Conversion that is about to start, as described in its lock.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// Identifier of the result's folder: processes with the same folder use each other's variants.
    pub files: &'a str,
    /// Path of the original.
    pub path: &'a LibraryPath,
    /// Maximum duration of the conversion, in milliseconds. The lock expires after this time.
    pub wall_ms_max: u32,
}

impl Flight<'_> {
    fn text(&self) -> Vec<u8> {
        let path = self.path.as_path().as_os_str().as_encoded_bytes();
        [self.files.as_bytes(), b" ", path].concat()
    }
}

/// Owner of a key's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The caller holds the lock, until it records [`Change::Ended`].
    Ours,
    /// Another process holds the lock and converts into the same folder.
    Shared,
    /// Another process holds the lock and converts into another folder, so its result will not be
    /// available here. Also returned if the store is unreachable, so that no lock exists.
    Elsewhere,
}

/// Figures of the shared index for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedIndexStats {
    /// True if the store answered the last request.
    pub is_reachable: bool,
    /// Requests that the store refused, or to which it did not respond.
    pub errors: u64,
    /// Number of times that the whole index was written to the store.
    pub publications: u64,
}

/// Connection to the shared index.
#[derive(Debug)]
pub struct SharedIndex {
    store: Arc<dyn Store>,
    limits: Limits,
    pending: Mutex<Pending>,
    changed: Condvar,
    /// True if the store answered the last commands. Checked before the store is used, so that an
    /// unreachable store costs one timeout per poll, not per conversion.
    is_reachable: AtomicBool,
    errors: AtomicU64,
    publications: AtomicU64,
    process: String,
}

#[derive(Debug, Default)]
struct Pending {
    changes: Vec<Change>,
    /// True if changes were dropped because the queue was full, so that the whole index must be
    /// written again.
    overflowed: bool,
}

impl SharedIndexStats {
    /// Writes the metrics of the shared index.
    pub fn render(&self, text: &mut Text) {
        text.gauge(
            "pelton_store_reachable",
            "1 if the store responds, otherwise 0",
            u64::from(self.is_reachable),
        );
        text.counter(
            "pelton_store_errors",
            "requests that the store refused, or to which it did not respond",
            self.errors,
        );
        text.counter(
            "pelton_store_publications",
            "times that the whole index of variants was written to the store",
            self.publications,
        );
    }
}

impl SharedIndex {
    /// Creates a shared index in `store`. Nothing is written before [`SharedIndex::maintain`] runs.
    pub fn new(store: Arc<dyn Store>, limits: Limits) -> SharedIndex {
        SharedIndex {
            store,
            limits,
            pending: Mutex::default(),
            changed: Condvar::new(),
            is_reachable: AtomicBool::new(true),
            errors: AtomicU64::new(0),
            publications: AtomicU64::new(0),
            process: format!("{}-{}", clock::unix_ms(), std::process::id()),
        }
    }

    /// Queues a change to be recorded.
    pub fn note(&self, change: Change) {
        let mut pending = self.pending();
        if pending.changes.len() < self.limits.changes_max {
            pending.changes.push(change);
        } else {
            pending.overflowed = true;
        }
        drop(pending);
        self.changed.notify_one();
    }

    /// Returns the entry of `key`, if any, and the owner of its lock, which this call acquires if
    /// it is free. Blocks. If the store is unreachable, there is no entry and no lock.
    pub fn find_or_lock(&self, key: &Key, flight: &Flight<'_>) -> (Option<SharedEntry>, Lock) {
        if !self.is_reachable.load(Ordering::Relaxed) {
            return (None, Lock::Elsewhere);
        }
        // `run` has logged and counted a failure.
        match self.run(layout::lock_and_find(key, flight)).as_deref() {
            Ok([lock, entry]) => (layout::parse_entry(entry), layout::parse_lock(lock, flight)),
            _ => (None, Lock::Elsewhere),
        }
    }

    /// Returns the figures for the metrics.
    pub fn stats(&self) -> SharedIndexStats {
        SharedIndexStats {
            is_reachable: self.is_reachable.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            publications: self.publications.load(Ordering::Relaxed),
        }
    }

    /// Runs the thread that updates the store until all owners of `variants` are gone. `totals`
    /// returns named counters of this process, whose growth is added to the counters in the store.
    pub fn maintain(&self, variants: &Weak<Variants>, totals: &dyn Fn() -> Totals) {
        let mut kept = Kept::default();
        while let Some(variants) = variants.upgrade() {
            // The failure has been logged and counted; the next poll tries again.
            kept.is_published = self.update_store(&mut kept, &variants, totals).is_ok();
            drop(variants);
            self.wait();
        }
    }

    /// Waits until there is a change to write to the store, or until the next poll.
    fn wait(&self) {
        let look = Duration::from_millis(self.limits.look_ms);
        let is_idle = |pending: &mut Pending| {
            pending.changes.is_empty() || !self.is_reachable.load(Ordering::Relaxed)
        };
        let mut pending = self.pending();
        self.changed.wait_while_for(&mut pending, is_idle, look);
    }

    /// Writes the waiting changes to the store. If the store has no data of this process, or the
    /// index has just been loaded completely, writes the whole index first.
    fn update_store(
        &self,
        kept: &mut Kept,
        variants: &Variants,
        totals: &dyn Fn() -> Totals,
    ) -> io::Result<()> {
        let now_ms = clock::unix_ms();
        let Pending {
            changes,
            overflowed,
        } = std::mem::take(&mut *self.pending());
        let renewed = self.run(vec![layout::renew(&self.process)])?;
        let has_our_data = kept.is_published && renewed == [Reply::Int(1)];
        let became_complete = !kept.is_complete && variants.is_complete();
        if overflowed || !has_our_data || became_complete {
            self.publish(variants, kept)?;
        }
        // Changes are also written if the whole index was written above, because only changes
        // contain the paths of originals.
        for batch in changes.chunks(self.limits.batch_max) {
            let commands = batch
                .iter()
                .flat_map(|change| layout::change(change, self.limits.keep_ms));
            self.run(commands.collect())?;
        }
        if kept.uses_ms + self.limits.uses_ms <= now_ms {
            self.write_all(&variants.used_since(kept.uses_ms))?;
            kept.uses_ms = now_ms;
        }
        let counts = totals();
        let deltas = layout::counts(&kept.counts, &counts);
        if !deltas.is_empty() {
            self.run(deltas)?;
            kept.counts = counts;
        }
        Ok(())
    }

    fn publish(&self, variants: &Variants, kept: &mut Kept) -> io::Result<()> {
        kept.uses_ms = clock::unix_ms();
        // Read before the entries: if this is true, the entries below include all files of the
        // directory.
        kept.is_complete = variants.is_complete();
        self.write_all(&variants.used_since(0))?;
        self.run(layout::process(&self.process))?;
        self.publications.fetch_add(1, Ordering::Relaxed);
        tracing::info!("the store has the whole index of variants");
        Ok(())
    }

    fn write_all(&self, variants: &[Arc<Variant>]) -> io::Result<()> {
        for batch in variants.chunks(self.limits.batch_max) {
            let commands = batch
                .iter()
                .flat_map(|variant| layout::kept(variant, self.limits.keep_ms));
            self.run(commands.collect())?;
        }
        Ok(())
    }

    /// Runs commands, and records whether the store is reachable. Logs only changes of that state.
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>> {
        let answered = self.store.run(commands);
        let was_reachable = self.is_reachable.swap(answered.is_ok(), Ordering::Relaxed);
        match &answered {
            Ok(replies) => {
                if !was_reachable {
                    tracing::info!("the store can be reached again");
                }
                let refused = replies
                    .iter()
                    .find(|reply| matches!(reply, Reply::Error(_)));
                if let Some(Reply::Error(text)) = refused {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                    let reply = String::from_utf8_lossy(text);
                    tracing::debug!(%reply, "the store refuses a command");
                }
            }
            Err(err) => {
                self.errors.fetch_add(1, Ordering::Relaxed);
                if was_reachable {
                    tracing::warn!(%err, "the store is out of reach; the server continues without it");
                }
            }
        }
        answered
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }
}

/// State of the thread that runs [`SharedIndex::maintain`], between polls of the store.
#[derive(Debug, Default)]
struct Kept {
    /// True if the store had the whole index after the previous update.
    is_published: bool,
    /// True if the local index had been loaded completely when all of its entries were last written
    /// to the store.
    is_complete: bool,
    /// Time when the times of last use were last written to the store, in milliseconds since 1970.
    uses_ms: u64,
    /// Counters of this process that the store's counters already include.
    counts: Totals,
}

#[cfg(test)]
mod tests;
