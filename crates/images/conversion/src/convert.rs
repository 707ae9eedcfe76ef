//! Conversion of one original by a worker in a sandbox: the result is verified and stored on the
//! disk as a variant. The functions block, so only the threads of [`crate::flight`] run them.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use image_plan::{
    BATCH_PLANS_MAX, Batch, PLACEHOLDER_BYTES, Placeholder, Plan, ProbeError, Size, Target,
    length_table_bytes, split_outputs,
};
use sandbox::{Failure, FailureKind, Pool};
use variants::cache::{Key, Kind, Variant, Variants, Verdict};
use variants::library::{Identity, Library, LibraryPath, Missing};
use variants::placeholders::Placeholders;
use variants::sealed::Sealed;
use variants::shared_index::{Change, Flight, Lock, SharedIndex, VariantDetails};
use wall_clock::unix_ms;

use crate::metrics::Metrics;
use crate::quarantine::{Crash, Quarantine};

/// Factor by which the CPU estimate of a plan is multiplied to get the maximum CPU time of its job.
/// [`CPU_FLOOR_MS`] is added to the product.
const CPU_FACTOR: u64 = 8;
/// Constant part of the maximum CPU time of a job, in milliseconds. It is needed since small
/// estimates are the least accurate.
const CPU_FLOOR_MS: u64 = 2_000;
/// Number of bytes of the original that allow a job one millisecond of CPU time. [`CPU_FLOOR_MS`]
/// is added to this allowance. So a small file whose header declares a large picture gets little
/// time.
const CPU_WORTH_BYTES: u64 = 10;
/// Maximum wall time of a job, as a multiple of its maximum CPU time.
pub(crate) const WALL_FACTOR: u32 = 8;
/// Constant part of the maximum memory of a job, in bytes. It is needed since small estimates are
/// the least accurate.
const MEMORY_FLOOR_BYTES: u64 = 64 << 20;

/// Maximum size of an animation in bytes.
const ANIMATION_BYTES_MAX: u64 = 128 << 20;

/// Factor for the maximum time to wait while another process converts the same picture. The CPU
/// estimate of the plan is multiplied by this factor, and [`WAIT_FLOOR_MS`] is added.
const WAIT_FACTOR: u64 = 4;
/// Constant part of the maximum time to wait for another process, in milliseconds. After the wait,
/// this process converts the picture itself, even if another process (perhaps killed) still holds
/// the lock.
const WAIT_FLOOR_MS: u64 = 500;
/// Interval at which the shared index is polled for the result of another process that converts the
/// same picture.
const WAIT_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time, in milliseconds, for which a picture counts as too costly after a failed job. It applies
/// if the job may have failed only because the machine was busy.
const POSTPONED_MS: u64 = 15 * 60 * 1_000;

/// Task to convert one original as a plan describes.
#[derive(Clone, Debug)]
pub struct Task {
    /// Cache key of the result.
    pub key: Key,
    /// Steps that the worker performs.
    pub plan: Plan,
    /// Path of the original in the library.
    pub path: LibraryPath,
    /// Version of the original that the key and the plan belong to.
    pub identity: Identity,
    /// True if the server could send the original itself for the same request. The result is then
    /// kept only if it is smaller than the original.
    pub original_competes: bool,
    /// Key of the variant that the result replaces, if any. That variant was encoded at low effort.
    pub replaces: Option<Key>,
    /// Scheduling priority of the job that runs the conversion.
    pub pace: Pace,
}

impl Task {
    /// Returns whether the task replaces a variant of low effort, which requests already get, by
    /// one of higher effort.
    fn is_improvement(&self) -> bool {
        self.pace == Pace::Idle || self.replaces.is_some()
    }

