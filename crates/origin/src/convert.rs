//! One conversion, start to end: original → cell → checked answer → variant on disk. Blocks; runs on the threads of
//! [`crate::flight`] and nowhere else.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cell::{Failure, FailureKind, Pool};
use picture::{Plan, Target};

use crate::clock;
use crate::ledger::{Change, Ledger, Made};
use crate::library::{Identity, Library, LibraryPath, Missing};
use crate::metrics::Metrics;
use crate::quarantine::Quarantine;
use crate::source::FileSource;
use crate::variants::{Key, Kind, Variant, Variants, Verdict};

/// A job may take this many times the CPU time its plan was estimated at …
const CPU_FACTOR: u64 = 8;
/// … and this much in any case, since small estimates are the least certain.
const CPU_FLOOR_MS: u64 = 2_000;
/// Wall time a job may take for each unit of CPU time.
const WALL_FACTOR: u32 = 8;
/// Memory beyond the estimate, for the same reason.
const MEMORY_FLOOR_BYTES: u64 = 64 << 20;

/// What is to be made, and of what.
#[derive(Clone, Debug)]
pub struct Task {
    /// Where the result is kept.
    pub key: Key,
    /// The work.
    pub plan: Plan,
    /// The original.
    pub path: LibraryPath,
    /// The version of it that the key and plan belong to.
    pub identity: Identity,
    /// The untouched original answers the same request, so only a smaller result is worth keeping.
    pub original_competes: bool,
    /// A quicker variant that this one replaces.
    pub replaces: Option<Key>,
    /// Whether somebody waits for it.
    pub pace: Pace,
}

impl Task {
    fn made(&self, cpu_us: u64) -> Made {
        Made {
            key: self.key,
            path: self.path.clone(),
            width_px: self.plan.target.width_px,
            height_px: self.plan.target.height_px,
            cpu_us,
        }
    }
}

/// Whether somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Yes: the job competes for the cores.
    Awaited,
    /// No: the job runs on cores that have nothing else to do.
    Idle,
}

/// What came of a task. Cloned to everybody who waits for it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A variant or a verdict, to be found under the key from now on.
    Kept(Arc<Variant>),
    /// Made, but the disk did not take it.
    Uncached(Target, Arc<Sealed>),
    /// The original is another one by now, or gone: look again.
    Changed,
    /// The host refused us memory, processes or descriptors; may go better next time.
    Refused,
}

/// The parts of the house that a conversion passes through.
#[derive(Debug)]
pub struct Converter {
    /// Originals.
    pub library: Arc<Library>,
    /// Results.
    pub variants: Arc<Variants>,
    /// Sandboxes.
    pub pool: Arc<Pool>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// The record of what was made, if there is one.
    pub ledger: Option<Arc<Ledger>>,
    /// No job runs longer, whatever its estimate.
    pub wall_ms_max: u32,
    /// What killed cells before.
    pub(crate) quarantine: Quarantine,
}

impl Converter {
    /// Does `task`, however it ends.
    pub fn convert(&self, task: &Task) -> Outcome {
        let original = match self.library.open_original(&task.path) {
            Ok((file, identity)) if identity == task.identity => file,
            Ok(_) | Err(Missing::NotFound | Missing::WouldSleep) => return Outcome::Changed,
            Err(Missing::Host(err)) => {
                tracing::error!(path = %task.path.as_path().display(), %err, "original cannot be opened");
                return Outcome::Refused;
            }
        };
        if let Some(known) = self.variants.recall(&task.key, clock::unix_ms()) {
            return Outcome::Kept(known);
        }
        if self.is_quarantined(task, &original) {
            self.metrics.quarantined.fetch_add(1, Ordering::Relaxed);
            return Outcome::Kept(self.remember(task, Verdict::Faulty));
        }
        self.note(|| Change::Begun(task.key, task.path.clone(), self.wall_ms_max));
        let made = self.run(task, &original);
        self.note(|| Change::Ended(task.key));
        let outcome = match made {
            Ok(body) if task.original_competes && task.identity.size_bytes <= body.bytes => {
                self.keep(task, Kind::Verdict(Verdict::Larger), None)
            }
            Ok(body) => {
                let made = task.made(body.cpu_us);
                let kind = Kind::Picture(task.plan.encoding.target());
                let outcome = self.keep(task, kind, Some(body));
                if let Outcome::Kept(_) = outcome {
                    self.note(|| Change::Made(made));
                }
                outcome
            }
            Err(failure) => {
                self.suspect(task, &original, &failure);
                self.judge(task, &failure)
            }
        };
        if let (Outcome::Kept(variant), Some(replaced)) = (&outcome, &task.replaces)
            && variant.is_useful()
        {
            self.variants.remove(replaced);
        }
        outcome
    }

    /// Whether the original killed so many cells that no more are spent on it.
    fn is_quarantined(&self, task: &Task, original: &File) -> bool {
        let held = self.quarantine.holds(original, task.identity.size_bytes);
        // One that cannot be read has a better reason to fail.
        held.is_ok_and(|held| held)
    }

    /// Notes an original that may have killed a cell.
    fn suspect(&self, task: &Task, original: &File, failure: &Failure) {
        if !matches!(failure.kind, FailureKind::Crashed | FailureKind::Lied) {
            return;
        }
        if let Err(err) = self.quarantine.note(original, task.identity.size_bytes) {
            let path = task.path.as_path().display();
            tracing::warn!(%path, %err, "an original that killed a cell cannot be read again");
        }
    }

