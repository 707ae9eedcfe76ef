use std::sync::atomic::{AtomicU64, Ordering};

/// Statistics of a pool since its start. All counters only increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs that were sent to a child.
    pub runs: u64,
    /// Jobs that ended with an output.
    pub finished: u64,
    /// Number of wipes: ended children that were reaped, and microVMs whose snapshot was restored.
    pub wipes: u64,
    /// Total time of microVM wipes, in microseconds. A wipe runs after the output was sent.
    pub wipe_us: u64,
    /// Wipes after which a microVM still contained a test value; such a microVM is not used again.
    /// Any value other than 0 shows a bug in this crate or in the kernel.
    pub wipe_leaks: u64,
    /// Total size in bytes of the pages that jobs in microVMs wrote to and that wipes freed.
    pub dirty_bytes: u64,
    /// System calls that jobs in microVMs made and that the microVM does not implement.
    pub refused_calls: u64,
    /// Children killed because they exceeded their wall time.
    pub kills_wall: u64,
    /// Children that exceeded their CPU limit.
    pub kills_cpu: u64,
    /// Children that exceeded their memory or file size limit.
    pub kills_memory: u64,
    /// Children that the kernel killed for a denied system call.
    pub kills_filter: u64,
    /// Children killed because the caller cancelled the job.
    pub cancelled: u64,
    /// Children that died before their reply, but not because of a limit, a denied system call or a
    /// cancellation.
    pub crashes: u64,
    /// Protocol violations: replies that contradict their job.
    pub violations: u64,
    /// Jobs that found no free cell in time.
    pub queue_timeouts: u64,
    /// Zygotes that were replaced because they had made their maximum number of forks.
    pub zygote_renewals: u64,
    /// Zygotes that died or did not become ready.
    pub zygote_deaths: u64,
    /// Children ready for a job at this moment.
    pub ready: u64,
    /// Jobs running at this moment.
    pub running: u64,
    /// Total time that jobs waited for a child, in microseconds.
    pub acquire_us: u64,
    /// Total CPU time of children, in microseconds.
    pub cpu_us: u64,
    /// Total time from sending each job until its reply or its end, in microseconds.
    pub wall_us: u64,
    /// Largest peak memory of one job, in bytes, as its cell reports it. For persistent programs in
    /// processes: largest peak memory of a program since its start, as the kernel reports it.
    pub memory_peak_bytes: u64,
    /// Total size of the outputs of all jobs, in bytes.
    pub output_bytes: u64,
}

impl Stats {
    /// Returns the combined statistics of a pool that has ended (`self`) and of its successor
    /// (`next`). Adds the counters, and takes the larger memory peak. The values that describe the
    /// current moment come from `next`.
    #[must_use]
    pub fn followed_by(self, next: Stats) -> Stats {
        Stats {
            runs: self.runs + next.runs,
            finished: self.finished + next.finished,
            wipes: self.wipes + next.wipes,
            wipe_us: self.wipe_us + next.wipe_us,
            wipe_leaks: self.wipe_leaks + next.wipe_leaks,
            dirty_bytes: self.dirty_bytes + next.dirty_bytes,
            refused_calls: self.refused_calls + next.refused_calls,
            kills_wall: self.kills_wall + next.kills_wall,
            kills_cpu: self.kills_cpu + next.kills_cpu,
            kills_memory: self.kills_memory + next.kills_memory,
            kills_filter: self.kills_filter + next.kills_filter,
            cancelled: self.cancelled + next.cancelled,
            crashes: self.crashes + next.crashes,
            violations: self.violations + next.violations,
            queue_timeouts: self.queue_timeouts + next.queue_timeouts,
            zygote_renewals: self.zygote_renewals + next.zygote_renewals,
            zygote_deaths: self.zygote_deaths + next.zygote_deaths,
            ready: next.ready,
            running: next.running,
            acquire_us: self.acquire_us + next.acquire_us,
            cpu_us: self.cpu_us + next.cpu_us,
            wall_us: self.wall_us + next.wall_us,
            memory_peak_bytes: self.memory_peak_bytes.max(next.memory_peak_bytes),
            output_bytes: self.output_bytes + next.output_bytes,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) runs: Counter,
    pub(crate) finished: Counter,
    pub(crate) wipes: Counter,
    pub(crate) wipe_us: Counter,
    pub(crate) wipe_leaks: Counter,
    pub(crate) dirty_bytes: Counter,
    pub(crate) refused_calls: Counter,
    pub(crate) kills_wall: Counter,
    pub(crate) kills_cpu: Counter,
    pub(crate) kills_memory: Counter,
    pub(crate) kills_filter: Counter,
    pub(crate) cancelled: Counter,
    pub(crate) crashes: Counter,
    pub(crate) violations: Counter,
    pub(crate) queue_timeouts: Counter,
    pub(crate) zygote_renewals: Counter,
    pub(crate) zygote_deaths: Counter,
    pub(crate) acquire_us: Counter,
    pub(crate) cpu_us: Counter,
    pub(crate) wall_us: Counter,
    pub(crate) memory_peak_bytes: Counter,
    pub(crate) output_bytes: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Sets the counter to `amount` if `amount` is greater than the counter.
    pub(crate) fn reach(&self, amount: u64) {
        self.0.fetch_max(amount, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(crate) fn read(&self, ready: u64, running: u64) -> Stats {
        Stats {
            runs: self.runs.read(),
            finished: self.finished.read(),
            wipes: self.wipes.read(),
            wipe_us: self.wipe_us.read(),
            wipe_leaks: self.wipe_leaks.read(),
            dirty_bytes: self.dirty_bytes.read(),
            refused_calls: self.refused_calls.read(),
            kills_wall: self.kills_wall.read(),
            kills_cpu: self.kills_cpu.read(),
            kills_memory: self.kills_memory.read(),
            kills_filter: self.kills_filter.read(),
            cancelled: self.cancelled.read(),
            crashes: self.crashes.read(),
            violations: self.violations.read(),
            queue_timeouts: self.queue_timeouts.read(),
            zygote_renewals: self.zygote_renewals.read(),
            zygote_deaths: self.zygote_deaths.read(),
            ready,
            running,
            acquire_us: self.acquire_us.read(),
            cpu_us: self.cpu_us.read(),
            wall_us: self.wall_us.read(),
            memory_peak_bytes: self.memory_peak_bytes.read(),
            output_bytes: self.output_bytes.read(),
        }
    }
}