    /// Returns the details of the variant whose bytes are `body`.
    fn made(&self, body: &Sealed) -> Result<VariantDetails, ProbeError> {
        let size = match self.plan.trim {
            None => self.plan.target,
            Some(_) => image_plan::probe(body, body.bytes)?.stored,
        };
        Ok(VariantDetails {
            key: self.key,
            path: self.path.clone(),
            width_px: size.width_px,
            height_px: size.height_px,
            cpu_us: body.cpu_us,
        })
    }
}

/// Scheduling priority of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// High priority, since a request waits for the result.
    Awaited,
    /// Low priority, since no request waits: the job runs only on idle cores.
    Idle,
}

/// Result of a task. Each request that waits for the task gets a clone.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An entry of the index: a variant, or a verdict (the reason why the variant is missing). If
    /// this process has just encoded the variant, its bytes are included, so that they need not be
    /// read from the disk.
    Cached(Arc<Variant>, Option<Arc<Sealed>>),
    /// An encoded picture that could not be written to the disk, or is too large for the cache.
    Uncached(Target, Arc<Sealed>),
    /// The original has changed or does not exist any more. The caller must look it up again.
    Changed,
    /// The host refused memory, processes or file descriptors. A later attempt may succeed.
    Refused,
    /// The job was cancelled through [`Terms::cancel`].
    Cancelled,
}

/// Parameters of a conversion that are not part of its plan.
pub struct Terms<'a> {
    /// Descriptor that becomes readable when the job must be cancelled. `None` if the job is never
    /// cancelled.
    pub cancel: Option<BorrowedFd<'a>>,
    /// Function that reserves the given number of bytes of memory for the job, in place of the
    /// job's earlier reservation. It blocks until the memory is free, and then returns true. If the
    /// memory is not free in time, the function returns false, and the job has no reservation.
    pub reserve_memory: &'a mut dyn FnMut(u64) -> bool,
}

/// Failure of a job.
struct Ended {
    failure: Failure,
    /// True if the job may have failed only because the machine was busy, so that a later attempt
    /// may succeed.
    is_postponed: bool,
}

/// Converter of pictures, with the resources that all conversions share.
#[derive(Debug)]
pub struct Converter {
    /// Library of originals.
    pub library: Arc<Library>,
    /// Index of the variants on the disk.
    pub variants: Arc<Variants>,
    /// Pool of the sandboxes in which workers run.
    pub pool: Arc<Pool>,
    /// Placeholders (dominant colour, BlurHash and ThumbHash) of originals.
    pub placeholders: Arc<Placeholders>,
    /// Counters of picture conversions and audio transcodes.
    pub metrics: Arc<Metrics>,
    /// Index of variants that several processes share, if one is configured.
    pub shared_index: Option<Arc<SharedIndex>>,
    /// Maximum wall time of any job, in milliseconds.
    pub wall_ms_max: u32,
    /// Originals that are not converted any more because they crashed workers.
    pub quarantine: Quarantine,
}

/// Lock on one conversion in the shared index. Other processes do not run the conversion until this
/// lock is dropped.
#[derive(Debug)]
struct Held<'a> {
    shared_index: &'a SharedIndex,
    key: Key,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shared_index.note(Change::Ended(self.key));
    }
}

impl Converter {
    /// Runs `task` and returns its outcome.
    pub fn convert(&self, task: &Task, terms: &mut Terms<'_>) -> Outcome {
        let mut outcomes = self.convert_all(std::slice::from_ref(task), terms);
        outcomes.pop().expect("there is one outcome per task")
    }

