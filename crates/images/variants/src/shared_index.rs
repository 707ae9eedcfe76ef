//! The record of what was made, in a Redis-compatible store: for operators to look at, and for another process, or a
//! later one, to find verdicts and variants that its own index does not know.
//!
//! ```text
//! variants, convert ── note ──► changes ──► thread "ledger" ──► Store ──► HSET, DEL, EXPIRE …
//! convert ── lock, find, before one ───────────────────────────► Store ──► HMGET
//! ```
//!
//! The files are the truth, and the index is read from them: the record may be lost, behind, or out of reach at any
//! time, and nothing is served differently for it but that a verdict is found out once more. When the store comes back,
//! or has lost what it had, or the directory has been read whole, all is written again.
//!
//! Layout: see `layout.rs`, and docs/store.md for who reads it.
//! Threads: whoever makes or drops a variant takes the lock of `changes` for one push; hits come nowhere near. One
//! thread talks to the store, and conversion threads ask it before they begin.

mod layout;

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use openmetrics::Text;
use resp::Reply;

use crate::cache::{Key, Kind, Variant, Variants};
use crate::clock;
use crate::library::LibraryPath;

/// Counters of this process by name, each since its start.
pub type Totals = Vec<(&'static str, u64)>;

/// A Redis-compatible store: in this process, or elsewhere.
pub trait Store: Debug + Send + Sync {
    /// Runs commands in their order, and returns as many replies. Blocks, within a bound of its own.
    ///
    /// # Errors
    /// It is out of reach, or what it answers is no reply. Some of the commands may have run.
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>>;
}

/// Bounds of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Changes that wait for the store; beyond, they are dropped and all is written again. Default 16,384.
    pub changes_max: usize,
    /// Changes sent at a time. Default 256.
    pub batch_max: usize,
    /// How often the store is looked at when nothing changes, and tried again when it is out of reach, in
    /// milliseconds. Default 1,000.
    pub look_ms: u64,
    /// How often times of use are written, in milliseconds. Default 60,000.
    pub uses_ms: u64,
    /// How long the record of a variant that nobody uses is kept, in milliseconds. Default 30 days.
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

/// What is to be recorded.
#[derive(Clone, Debug)]
pub enum Change {
    /// There is this entry.
    Kept(Arc<Variant>),
    /// It was made of this original.
    Made(Made),
    /// There is no entry of this key any more.
    Gone(Key),
    /// A conversion to it that had the lock has ended.
    Ended(Key),
}

/// What a conversion knows of its result, and the index does not.
#[derive(Clone, Debug)]
pub struct Made {
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

/// What the record says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Format, or verdict.
    pub kind: Kind,
    /// Size of the file in bytes; 0 for a verdict.
    pub bytes: u64,
}

/// A conversion that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// Names the folder that its result goes to: processes of one folder use each other's variants.
    pub files: &'a str,
    /// The original.
    pub path: &'a LibraryPath,
    /// How long it takes at most.
    pub wall_ms_max: u32,
}

impl Flight<'_> {
    fn text(&self) -> Vec<u8> {
        let path = self.path.as_path().as_os_str().as_encoded_bytes();
        [self.files.as_bytes(), b" ", path].concat()
    }
}

/// Who has the lock of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The caller, from now on, until it notes [`Change::Ended`].
    Ours,
    /// Somebody who makes it for the same folder.
    Shared,
    /// Somebody whose result will not be here, or nobody.
    Elsewhere,
}

/// Figures for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerStats {
    /// Whether the store answered when it was last spoken to.
    pub is_reachable: bool,
    /// Times it did not, or refused a command.
    pub errors: u64,
    /// Times that all was written.
    pub publications: u64,
}

/// The way to the record.
#[derive(Debug)]
pub struct Ledger {
    store: Arc<dyn Store>,
    limits: Limits,
    pending: Mutex<Pending>,
    changed: Condvar,
    /// Asked before the store is, so that an unreachable one costs its deadline once a look, not once a conversion.
    is_reachable: AtomicBool,
    errors: AtomicU64,
    publications: AtomicU64,
    process: String,
}

