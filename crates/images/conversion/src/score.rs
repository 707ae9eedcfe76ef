//! Quality of a variant: its SSIMULACRA2 score, computed in a cell (a sandboxed process) from the
//! original and the variant.
//!
//! ```text
//! original ─┬─► memory file ─► cell ─► score, f64
//! variant ──┘
//! ```

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering;

use image_plan::{Comparison, Plan, SCORE_BYTES};
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox::{Failure, FailureKind, Pool};
use sandbox_protocol::JobLimits;
use variants::cache::Verdict;
use variants::library::{Identity, LibraryPath, Missing};

use crate::convert::{Converter, WALL_FACTOR, cpu_limit_ms, memory_limit_bytes};

/// Variant whose score is requested.
#[derive(Clone, Copy, Debug)]
pub struct ScoredVariant<'a> {
    /// Path of the original.
    pub path: &'a LibraryPath,
    /// Version of the original from which the variant was made.
    pub identity: Identity,
    /// Plan by which the variant was converted from the original.
    pub plan: Plan,
    /// File of the variant.
    pub variant: &'a [u8],
}

/// Reason why a variant has no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoScore {
    /// The original has changed or is gone.
    Changed,
    /// Other jobs needed the memory for too long.
    Late,
    /// The job failed because of the original or the worker, or was not started because an earlier
    /// job for the original had failed.
    Failed(Verdict),
    /// The host refused memory, processes or descriptors.
    Host,
}

impl ScoredVariant<'_> {
    fn comparison(&self) -> Comparison {
        Comparison {
            plan: self.plan,
            original_bytes: self.identity.size_bytes,
        }
    }

    /// Returns the estimated memory of the job and its input, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let input_bytes = self.identity.size_bytes + self.variant.len() as u64;
        let memory_bytes = self.comparison().cost().memory_bytes;
        memory_bytes.saturating_add(input_bytes)
    }
}

impl Converter {
    /// Computes the score of a variant. The caller must have reserved
    /// [`ScoredVariant::memory_bytes`] of memory.
    pub(crate) fn score(&self, scored: &ScoredVariant<'_>) -> Result<f64, NoScore> {
        let path = scored.path.as_path().display();
        let original = match self.library.open_original(scored.path) {
            Ok((file, identity)) if identity == scored.identity => file,
            Ok(_) | Err(Missing::NotFound | Missing::WouldSleep) => return Err(NoScore::Changed),
            Err(Missing::Host(err)) => {
                tracing::error!(%path, %err, "original cannot be opened");
                return Err(NoScore::Host);
            }
        };
        if self.is_quarantined(&original, &scored.identity, false) {
            return Err(NoScore::Failed(Verdict::Quarantined));
        }
        let input = joined(&original, scored.identity.size_bytes, scored.variant);
        let input = input.map_err(|err| {
            tracing::error!(%path, %err, "original and variant cannot be copied to memory");
            NoScore::Host
        })?;
        let failure =
            match run_comparison(&self.pool, self.wall_ms_max, &scored.comparison(), &input) {
                Ok((score, cpu_us)) => {
                    self.metrics.scores.fetch_add(1, Ordering::Relaxed);
                    let score_cpu_us = &self.metrics.score_cpu_us;
                    score_cpu_us.fetch_add(cpu_us, Ordering::Relaxed);
                    return Ok(score);
                }
                Err(failure) => failure,
            };
        // A crash does not count against the original, which was already decoded without a crash
        // when the variant was made. The decoding of the variant or the computation of the score
        // may be at fault.
        Err(match self.verdict(scored.path, &failure) {
            Some(verdict) => NoScore::Failed(verdict),
            None => NoScore::Host,
        })
    }
}

/// Computes the score of `variant`, which was converted from `original` as `plan` describes, in a
/// cell of `pool`. The job may take `wall_ms_max` milliseconds.
///
/// # Errors
/// When the job fails, or when the two files cannot be copied to memory.
pub fn score(
    pool: &Pool,
    plan: &Plan,
    original: &File,
    variant: &[u8],
    wall_ms_max: u32,
) -> Result<f64, Failure> {
    let host = |err: io::Error| Failure {
        kind: FailureKind::Host,
        detail: format!("original and variant cannot be copied to memory: {err}"),
    };
    let original_bytes = original.metadata().map_err(host)?.len();
    let comparison = Comparison {
        plan: *plan,
        original_bytes,
    };
    let input = joined(original, original_bytes, variant).map_err(host)?;
    run_comparison(pool, wall_ms_max, &comparison, &input).map(|(score, _)| score)
}

/// Runs a comparison in a cell. Returns the score and the CPU time of the job in microseconds.
fn run_comparison(
    pool: &Pool,
    wall_ms_max: u32,
    comparison: &Comparison,
    input: &File,
) -> Result<(f64, u64), Failure> {
    let cost = comparison.cost();
    let input_bytes = input.metadata().map_or(u64::MAX, |file| file.len());
    let cpu_ms_max = cpu_limit_ms(cost.cpu_ms, input_bytes);
    let finished = pool.run(sandbox::Task {
        original: input.as_fd(),
        plan: &comparison.to_bytes(),
        size_px: None,
        limits: JobLimits {
            output_bytes_max: SCORE_BYTES as u64,
            memory_bytes_max: memory_limit_bytes(cost.memory_bytes.saturating_add(input_bytes)),
            cpu_ms_max,
        },
        wall_ms_max: wall_ms_max.min(cpu_ms_max.saturating_mul(WALL_FACTOR)),
        idle: false,
    })?;
    let mut bytes = [0; SCORE_BYTES];
    let is_whole = finished.output_bytes == SCORE_BYTES as u64
        && finished.body.read_exact_at(&mut bytes, 0).is_ok();
    let score = f64::from_le_bytes(bytes);
    // SSIMULACRA2 scores have no lower bound; the highest score is 100.
    if !is_whole || !score.is_finite() || 100.0 < score {
        return Err(Failure {
            kind: FailureKind::ProtocolViolation,
            detail: "the worker's reply is not a valid score".to_owned(),
        });
    }
    let memory_peak_bytes = finished.memory_peak_bytes;
    tracing::debug!(
        score,
        memory_peak_bytes,
        "variant compared with its original"
    );
    Ok((score, finished.cpu_us))
}

/// Returns a memory file with the original, which has `original_bytes` bytes, followed by the
/// variant.
fn joined(original: &File, original_bytes: u64, variant: &[u8]) -> io::Result<File> {
    let mut joined = File::from(memfd_create("comparison", MemfdFlags::CLOEXEC)?);
    let mut from = original;
    let copied = io::copy(&mut io::Read::take(&mut from, original_bytes), &mut joined)?;
    if copied != original_bytes {
        return Err(io::Error::other(
            "the original was truncated while it was copied",
        ));
    }
    joined.write_all(variant)?;
    Ok(joined)
}