    /// Runs several tasks of one version of an original. Tasks that can share one decoding of the
    /// original run as one job. Returns one outcome per task.
    ///
    /// # Panics
    /// If there are no tasks, more than [`BATCH_PLANS_MAX`], or tasks of several originals. All of
    /// these are bugs of the caller.
    pub fn convert_all(&self, tasks: &[Task], terms: &mut Terms<'_>) -> Vec<Outcome> {
        let first = &tasks[0];
        let same = |task: &Task| (&task.path, task.identity) == (&first.path, first.identity);
        assert!(
            tasks.iter().all(same),
            "all tasks must have the same original"
        );
        let original = match self.library.open_original(&first.path) {
            Ok((file, identity)) if identity == first.identity => file,
            Ok(_) | Err(Missing::NotFound | Missing::WouldSleep) => {
                return vec![Outcome::Changed; tasks.len()];
            }
            Err(Missing::Host(err)) => {
                tracing::error!(
                    path = %first.path.as_path().display(),
                    %err,
                    "the original cannot be opened"
                );
                return vec![Outcome::Refused; tasks.len()];
            }
        };
        let mut locks = Vec::new();
        let known = tasks.iter().map(|task| {
            // While tasks of a batch hold locks, the batch does not wait for further locks.
            // Otherwise two processes could wait for each other.
            let wait_max = Duration::from_millis(match tasks.len() {
                1 => WAIT_FACTOR * task.plan.cost().cpu_ms + WAIT_FLOOR_MS,
                _ => 0,
            });
            let (variant, lock) = self.find_or_lock(task, wait_max);
            locks.extend(lock);
            variant.map(|variant| Outcome::Cached(variant, None))
        });
        let mut outcomes: Vec<Option<Outcome>> = known.collect();
        let missing = (0..tasks.len()).filter(|at| outcomes[*at].is_none());
        for group in shared_decodes(tasks, missing.collect()) {
            let group_tasks: Vec<&Task> = group.iter().map(|at| &tasks[*at]).collect();
            let group_outcomes = self.convert_group(&group_tasks, &original, terms);
            for (at, outcome) in group.iter().zip(group_outcomes) {
                outcomes[*at] = Some(outcome);
            }
        }
        let outcomes = outcomes.into_iter();
        outcomes
            .map(|outcome| outcome.expect("each task has a known outcome or is in a group"))
            .collect()
    }

    /// Queries the shared index for the result of a task. If another process is converting the
    /// picture, blocks until the result appears, but at most for `wait_max`. If no process is
    /// converting the picture, acquires the lock for this process.
    fn find_or_lock(
        &self,
        task: &Task,
        wait_max: Duration,
    ) -> (Option<Arc<Variant>>, Option<Held<'_>>) {
        let Some(shared_index) = &self.shared_index else {
            return (None, None);
        };
        let files = self.variants.files();
        let flight = Flight {
            files: &files,
            path: &task.path,
            wall_ms_max: self.wall_ms_max,
        };
        let deadline = Instant::now() + wait_max;
        loop {
            let (found, lock) = shared_index.find_or_lock(&task.key, &flight);
            let key = task.key;
            let held = (lock == Lock::Ours).then(|| Held { shared_index, key });
            // The other process may have stored only the verdict that its result is not smaller
            // than the original. A task whose request cannot be answered with the original needs a
            // result in any case.
            let found = found.filter(|it| task.original_competes || it.kind != Kind::LARGER);
            let known = found.and_then(|found| self.variants.recall(&key, found, unix_ms()));
            if known.is_some() || lock != Lock::Shared || deadline <= Instant::now() {
                return (known, held);
            }
            thread::sleep(WAIT_POLL_INTERVAL);
        }
    }

    /// Runs tasks that share one decoding of the original.
    fn convert_group(
        &self,
        tasks: &[&Task],
        original: &File,
        terms: &mut Terms<'_>,
    ) -> Vec<Outcome> {
        let is_improvement = tasks.iter().all(|task| task.is_improvement());
        if self.is_quarantined(original, &tasks[0].identity, is_improvement) {
            let each = tasks.iter();
            return each.map(|task| self.skip_quarantined(task)).collect();
        }
        match self.run(tasks, original, terms) {
            Ok(bodies) => {
                let each = tasks.iter().zip(bodies);
                each.map(|(task, body)| self.store_result(task, body))
                    .collect()
            }
            // Tasks that together exceed a limit may succeed one by one.
            Err(Ended { failure, .. })
                if 1 < tasks.len()
                    && matches!(
                        failure.kind,
                        FailureKind::TooLarge | FailureKind::TimedOut | FailureKind::Unencodable
                    ) =>
            {
                let each = tasks.iter();
                each.flat_map(|task| self.convert_group(&[*task], original, terms))
                    .collect()
            }
            Err(ended) => {
                let Task { path, identity, .. } = tasks[0];
                self.note_crash(original, path, identity, &ended.failure, is_improvement);
                let each = tasks.iter();
                each.map(|task| self.failure_outcome(task, &ended))
                    .collect()
            }
        }
    }