    fn note(&self, change: impl FnOnce() -> Change) {
        if let Some(ledger) = &self.ledger {
            ledger.note(change());
        }
    }

    fn run(&self, task: &Task, original: &File) -> Result<Sealed, Failure> {
        let sealed = run(
            &self.pool,
            &task.plan,
            original,
            self.wall_ms_max,
            task.pace,
        )?;
        self.metrics.conversions.fetch_add(1, Ordering::Relaxed);
        self.metrics
            .conversion_cpu_us
            .fetch_add(sealed.cpu_us, Ordering::Relaxed);
        Ok(sealed)
    }

    fn keep(&self, task: &Task, kind: Kind, body: Option<Sealed>) -> Outcome {
        match self
            .variants
            .store(task.key, kind, body.as_ref(), clock::unix_ms())
        {
            Ok(variant) => Outcome::Kept(variant),
            // `store` has logged and counted it, unless the budget is too small to begin with.
            Err(_) => match (kind, body) {
                (Kind::Picture(target), Some(body)) => Outcome::Uncached(target, Arc::new(body)),
                (Kind::Verdict(verdict), _) => Outcome::Kept(self.remember(task, verdict)),
                (Kind::Picture(_), None) => unreachable!("a picture has a body"),
            },
        }
    }

    fn remember(&self, task: &Task, verdict: Verdict) -> Arc<Variant> {
        self.variants.remember(task.key, verdict, clock::unix_ms())
    }

    fn judge(&self, task: &Task, failure: &Failure) -> Outcome {
        self.metrics.failed(failure.kind);
        let path = task.path.as_path().display();
        let verdict = match failure.kind {
            FailureKind::Undecodable => Verdict::Undecodable,
            FailureKind::Unsupported => Verdict::Unsupported,
            FailureKind::TooLarge | FailureKind::TimedOut => Verdict::TooCostly,
            FailureKind::Crashed | FailureKind::Lied => {
                tracing::error!(%path, kind = ?failure.kind, detail = %failure.detail, "worker at fault");
                // Whatever killed one cell would kill the next: for a while the original is not tried again.
                return Outcome::Kept(self.remember(task, Verdict::Faulty));
            }
            FailureKind::Host => {
                tracing::error!(%path, detail = %failure.detail, "no cell for a conversion");
                return Outcome::Refused;
            }
        };
        tracing::info!(%path, ?verdict, detail = %failure.detail, "conversion refused");
        self.keep(task, Kind::Verdict(verdict), None)
    }
}

/// Bytes that a cell gave back, in memory and beyond anybody's reach.
#[derive(Debug)]
pub struct Sealed {
    /// A sealed memory file that begins with them.
    pub file: File,
    /// How many there are.
    pub bytes: u64,
    /// CPU time it took to make them, in the worker's words.
    pub cpu_us: u64,
}

/// Makes what `plan` says of `original` in a cell of `pool`, and checks that the answer is a picture of that format and
/// size. Blocks; no job takes longer than `wall_ms_max`, whatever its `pace`.
///
/// # Errors
/// [`Failure`], whose kind says who is at fault.
pub fn run(
    pool: &Pool,
    plan: &Plan,
    original: &File,
    wall_ms_max: u32,
    pace: Pace,
) -> Result<Sealed, Failure> {
    let cost = plan.cost();
    let cpu_ms_max = u32::try_from(cost.cpu_ms * CPU_FACTOR + CPU_FLOOR_MS).unwrap_or(u32::MAX);
    let limits = job::JobLimits {
        answer_bytes_max: answer_bytes_max(plan),
        memory_bytes_max: cost
            .memory_bytes
            .saturating_mul(2)
            .saturating_add(MEMORY_FLOOR_BYTES),
        cpu_ms_max,
    };
    let finished = pool.run(cell::Task {
        original: original.as_fd(),
        plan: &plan.to_bytes(),
        size_px: Some((plan.target.width_px, plan.target.height_px)),
        limits,
        // Waiting for a busy core is no fault of the job's.
        wall_ms_max: if pace == Pace::Idle {
            wall_ms_max
        } else {
            wall_ms_max.min(cpu_ms_max.saturating_mul(WALL_FACTOR))
        },
        idle: pace == Pace::Idle,
    })?;
    let sealed = Sealed {
        file: finished.body,
        bytes: finished.answer_bytes,
        cpu_us: finished.cpu_us,
    };
    if sealed.is_what_was_asked(plan) {
        return Ok(sealed);
    }
    let detail = "the answer is not the picture that was asked for".to_owned();
    Err(Failure {
        kind: FailureKind::Lied,
        detail,
    })
}

impl Sealed {
    /// The worker's bytes are only alleged to be a picture: format and size are read back from them.
    fn is_what_was_asked(&self, plan: &Plan) -> bool {
        let facts = picture::probe(&FileSource(&self.file), self.bytes);
        let format = plan.encoding.target().format();
        facts.is_ok_and(|facts| {
            facts.format == format && facts.stored == plan.target && !facts.animated
        })
    }
}

/// No useful answer is longer than the raw pixels and a container with a profile.
fn answer_bytes_max(plan: &Plan) -> u64 {
    const CONTAINER_BYTES: u64 = 1 << 20;
    plan.target.pixels() * 4 + CONTAINER_BYTES
}
