//! Index of variants in a Redis-compatible store that several processes share. Through this index,
//! a process finds the variants of other processes, and their verdicts (reasons why there is no
//! variant). Operators can read the index, too.
//!
//! ```text
//! variants, convert ─ note ─► changes ─► thread "shared-index" ─► Store ─► HSET, UNLINK, EXPIRE …
//! convert ─ lock and find, before a conversion ─────────────────► Store ─► SET NX, HMGET
//! ```
//!
//! Each process reads its own index from the files on the disk, which are authoritative. The shared
//! index may be lost, outdated or unreachable at any time; the worst consequence is that a picture
//! is converted again. A process writes all its entries again when the store becomes reachable
//! again, when the store has lost its data, when too many changes were queued, and when the process
//! has read its directory of variants completely.
//!
//! Layout: see `layout.rs`, and docs/store.md for programs that read the index. Threads: a thread
//! that adds or removes a variant locks the queue of changes for one push; cache hits do not lock
//! the queue. One thread writes to the store, and conversion threads query the store before a
//! conversion.

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
use wall_clock::unix_ms;

use crate::cache::{Key, Kind, Variant, Variants};
use crate::library::LibraryPath;

/// Counters of this process: the name of each counter, and its value since the start of the
/// process.
pub type Totals = Vec<(&'static str, u64)>;

/// Redis-compatible store, embedded in this process or on a server.
pub trait Store: Debug + Send + Sync {
    /// Runs the commands in order and returns one reply per command. Blocks until the replies
    /// arrive or the store's own timeout expires.
    ///
    /// # Errors
    /// If the store is unreachable, or a reply is invalid. Some of the commands may have run.
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>>;
}

/// Limits and intervals of the shared index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of changes that wait to be written to the store. Further changes are dropped,
    /// and all entries are written again later. Default 16,384.
    pub changes_max: usize,
    /// Maximum number of changes that are written at once. Default 256.
    pub batch_max: usize,
    /// Interval at which the store is polled while nothing changes or while the store is
    /// unreachable, in milliseconds. Default 1,000.
    pub look_ms: u64,
    /// Interval at which times of last use are written to the store, in milliseconds. Default
    /// 60,000.
    pub uses_ms: u64,
    /// Time without use after which the entry of a variant expires, in milliseconds. Default 30
    /// days.
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

/// Change of this process's own index of variants, to be recorded in the shared index.
#[derive(Clone, Debug)]
pub enum Change {
    /// An entry was added or has changed.
    Set(Arc<Variant>),
    /// A variant was just encoded. The details are its width and height, its CPU time and the path
    /// of its original.
    VariantDetails(VariantDetails),
    /// An entry was removed.
    Removed(Key),
    /// A conversion for this key has ended, so its lock is released.
    Ended(Key),
}

/// Properties of a variant that only the shared index contains: its width and height, its CPU time
/// and the path of its original.
#[derive(Clone, Debug)]
pub struct VariantDetails {
    /// Key of the variant.
    pub key: Key,
    /// Path of the original.
    pub path: LibraryPath,
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
    /// CPU time that the conversion used in its sandbox, in microseconds.
    pub cpu_us: u64,
}

/// Entry of the shared index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedEntry {
    /// Format of the variant, or the reason why there is no variant.
    pub kind: Kind,
    /// Length of the file in bytes; 0 if there is no variant.
    pub bytes: u64,
}

/// Conversion that is about to start. Its lock in the store contains the directory of the result
/// and the path of the original, for other processes to read.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// Identifier of the directory in which the variant will be stored. Processes that use the same
    /// directory have the same identifier, and can read each other's variants.
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

/// Holder of the lock of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The caller holds the lock, until it records [`Change::Ended`].
    Ours,
    /// Another process holds the lock. It stores its variants in the same directory.
    Shared,
    /// Another process holds the lock. It stores its variants in another directory, so its result
    /// is not available here. Also returned if the store is unreachable, because the lock cannot be
    /// acquired then.
    Elsewhere,
}

/// State and counters of the shared index, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedIndexStats {
    /// True if the store replied to the last commands.
    pub is_reachable: bool,
    /// Number of times that commands failed or got no reply.
    pub errors: u64,
    /// Number of times that all entries were written to the store.
    pub publications: u64,
}

/// Shared index of variants, with the changes that wait to be written to the store.
#[derive(Debug)]
pub struct SharedIndex {
    store: Arc<dyn Store>,
    limits: Limits,
    pending: Mutex<Pending>,
    changed: Condvar,
    /// True if the store replied to the last commands. If false, conversions do not query the
    /// store, so an unreachable store costs one timeout per poll, not per conversion.
    is_reachable: AtomicBool,
    errors: AtomicU64,
    publications: AtomicU64,
    process: String,
}

#[derive(Debug, Default)]
struct Pending {
    changes: Vec<Change>,
    /// True if changes were dropped because too many were waiting. All entries must be written
    /// again.
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
            "number of times that the whole index of variants was written to the store",
            self.publications,
        );
    }
}

impl SharedIndex {
    /// Returns a shared index in `store`. Nothing is written until [`SharedIndex::maintain`] runs.
    pub fn new(store: Arc<dyn Store>, limits: Limits) -> SharedIndex {
        SharedIndex {
            store,
            limits,
            pending: Mutex::default(),
            changed: Condvar::new(),
            is_reachable: AtomicBool::new(true),
            errors: AtomicU64::new(0),
            publications: AtomicU64::new(0),
            process: format!("{}-{}", unix_ms(), std::process::id()),
        }
    }