    /// Returns the outcome of a task whose original is in quarantine, without running the task.
    fn skip_quarantined(&self, task: &Task) -> Outcome {
        self.metrics.quarantined.fetch_add(1, Ordering::Relaxed);
        if task.is_improvement() {
            // Stores a lasting verdict, so that the conversion at higher effort is not queued
            // again. Requests keep getting the existing variant until the encoders or the original
            // change.
            return self.store(task, Kind::Verdict(Verdict::Unencodable), None);
        }
        self.store_verdict_in_memory(task, Verdict::Quarantined)
    }

    /// Stores the result of a task as a variant. If another variant or the original can be sent
    /// instead and is not larger, stores only a verdict about the sizes.
    fn store_result(&self, task: &Task, body: Sealed) -> Outcome {
        let outcome = if let Some(verdict) = self.verdict_if_not_smaller(task, body.bytes) {
            self.store(task, Kind::Verdict(verdict), None)
        } else {
            let made = task.made(&body);
            let kind = Kind::Picture(task.plan.encoding.target());
            let outcome = self.store(task, kind, Some(body));
            match (&outcome, made) {
                (Outcome::Cached(..), Ok(made)) => {
                    self.publish_change(|| Change::VariantDetails(made));
                }
                (Outcome::Cached(..), Err(err)) => {
                    let path = task.path.as_path().display();
                    tracing::warn!(
                        %path,
                        %err,
                        "a new variant cannot be read back, so the variant is missing from the \
                         shared index"
                    );
                }
                _ => {}
            }
            outcome
        };
        if let (Outcome::Cached(variant, _), Some(replaced)) = (&outcome, &task.replaces)
            && matches!(variant.kind, Kind::Picture(_))
        {
            self.variants.remove(replaced);
        }
        outcome
    }

    /// Returns a verdict (the reason why the result is not kept) if a result of `bytes` bytes saves
    /// nothing. It saves nothing if it is not smaller than the variant that it would replace, or
    /// than an original that could be sent instead. Only sizes are compared, because variants of
    /// low and of high effort have the same quality on average.
    fn verdict_if_not_smaller(&self, task: &Task, bytes: u64) -> Option<Verdict> {
        let now_ms = unix_ms();
        let quick = task.replaces;
        let quick = quick.and_then(|key| self.variants.find_on_disk(&key, now_ms));
        if quick.is_some_and(|quick| matches!(quick.kind, Kind::Picture(_)) && quick.bytes <= bytes)
        {
            return Some(Verdict::Unimproved);
        }
        (task.original_competes && task.identity.size_bytes <= bytes).then_some(Verdict::Larger)
    }

    /// Returns whether `original` is in quarantine. `is_improvement` states that the job would only
    /// replace a variant by one of higher effort. For such a job, also returns true if earlier such
    /// jobs crashed too often.
    pub fn is_quarantined(
        &self,
        original: &File,
        identity: &Identity,
        is_improvement: bool,
    ) -> bool {
        let held = self
            .quarantine
            .contains(original, identity.size_bytes, is_improvement);
        // If hashing fails, returns false. The conversion then reports the read error.
        held.is_ok_and(|held| held)
    }

