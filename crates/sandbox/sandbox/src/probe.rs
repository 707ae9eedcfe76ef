//! Test of this host's isolation: runs empty jobs, which must succeed, and a job that opens a file,
//! which must be killed.

use crate::contract::{PROBE_ANSWER, PROBE_FILTER};
use crate::error::{Error, ErrorKind, FailureKind};
use crate::limits::Limits;
use crate::pool::{Finished, Pool, Task};
use crate::posture::Posture;
use crate::service::thread_time;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use sandbox_protocol::JobLimits;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

const LARGE_BYTES: usize = 2 << 20;

/// Number of empty jobs to measure: enough for a 99th percentile. All these jobs together take
/// about 50 ms.
const JOBS: usize = 100;

/// Results of a test of the isolation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Isolation mechanisms in force.
    pub posture: Posture,
    /// Time from the start of the worker until it was ready for jobs.
    pub start: Duration,
    /// Median time of an empty job, from sending the job to receiving its output.
    pub job_p50: Duration,
    /// 99th percentile of the time of an empty job.
    pub job_p99: Duration,
    /// CPU time that the kernel needs to allocate 2 MiB of memory, fill it with zeros, and free it.
    pub memory: Duration,
    /// Average time of a wipe, which resets a microVM after its job. `None` if the cells are
    /// processes.
    pub wipe: Option<Duration>,
}

/// Starts the worker `elf`, checks that a job that opens a file is killed, and measures the time of
/// empty jobs.
///
/// # Errors
/// As [`Pool::start`]. [`ErrorKind::Worker`] if an empty job failed, or if the job that opens a
/// file was not killed.
pub fn probe(elf: &[u8], limits: Limits) -> Result<Probe, Error> {
    let begin = Instant::now();
    let pool = Pool::start(elf, limits)?;
    let start = begin.elapsed();
    let original = memfd_create("original", MemfdFlags::CLOEXEC)
        .map_err(|errno| Error::host("cannot create a memory file", errno))?;
    expect_kill(&pool, original.as_fd())?;
    let mut times = Vec::with_capacity(JOBS);
    for _ in 0..JOBS {
        let begin = Instant::now();
        pool.run(task(original.as_fd(), PROBE_ANSWER))
            .map_err(|failure| Error::failed("an empty job failed", &failure))?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let stats = pool.stats();
    let wipe = stats
        .wipe_us
        .checked_div(stats.wipes)
        .filter(|_| stats.wipe_us != 0);
    Ok(Probe {
        posture: pool.posture(),
        start,
        job_p50: times[JOBS / 2],
        job_p99: times[JOBS * 99 / 100],
        memory: fresh_page()?,
        wipe: wipe.map(Duration::from_micros),
    })
}

/// Returns the CPU time that the kernel needs to allocate one huge page, fill it with zeros, and
/// free it: the median of 101 tries.
fn fresh_page() -> Result<Duration, Error> {
    const TRIES: usize = 101;
    let times: Result<Vec<_>, _> = (0..TRIES).map(|_| fresh_memory(LARGE_BYTES)).collect();
    let mut times = times?;
    times.sort_unstable();
    Ok(times[TRIES / 2])
}

/// Allocates `bytes` bytes from the kernel, in huge pages if the kernel provides them, writes to
/// every page, and frees the memory. Returns the CPU time of these steps. The wipe of a cell whose
/// job used as much memory takes at least this time.
///
/// # Errors
/// If the host does not have that much memory.
pub fn fresh_memory(bytes: usize) -> Result<Duration, Error> {
    const SMALL_BYTES: usize = 4 << 10;
    let begin = thread_time();
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    let room = bytes + LARGE_BYTES;
    // SAFETY: the kernel chooses the addresses, so no existing mapping is replaced.
    let pages = unsafe { libc::mmap(std::ptr::null_mut(), room, protection, flags, -1, 0) };
    if pages == libc::MAP_FAILED {
        return Err(Error::host("cannot allocate memory", Errno::NOMEM));
    }
    let aligned = pages.map_addr(|address| address.next_multiple_of(LARGE_BYTES));
    // SAFETY: the range lies within the pages just mapped, since `room` includes the alignment;
    // `madvise` changes no content, and its failure does no harm.
    unsafe { libc::madvise(aligned, bytes, libc::MADV_HUGEPAGE) };
    // SAFETY: the range lies within the pages just mapped, to which no other code refers. The pages
    // are filled with zeros.
    let slice = unsafe { std::slice::from_raw_parts_mut(aligned.cast::<u8>(), bytes) };
    for page in slice.chunks_mut(SMALL_BYTES) {
        page[0] = std::hint::black_box(1);
    }
    // SAFETY: the range was mapped above, and nothing refers to it any more.
    unsafe { libc::munmap(pages, room) };
    Ok(thread_time() - begin)
}

/// Returns the shortest time that an empty job took in a few tries.
pub(crate) fn empty_job(pool: &Pool) -> Result<Duration, Error> {
    const TRIES: u32 = 5;
    let original = memfd_create("original", MemfdFlags::CLOEXEC)
        .map_err(|errno| Error::host("cannot create a memory file", errno))?;
    let mut best = Duration::MAX;
    for _ in 0..TRIES {
        let begin = Instant::now();
        pool.run(task(original.as_fd(), PROBE_ANSWER))
            .map_err(|failure| Error::failed("an empty job failed", &failure))?;
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

fn expect_kill(pool: &Pool, original: BorrowedFd<'_>) -> Result<(), Error> {
    const ACTION: &str = "test of the seccomp filter by a job that opens a file";
    let kills = pool.stats().kills_filter;
    match pool.run(task(original, PROBE_FILTER)) {
        Err(failure) if failure.kind == FailureKind::Crashed => {}
        Err(failure) => return Err(Error::failed(&format!("{ACTION} failed"), &failure)),
        Ok(Finished { .. }) => {
            return Err(Error::new(
                ErrorKind::Worker,
                format!("{ACTION}: the filter should have killed the job, but the job succeeded"),
            ));
        }
    }
    if pool.stats().kills_filter != kills + 1 {
        let action = format!("{ACTION}: the process died, but the seccomp filter did not kill it");
        return Err(Error::new(ErrorKind::Worker, action));
    }
    Ok(())
}

fn task<'a>(original: BorrowedFd<'a>, plan: &'a [u8]) -> Task<'a> {
    Task {
        original,
        plan,
        size_px: None,
        limits: JobLimits {
            output_bytes_max: 4_096,
            memory_bytes_max: 16 << 20,
            cpu_ms_max: 1_000,
        },
        wall_ms_max: 4_000,
        idle: false,
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.posture)?;
        writeln!(f, "denied syscall   kills the process")?;
        writeln!(f, "start            {} µs", self.start.as_micros())?;
        write!(
            f,
            "empty job        {} µs, 99 % within {} µs",
            self.job_p50.as_micros(),
            self.job_p99.as_micros()
        )?;
        write!(
            f,
            "\nnew memory       {} µs of CPU time for 2 MiB",
            self.memory.as_micros()
        )?;
        match self.wipe {
            Some(wipe) => write!(f, "\nwipe             {} µs", wipe.as_micros()),
            None => Ok(()),
        }
    }
}