    /// Queues a change, which is later written to the store.
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

    /// Returns the entry of `key`, if any, and the holder of the lock of `key`. Acquires the lock
    /// if it is free. Blocks. If the store is unreachable, returns no entry and
    /// [`Lock::Elsewhere`].
    pub fn find_or_lock(&self, key: &Key, flight: &Flight<'_>) -> (Option<SharedEntry>, Lock) {
        if !self.is_reachable.load(Ordering::Relaxed) {
            return (None, Lock::Elsewhere);
        }
        // If the commands failed, `run` has already logged and counted the error.
        match self.run(layout::lock_and_find(key, flight)).as_deref() {
            Ok([lock, entry]) => (layout::parse_entry(entry), layout::parse_lock(lock, flight)),
            _ => (None, Lock::Elsewhere),
        }
    }

    /// Returns the state and the counters of the shared index, for the metrics.
    pub fn stats(&self) -> SharedIndexStats {
        SharedIndexStats {
            is_reachable: self.is_reachable.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            publications: self.publications.load(Ordering::Relaxed),
        }
    }

    /// Runs the thread that writes to the store, until all owners of `variants` have dropped it.
    /// `totals` returns the counters of this process, whose increases are added to the counters in
    /// the store.
    pub fn maintain(&self, variants: &Weak<Variants>, totals: &dyn Fn() -> Totals) {
        let mut progress = Progress::default();
        while let Some(variants) = variants.upgrade() {
            // A failure has already been logged and counted. The next poll tries again.
            progress.is_published = self.update_store(&mut progress, &variants, totals).is_ok();
            drop(variants);
            self.wait();
        }
    }

    /// Blocks until the next poll. If the store is reachable, returns earlier as soon as a change
    /// is queued.
    fn wait(&self) {
        let look = Duration::from_millis(self.limits.look_ms);
        let is_idle = |pending: &mut Pending| {
            pending.changes.is_empty() || !self.is_reachable.load(Ordering::Relaxed)
        };
        let mut pending = self.pending();
        self.changed.wait_while_for(&mut pending, is_idle, look);
    }

    /// Writes the queued changes to the store, and the increases of the counters. Before that,
    /// writes all entries if the store may lack some: changes were dropped from the full queue, the
    /// store has lost the data of this process, or this process has just finished loading its own
    /// index.
    fn update_store(
        &self,
        progress: &mut Progress,
        variants: &Variants,
        totals: &dyn Fn() -> Totals,
    ) -> io::Result<()> {
        let now_ms = unix_ms();
        let Pending {
            changes,
            overflowed,
        } = std::mem::take(&mut *self.pending());
        let renewed = self.run(vec![layout::renew(&self.process)])?;
        let has_our_data = progress.is_published && renewed == [Reply::Int(1)];
        let became_complete = !progress.is_complete && variants.is_complete();
        if overflowed || !has_our_data || became_complete {
            self.publish(variants, progress)?;
        }
        // The changes are written even if all entries were just written, because only changes
        // contain the paths of originals.
        for batch in changes.chunks(self.limits.batch_max) {
            let commands = batch
                .iter()
                .flat_map(|change| layout::change(change, self.limits.keep_ms));
            self.run(commands.collect())?;
        }
        if progress.uses_ms + self.limits.uses_ms <= now_ms {
            self.write_all(&variants.used_since(progress.uses_ms))?;
            progress.uses_ms = now_ms;
        }
        let counts = totals();
        let deltas = layout::counts(&progress.counts, &counts);
        if !deltas.is_empty() {
            self.run(deltas)?;
            progress.counts = counts;
        }
        Ok(())
    }

    fn publish(&self, variants: &Variants, progress: &mut Progress) -> io::Result<()> {
        progress.uses_ms = unix_ms();
        // The flag is read before the entries, so that the entries written below are complete if
        // the flag is true.
        progress.is_complete = variants.is_complete();
        self.write_all(&variants.used_since(0))?;
        self.run(layout::process(&self.process))?;
        self.publications.fetch_add(1, Ordering::Relaxed);
        tracing::info!("the whole index of variants has been written to the store");
        Ok(())
    }

    fn write_all(&self, variants: &[Arc<Variant>]) -> io::Result<()> {
        for batch in variants.chunks(self.limits.batch_max) {
            let commands = batch
                .iter()
                .flat_map(|variant| layout::set(variant, self.limits.keep_ms));
            self.run(commands.collect())?;
        }
        Ok(())
    }

    /// Runs commands and records whether the store is reachable. Logs only if that has changed.
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
                    tracing::debug!(%reply, "the store refused a command");
                }
            }
            Err(err) => {
                self.errors.fetch_add(1, Ordering::Relaxed);
                if was_reachable {
                    tracing::warn!(
                        %err,
                        "the store cannot be reached; the server continues without it"
                    );
                }
            }
        }
        answered
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }
}

/// State that [`SharedIndex::maintain`] keeps between polls of the store.
#[derive(Debug, Default)]
struct Progress {
    /// True if the previous update succeeded, so that the store has all entries.
    is_published: bool,
    /// True if this process had loaded its own index completely before it last wrote the whole
    /// index to the store.
    is_complete: bool,
    /// When this process most recently saved the entries' times of use to the store, in
    /// milliseconds since 1970.
    uses_ms: u64,
    /// Values of this process's counters that the counters in the store already include.
    counts: Totals,
}

#[cfg(test)]
mod tests;