    /// Counts a crash for the quarantine of `original`, if `failure` is a crash of the worker or a
    /// violation of the protocol by the worker. Ignores other failures.
    pub fn note_crash(
        &self,
        original: &File,
        path: &LibraryPath,
        identity: &Identity,
        failure: &Failure,
        is_improvement: bool,
    ) {
        if !matches!(
            failure.kind,
            FailureKind::Crashed | FailureKind::ProtocolViolation
        ) {
            return;
        }
        let crash = Crash {
            path: path.as_path(),
            cause: failure.to_string(),
            is_improvement,
        };
        if let Err(err) = self.quarantine.note(original, identity.size_bytes, &crash) {
            let path = path.as_path().display();
            tracing::warn!(%path, %err, "an original crashed a sandbox, but the crash cannot be \
                                         counted for the quarantine");
        }
    }

    /// Queues a change for the shared index. Does nothing if no shared index is configured.
    fn publish_change(&self, change: impl FnOnce() -> Change) {
        if let Some(shared_index) = &self.shared_index {
            shared_index.note(change());
        }
    }

    /// Runs `tasks` as one job and returns one encoded picture per task. Also stores the
    /// placeholder of the original, unless it is already stored. A single task that runs out of
    /// memory is retried once with the largest memory limit of the pool.
    fn run(
        &self,
        tasks: &[&Task],
        original: &File,
        terms: &mut Terms<'_>,
    ) -> Result<Vec<Sealed>, Ended> {
        let identity = &tasks[0].identity;
        let plans: Vec<Plan> = tasks.iter().map(|task| task.plan).collect();
        // A placeholder shows the first page.
        let needs_placeholder = plans[0].page == 1 && self.placeholders.find(identity).is_none();
        let batch = Batch::new(&plans, needs_placeholder);
        let attempt = |memory_bytes_max| {
            let bounds = Bounds {
                wall_ms_max: self.wall_ms_max,
                memory_bytes_max,
                pace: tasks[0].pace,
                cancel: terms.cancel,
            };
            run_batch(&self.pool, &batch, original, &bounds)
        };
        let most_bytes = self.pool.limits().max_work_memory_bytes;
        let estimated_bytes = memory_bytes_max(&plans).min(most_bytes);
        let mut ended = attempt(estimated_bytes);
        let mut is_postponed = false;
        if let (Err(failure), [_]) = (&ended, tasks)
            && failure.kind == FailureKind::TooLarge
            && estimated_bytes < most_bytes
        {
            is_postponed = !(terms.reserve_memory)(most_bytes);
            if !is_postponed {
                self.metrics.retried.fetch_add(1, Ordering::Relaxed);
                ended = attempt(most_bytes);
            }
        }
        let (sealed, placeholder) = ended.map_err(|failure| Ended {
            // A job that only runs on idle cores may have timed out because it got no CPU time.
            is_postponed: is_postponed
                || (tasks[0].pace == Pace::Idle && failure.kind == FailureKind::TimedOut),
            failure,
        })?;
        if let Some(placeholder) = placeholder {
            self.placeholders.keep(identity, placeholder);
        }
        let cpu_us: u64 = sealed.iter().map(|sealed| sealed.cpu_us).sum();
        self.metrics
            .conversions
            .fetch_add(sealed.len() as u64, Ordering::Relaxed);
        self.metrics
            .conversion_cpu_us
            .fetch_add(cpu_us, Ordering::Relaxed);
        Ok(sealed)
    }

    /// Stores the result of a task, and returns it as the outcome. If the result cannot be written
    /// to the disk, a variant is returned as [`Outcome::Uncached`], and a verdict is stored in
    /// memory only.
    fn store(&self, task: &Task, kind: Kind, body: Option<Sealed>) -> Outcome {
        match self
            .variants
            .store(task.key, kind, body.as_ref(), unix_ms())
        {
            Ok(variant) => Outcome::Cached(variant, body.map(Arc::new)),
            // A failed write was already logged and counted by `store`. A result that is larger
            // than the cache also ends here, but this is not a failure.
            Err(_) => match (kind, body) {
                (Kind::Picture(target), Some(body)) => Outcome::Uncached(target, Arc::new(body)),
                (Kind::Verdict(verdict), _) => self.store_verdict_in_memory(task, verdict),
                (Kind::Picture(_) | Kind::Sound, _) => {
                    unreachable!("a picture has its body, and tracks are not stored here")
                }
            },
        }
    }