#[derive(Debug, Default)]
struct Pending {
    changes: Vec<Change>,
    /// Some were dropped.
    overflowed: bool,
}

impl LedgerStats {
    /// Writes the metrics of the shared index.
    pub fn render(&self, text: &mut Text) {
        text.gauge(
            "pelton_store_reachable",
            "1 if the store answers, otherwise 0",
            u64::from(self.is_reachable),
        );
        text.counter(
            "pelton_store_errors",
            "requests that the store did not answer, or refused",
            self.errors,
        );
        text.counter(
            "pelton_store_publications",
            "times that the whole index of variants was written to the store",
            self.publications,
        );
    }
}

impl Ledger {
    /// A record in `store`. Nothing is written before [`Ledger::keep`] runs.
    pub fn new(store: Arc<dyn Store>, limits: Limits) -> Ledger {
        Ledger {
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

    /// Has a change recorded, some time soon.
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

    /// What is recorded of `key`, and who is to make it. Blocks. Where the store is out of reach, nothing is recorded and
    /// nobody has the lock.
    pub fn find_or_lock(&self, key: &Key, flight: &Flight<'_>) -> (Option<Found>, Lock) {
        if !self.is_reachable.load(Ordering::Relaxed) {
            return (None, Lock::Elsewhere);
        }
        // Told and counted where it fails.
        match self.run(layout::lock_and_find(key, flight)).as_deref() {
            Ok([lock, entry]) => (layout::found(entry), layout::locked(lock, flight)),
            _ => (None, Lock::Elsewhere),
        }
    }

    /// Figures for the metrics.
    pub fn stats(&self) -> LedgerStats {
        LedgerStats {
            is_reachable: self.is_reachable.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            publications: self.publications.load(Ordering::Relaxed),
        }
    }

    /// Runs the thread that talks to the store until all owners of `variants` are gone. `totals` returns named counters, which
    /// are added to those in the store.
    pub fn keep(&self, variants: &Weak<Variants>, totals: &dyn Fn() -> Totals) {
        let mut kept = Kept::default();
        while let Some(variants) = variants.upgrade() {
            // What went wrong was told and counted, and is tried again at the next look.
            kept.is_published = self.catch_up(&mut kept, &variants, totals).is_ok();
            drop(variants);
            self.wait();
        }
    }

    /// Until something changed, or it is time to look.
    fn wait(&self) {
        let look = Duration::from_millis(self.limits.look_ms);
        let waited = self
            .changed
            .wait_timeout_while(self.pending(), look, |pending| {
                pending.changes.is_empty() || !self.is_reachable.load(Ordering::Relaxed)
            });
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Brings the store to where we are: by what changed, or by all there is where it has nothing of ours or the index has
    /// just been read whole.
    fn catch_up(
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
        let is_here = kept.is_published && renewed == [Reply::Int(1)];
        let grew_whole = !kept.is_whole && variants.is_whole();
        if overflowed || !is_here || grew_whole {
            self.publish(variants, kept)?;
        }
        // After a publication too: it knows no paths.
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
        // Asked first: what the directory holds is then all among those written below.
        kept.is_whole = variants.is_whole();
        self.write_all(&variants.used_since(0))?;
        self.run(layout::process(&self.process))?;
        self.publications.fetch_add(1, Ordering::Relaxed);
        tracing::info!("the store has the record of all variants");
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

    /// Runs commands, and notes whether the store can be reached; a change of that is logged once.
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
                    tracing::warn!(%err, "the store is out of reach; serving goes on without it");
                }
            }
        }
        answered
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread remembers from one look to the next.
#[derive(Debug, Default)]
struct Kept {
    /// The store has all that there was at some time.
    is_published: bool,
    /// When that was written, the index had all that its directory holds.
    is_whole: bool,
    /// When times of use were written, in milliseconds since 1970.
    uses_ms: u64,
    /// What was added to the counters.
    counts: Totals,
}

#[cfg(test)]
mod tests;
