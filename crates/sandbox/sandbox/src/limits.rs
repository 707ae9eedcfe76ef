use crate::posture::{Backend, Isolation};

/// Bounds of a pool and of every job in it. Most fields have the name of a setting in the
/// configuration, with the unit appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent jobs. Default 2, at most [`Limits::CONCURRENCY_MAX`].
    pub concurrency: u32,
    /// Number of children in addition to `concurrency`, so that a job finds a ready child while
    /// another child is being wiped. Default 2.
    pub spare: u32,
    /// Longest wait of a job for a cell, in milliseconds. A job that waits longer fails with
    /// [`FailureKind::Host`](crate::FailureKind). Default 1,000.
    pub max_queue_time_ms: u32,
    /// Number of forks after which a new zygote replaces the old one. A job of a reused child
    /// counts as a fork. The new zygote has a new memory layout and new stack canaries. Default
    /// 4,096.
    pub jobs_per_zygote: u32,
    /// Longest time from the start of a zygote until it is ready, in milliseconds. Default 16,000.
    pub max_boot_time_ms: u32,
    /// Maximum wall time of a job, in milliseconds; a task may set a lower limit. Default 8,000.
    pub max_request_time_ms: u32,
    /// CPU time, in milliseconds, after which a program's job is deprioritized. The job then gets
    /// only a small share of the CPU time if other processes need the CPU. CPU time that the job
    /// uses in its first `deprioritize_after_ms` of wall time does not count. 0 means never. Jobs
    /// of a worker are never deprioritized. Default 100.
    pub deprioritize_after_ms: u32,
    /// Maximum address space of the zygote, including its code and the tables filled at warm-up, in
    /// bytes. Default 256 MiB.
    pub max_memory_bytes: u64,
    /// Maximum address space of a job in addition to the zygote's, in bytes; a task may set a lower
    /// limit. Default 1 GiB.
    pub max_work_memory_bytes: u64,
    /// Maximum size of an output, in bytes; a task may set a lower limit. Default 256 MiB.
    pub max_output_bytes: u64,
    /// Longest pause before the restart of a zygote that died, in milliseconds. The first pause is
    /// 10 ms; each further pause is twice as long, up to this limit. Default 5,000.
    pub max_restart_pause_ms: u32,
    /// True if transparent huge pages are to back the memory that is allocated before the first
    /// job. Has no effect on a host without huge pages. Default true.
    pub hugepages: bool,
    /// True if transparent huge pages are to back the memory that a job allocates in a microVM. Has
    /// no effect on a host without huge pages. Default true.
    pub request_hugepages: bool,
    /// True if each cell is wiped after its job, so that the next job finds no data of the previous
    /// job. Default true.
    pub ephemeral: bool,
    /// Kind of sandbox that runs the jobs. Default [`Backend::Process`].
    pub backend: Backend,
    /// Minimum level of isolation: the pool does not start if the host provides less. Default
    /// [`Isolation::Filter`].
    pub min_isolation: Isolation,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            concurrency: 2,
            spare: 2,
            max_queue_time_ms: 1_000,
            jobs_per_zygote: 4_096,
            max_boot_time_ms: 16_000,
            max_request_time_ms: 8_000,
            deprioritize_after_ms: 100,
            max_memory_bytes: 256 << 20,
            max_work_memory_bytes: 1 << 30,
            max_output_bytes: 256 << 20,
            max_restart_pause_ms: 5_000,
            hugepages: true,
            request_hugepages: true,
            ephemeral: true,
            backend: Backend::Process,
            min_isolation: Isolation::Filter,
        }
    }
}

impl Limits {
    /// Maximum of `concurrency` and of `spare`. The maximum is low because each child is a process,
    /// and a zygote searches its children linearly.
    pub const CONCURRENCY_MAX: u32 = 255;

    /// Returns the name of the first field that is out of range, if any.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let zero = [
            ("concurrency", u64::from(self.concurrency)),
            ("jobs_per_zygote", u64::from(self.jobs_per_zygote)),
            ("max_boot_time_ms", u64::from(self.max_boot_time_ms)),
            ("max_request_time_ms", u64::from(self.max_request_time_ms)),
            ("max_memory_bytes", self.max_memory_bytes),
            ("max_work_memory_bytes", self.max_work_memory_bytes),
            ("max_output_bytes", self.max_output_bytes),
        ];
        if let Some((name, _)) = zero.iter().find(|(_, value)| *value == 0) {
            return Some(name);
        }
        if Limits::CONCURRENCY_MAX < self.concurrency {
            return Some("concurrency");
        }
        if Limits::CONCURRENCY_MAX < self.spare {
            return Some("spare");
        }
        None
    }

    /// Returns the number of children that the pool keeps alive: each of them runs a job, is ready
    /// for a job, or is being wiped.
    pub(crate) fn children(&self) -> usize {
        (self.concurrency + self.spare) as usize
    }
}