    /// Stores a verdict for one minute, in memory only.
    fn store_verdict_in_memory(&self, task: &Task, verdict: Verdict) -> Outcome {
        let now_ms = unix_ms();
        Outcome::Cached(self.variants.remember(task.key, verdict, now_ms), None)
    }

    fn failure_outcome(&self, task: &Task, ended: &Ended) -> Outcome {
        let failure = &ended.failure;
        self.metrics.failed(failure.kind);
        if failure.kind == FailureKind::Cancelled {
            return Outcome::Cancelled;
        }
        match self.verdict(&task.path, failure) {
            // Requests already get a variant of lower effort. The conversion at higher effort is
            // not tried again.
            Some(Verdict::Faulty) if task.is_improvement() => {
                self.store(task, Kind::Verdict(Verdict::Unencodable), None)
            }
            // Another attempt would probably crash as well, so the original is not tried again for
            // a while.
            Some(Verdict::Faulty) => self.store_verdict_in_memory(task, Verdict::Faulty),
            Some(Verdict::TooCostly) => {
                let now_ms = unix_ms();
                let expires_ms = ended.is_postponed.then_some(now_ms + POSTPONED_MS);
                let costly = self.variants.remember_costly(task.key, now_ms, expires_ms);
                Outcome::Cached(costly, None)
            }
            Some(verdict) => self.store(task, Kind::Verdict(verdict), None),
            None => Outcome::Refused,
        }
    }

    /// Logs a failure. If the original is at fault, returns the verdict: the reason why it is not
    /// converted again.
    pub fn verdict(&self, path: &LibraryPath, failure: &Failure) -> Option<Verdict> {
        let path = path.as_path().display();
        let verdict = match failure.kind {
            FailureKind::Undecodable => Verdict::Undecodable,
            FailureKind::Unsupported => Verdict::Unsupported,
            FailureKind::TooLarge | FailureKind::TimedOut => Verdict::TooCostly,
            FailureKind::Unencodable => {
                tracing::error!(%path, detail = %failure.detail, "the encoder failed");
                return Some(Verdict::Unencodable);
            }
            FailureKind::Crashed | FailureKind::ProtocolViolation => {
                tracing::error!(%path, kind = ?failure.kind, detail = %failure.detail, "the worker crashed or sent a wrong reply");
                return Some(Verdict::Faulty);
            }
            FailureKind::Host => {
                tracing::error!(%path, detail = %failure.detail, "the host could not run a conversion");
                return None;
            }
            FailureKind::Cancelled => return None,
        };
        tracing::info!(%path, ?verdict, detail = %failure.detail, "conversion refused");
        Some(verdict)
    }
}

