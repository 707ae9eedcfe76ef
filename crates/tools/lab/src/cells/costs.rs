//! Costs of an empty job in a cell, and costs of the wipe after a job that dirtied memory.

use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use kvm_ioctls::Kvm;
use sandbox::{Pool, Task};
use serde::Serialize;
use toolkit::stop::{Stop, at};

use super::contender::{LIMITS, Setting, Work};
use crate::stats::{quantile, sorted};

/// Costs of empty jobs, in microseconds.
#[derive(Debug, Serialize)]
pub(super) struct Cost {
    pub(super) contender: String,
    /// Time from the start of the pool until it accepts jobs.
    pub(super) start_us: f64,
    pub(super) empty_p50_us: f64,
    pub(super) empty_p99_us: f64,
    /// Median time from the output of a job until all cells are ready again.
    pub(super) ready_p50_us: f64,
    pub(super) ready_p99_us: f64,
}

/// Number of bytes that one job dirties, and the time to wipe them.
#[derive(Debug, Serialize)]
pub(super) struct Wipe {
    pub(super) contender: String,
    pub(super) side_px: u32,
    pub(super) dirty_bytes: u64,
    pub(super) wipe_us: f64,
}

/// Runs `jobs` empty jobs, one after the other.
pub(super) fn cost(
    setting: &Setting,
    elf: &[u8],
    original: &std::path::Path,
    jobs: u32,
) -> Result<Cost, Stop> {
    let begin = Instant::now();
    let pool = setting.start(elf, 1)?;
    let start_us = micros(begin.elapsed());
    let original = File::open(original).map_err(at(original))?;
    let (mut empty_us, mut ready_us) = (Vec::new(), Vec::new());
    for _ in 0..jobs {
        let begin = Instant::now();
        let finished = pool.run(Task {
            original: original.as_fd(),
            plan: &[],
            size_px: None,
            limits: LIMITS,
            wall_ms_max: 60_000,
            idle: false,
        });
        finished.map_err(|failure| Stop::findings(failure.to_string()))?;
        empty_us.push(micros(begin.elapsed()));
        let begin = Instant::now();
        settle(&pool);
        ready_us.push(micros(begin.elapsed()));
    }
    let (empty_us, ready_us) = (sorted(&empty_us), sorted(&ready_us));
    Ok(Cost {
        contender: setting.name.clone(),
        start_us,
        empty_p50_us: quantile(&empty_us, 0.5),
        empty_p99_us: quantile(&empty_us, 0.99),
        ready_p50_us: quantile(&ready_us, 0.5),
        ready_p99_us: quantile(&ready_us, 0.99),
    })
}

/// Runs `work` repeatedly in one microVM and returns the mean cost of a wipe.
pub(super) fn wipe(setting: &Setting, elf: &[u8], side_px: u32, work: &Work) -> Result<Wipe, Stop> {
    const JOBS: u64 = 20;
    let pool = setting.start(elf, 1)?;
    // Warm up: the first jobs touch pages that no job has touched before.
    for _ in 0..4 {
        work.in_cell(&pool)?;
        settle(&pool);
    }
    let before = pool.stats();
    for _ in 0..JOBS {
        work.in_cell(&pool)?;
        settle(&pool);
    }
    let after = pool.stats();
    Ok(Wipe {
        contender: setting.name.clone(),
        side_px,
        dirty_bytes: (after.dirty_bytes - before.dirty_bytes) / JOBS,
        wipe_us: (after.wipe_us - before.wipe_us) as f64 / JOBS as f64,
    })
}

/// Cost of zeroed memory for a job, for two ways to get such memory. It is measured on all cores at
/// once, while the cores' caches contain other data.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// Number of bytes that a job dirties.
    pub(super) job_bytes: u64,
    /// Time to request `job_bytes` of memory from the kernel and return it, in microseconds.
    pub(super) fresh_us: f64,
    /// Time to overwrite `job_bytes` of memory with zeros, in microseconds.
    pub(super) zeroed_us: f64,
}

/// Measures both ways to provide `job_bytes` of zeroed memory (fresh pages from the kernel, and
/// overwriting), on `cores` cores at once.
pub(super) fn memory(job_bytes: u64, cores: usize) -> Result<Memory, Stop> {
    const TRIES: usize = 100;
    /// Size, in bytes, of the data that displaces a job's data from the caches. It is larger than a
    /// core's second-level cache.
    const OTHER_BYTES: usize = 24 << 20;
    let bytes = job_bytes as usize;
    let measure = || -> Result<(Vec<f64>, Vec<f64>), Stop> {
        let (mut other, mut kept) = (vec![1_u8; OTHER_BYTES], vec![1_u8; bytes]);
        let (mut fresh_us, mut zeroed_us) = (Vec::new(), Vec::new());
        for _ in 0..TRIES {
            other.iter_mut().for_each(|byte| *byte ^= 1);
            let begin = Instant::now();
            sandbox::fresh_memory(bytes).map_err(|err| Stop::host(err.to_string()))?;
            fresh_us.push(micros(begin.elapsed()));
            black_box(&mut other).iter_mut().for_each(|byte| *byte ^= 1);
            let begin = Instant::now();
            black_box(&mut kept).fill(0);
            zeroed_us.push(micros(begin.elapsed()));
        }
        Ok((fresh_us, zeroed_us))
    };
    let measured = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(measure)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        let joined = joined.map(|measured| measured.expect("measurements do not panic"));
        joined.collect::<Result<Vec<_>, Stop>>()
    })?;
    let (fresh_us, zeroed_us): (Vec<_>, Vec<_>) = measured.into_iter().unzip();
    Ok(Memory {
        job_bytes,
        fresh_us: quantile(&sorted(&fresh_us.concat()), 0.5),
        zeroed_us: quantile(&sorted(&zeroed_us.concat()), 0.5),
    })
}

/// Creates `times` microVMs, each with one virtual CPU. Returns the time of each creation in
/// microseconds.
pub(super) fn creation(times: u32) -> Result<Vec<f64>, Stop> {
    let refused = |err: kvm_ioctls::Error| Stop::host(format!("cannot create a microVM: {err}"));
    let kvm = Kvm::new().map_err(refused)?;
    let mut times_us = Vec::new();
    for _ in 0..times {
        let begin = Instant::now();
        let vm = kvm.create_vm().map_err(refused)?;
        let vcpu = vm.create_vcpu(0).map_err(refused)?;
        times_us.push(micros(begin.elapsed()));
        drop((vcpu, vm));
    }
    Ok(times_us)
}

/// Waits until every cell is ready. Yields instead of sleeping, because callers measure the time
/// until this function returns.
fn settle(pool: &Pool) {
    let all = u64::from(pool.limits().concurrency + pool.limits().spare);
    while pool.stats().ready < all {
        thread::yield_now();
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