/// Groups tasks that can share one decoding of the original. A group has at most
/// [`BATCH_PLANS_MAX`] tasks.
fn shared_decodes(tasks: &[Task], numbers: Vec<usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for number in numbers {
        let plan = &tasks[number].plan;
        let mut open = groups.iter_mut();
        let fitting = open.find(|group| {
            group.len() < BATCH_PLANS_MAX && plan.shares_decode(&tasks[group[0]].plan)
        });
        match fitting {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    groups
}

/// Runs `plan` on `original` in a sandbox of `pool`, and verifies that the reply is a picture of
/// the planned format and size. A job that runs out of memory is retried once with the largest
/// memory limit of the pool. Each attempt runs for at most `wall_ms_max` milliseconds, even if
/// `pace` gives the job a low priority.
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
    let batch = Batch::new(std::slice::from_ref(plan), false);
    let attempt = |memory_bytes_max| {
        let bounds = Bounds {
            wall_ms_max,
            memory_bytes_max,
            pace,
            cancel: None,
        };
        run_batch(pool, &batch, original, &bounds)
    };
    let most_bytes = pool.limits().max_work_memory_bytes;
    let estimated_bytes = memory_bytes_max(batch.plans());
    let made = match attempt(estimated_bytes) {
        Err(failure) if failure.kind == FailureKind::TooLarge && estimated_bytes < most_bytes => {
            attempt(most_bytes)
        }
        made => made,
    };
    let (mut sealed, _) = made?;
    Ok(sealed.pop().expect("there is one result per plan"))
}

/// Returns the memory limit for a job with `plans`, in bytes.
fn memory_bytes_max(plans: &[Plan]) -> u64 {
    let costs = plans.iter().map(|plan| plan.cost().memory_bytes);
    memory_limit_bytes(costs.max().unwrap_or(0))
}

/// Returns the memory limit for a job, in bytes: twice the estimate, plus a constant. Estimates are
/// sometimes too low.
pub(crate) fn memory_limit_bytes(estimated_bytes: u64) -> u64 {
    estimated_bytes
        .saturating_mul(2)
        .saturating_add(MEMORY_FLOOR_BYTES)
}

/// Returns the limit of CPU time for a job with `plans` on an original of `original_bytes` bytes.
fn cpu_ms_max(plans: &[Plan], original_bytes: u64) -> u32 {
    cpu_limit_ms(
        plans.iter().map(|plan| plan.cost().cpu_ms).sum(),
        original_bytes,
    )
}

/// Returns the limit of CPU time, in milliseconds, for a job with an estimate of `estimated_ms` and
/// an input of `input_bytes` bytes.
pub(crate) fn cpu_limit_ms(estimated_ms: u64, input_bytes: u64) -> u32 {
    let granted_ms = input_bytes / CPU_WORTH_BYTES;
    u32::try_from((estimated_ms * CPU_FACTOR).min(granted_ms) + CPU_FLOOR_MS).unwrap_or(u32::MAX)
}

/// Limits of a job that do not follow from its plans.
struct Bounds<'a> {
    wall_ms_max: u32,
    memory_bytes_max: u64,
    pace: Pace,
    cancel: Option<BorrowedFd<'a>>,
}

/// Runs several plans as one job, which also computes a placeholder if `batch` requests one.
fn run_batch(
    pool: &Pool,
    batch: &Batch,
    original: &File,
    bounds: &Bounds<'_>,
) -> Result<(Vec<Sealed>, Option<Placeholder>), Failure> {
    let plans = batch.plans();
    // If the size of the original is unknown, only the estimates of the plans limit the CPU time.
    let original_bytes = original.metadata().map_or(u64::MAX, |file| file.len());
    let cpu_ms_max = cpu_ms_max(plans, original_bytes);
    let (bytes, size_px) = match plans {
        [plan] if !batch.placeholder() => {
            let size = (plan.target.width_px, plan.target.height_px);
            // The size of a trimmed picture follows from its pixels.
            let size = plan.trim.is_none().then_some(size);
            (plan.to_bytes().to_vec(), size)
        }
        _ => (batch.to_bytes(), None),
    };
    let limits = sandbox_protocol::JobLimits {
        output_bytes_max: plans.iter().map(output_bytes_max).sum::<u64>() + batch.extra_bytes(),
        memory_bytes_max: bounds.memory_bytes_max,
        cpu_ms_max,
    };
    let job = sandbox::Task {
        original: original.as_fd(),
        plan: &bytes,
        size_px,
        limits,
        // A job on idle cores may wait long for an idle core. So its wall time is not limited in
        // proportion to its CPU time.
        wall_ms_max: match bounds.pace {
            Pace::Idle => bounds.wall_ms_max,
            Pace::Awaited => bounds
                .wall_ms_max
                .min(cpu_ms_max.saturating_mul(WALL_FACTOR)),
        },
        idle: bounds.pace == Pace::Idle,
    };
    let finished = match bounds.cancel {
        Some(cancel) => pool.run_unless(job, cancel)?,
        None => pool.run(job)?,
    };
    let is_single = !Batch::is_batch(&bytes);
    verified(batch, finished, is_single).ok_or_else(|| Failure {
        kind: FailureKind::ProtocolViolation,
        detail: "the worker's reply is not the requested picture".to_owned(),
    })
}

/// Splits the reply into the result of each plan and the placeholder. Returns `None` if the reply
/// does not match the batch.
fn verified(
    batch: &Batch,
    finished: sandbox::Finished,
    is_single: bool,
) -> Option<(Vec<Sealed>, Option<Placeholder>)> {
    let file = Arc::new(finished.body);
    let total = finished.output_bytes;
    let mut ranges = if is_single {
        std::iter::once(0..total).collect()
    } else {
        let mut lengths = vec![0; length_table_bytes(batch.outputs())];
        let at = total.checked_sub(lengths.len() as u64)?;
        file.read_exact_at(&mut lengths, at).ok()?;
        split_outputs(&lengths, total)?
    };
    let placeholder = match batch.placeholder() {
        true => {
            let range = ranges.pop()?;
            let mut bytes = [0; PLACEHOLDER_BYTES];
            let fits = range.end - range.start == PLACEHOLDER_BYTES as u64;
            file.read_exact_at(&mut bytes, range.start).ok()?;
            Some(Placeholder::from_bytes(&bytes).filter(|_| fits)?)
        }
        false => None,
    };
    let share_us = finished.cpu_us / batch.plans().len() as u64;
    let sealed = batch.plans().iter().zip(ranges).map(|(plan, range)| {
        let sealed = Sealed {
            file: Arc::clone(&file),
            start: range.start,
            bytes: range.end - range.start,
            cpu_us: share_us,
        };
        is_as_planned(&sealed, plan).then_some(sealed)
    });
    Some((sealed.collect::<Option<Vec<Sealed>>>()?, placeholder))
}

/// Returns whether `sealed` is a picture of the planned format and size, with at most the planned
/// number of frames. These properties are read from the encoded bytes, because the worker is not
/// trusted. A trimmed picture may be smaller than planned, and an animation may become a still
/// picture if all its frames look the same.
fn is_as_planned(sealed: &Sealed, plan: &Plan) -> bool {
    let facts = image_plan::probe(sealed, sealed.bytes);
    let format = plan.encoding.target().format();
    let frames_max = plan.frames_max.map_or(1, NonZeroU32::get);
    let (planned, is_trimmed) = (plan.target, plan.trim.is_some());
    let is_size = |size: Size| {
        let is_within = size.width_px <= planned.width_px && size.height_px <= planned.height_px;
        size == planned || (is_trimmed && is_within)
    };
    facts.is_ok_and(|facts| {
        facts.format == format
            && is_size(facts.stored)
            && facts.frames.counted() <= frames_max
            && (!facts.animated || plan.frames_max.is_some())
    })
}

/// Returns the maximum size of a result in bytes: uncompressed pixels, plus 1 MiB for headers and a
/// colour profile. For an animation, the maximum is at most [`ANIMATION_BYTES_MAX`].
fn output_bytes_max(plan: &Plan) -> u64 {
    const CONTAINER_BYTES: u64 = 1 << 20;
    let picture_bytes = plan.target.pixels() * 4 + CONTAINER_BYTES;
    match plan.frames_max {
        None => picture_bytes,
        Some(frames) => picture_bytes
            .saturating_mul(frames.get().into())
            .min(ANIMATION_BYTES_MAX),
    }
}
