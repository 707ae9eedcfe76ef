//! What a pool may use.

use crate::posture::{Backend, Isolation};

/// Bounds of a pool and of every job in it. The names are those of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Jobs that run at one time. Default 2, at most [`Limits::CONCURRENCY_MAX`].
    pub concurrency: u32,
    /// Children that stand ready beyond `concurrency`, so that a job finds one while another is wiped. Default 2.
    pub spare: u32,
    /// Longest wait of a job for a cell, in milliseconds; then [`FailureKind::Host`](crate::FailureKind). Default 1,000.
    pub max_queue_time_ms: u32,
    /// Forks after which a zygote is replaced by a new one, with a new layout and new canaries. Default 4,096.
    pub jobs_per_zygote: u32,
    /// Longest time from a zygote's start until it is ready, in milliseconds. Default 16,000.
    pub max_boot_time_ms: u32,
    /// Longest a job may run, in milliseconds of wall time; a task may ask for less. Default 8,000.
    pub max_request_time_ms: u32,
    /// CPU time after which a program's job gives way: it then gets little of a CPU that others want. Taken beyond what
    /// it took in as much wall time. In milliseconds, 0 for never. A worker's jobs do not. Default 100.
    pub give_way_time_ms: u32,
    /// Address space of the zygote, code and warm tables included, in bytes. Default 256 MiB.
    pub max_memory_bytes: u64,
    /// Address space a job may take beyond the zygote's, in bytes; a task may ask for less. Default 1 GiB.
    pub max_work_memory_bytes: u64,
    /// Largest answer, in bytes; a task may ask for less. Default 256 MiB.
    pub max_answer_bytes: u64,
    /// Longest pause before a zygote that died is started again, in milliseconds. The pause begins at 10 and doubles.
    /// Default 5,000.
    pub max_restart_pause_ms: u32,
    /// What is there before a job in transparent huge pages, where the host has them. Default true.
    pub hugepages: bool,
    /// In a microVM: what a job takes in transparent huge pages, where the host has them. Default true.
    pub request_hugepages: bool,
    /// Nothing of a job is left when the next begins. Default true.
    pub ephemeral: bool,
    /// What stands around a job. Default [`Backend::Process`].
    pub backend: Backend,
    /// Least isolation with which the pool starts. Default [`Isolation::Filter`].
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
            give_way_time_ms: 100,
            max_memory_bytes: 256 << 20,
            max_work_memory_bytes: 1 << 30,
            max_answer_bytes: 256 << 20,
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
    /// Most jobs at one time: each takes a process, and a zygote looks through its children one by one.
    pub const CONCURRENCY_MAX: u32 = 255;

    /// The field that makes no sense, if there is one.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let zero = [
            ("concurrency", u64::from(self.concurrency)),
            ("jobs_per_zygote", u64::from(self.jobs_per_zygote)),
            ("max_boot_time_ms", u64::from(self.max_boot_time_ms)),
            ("max_request_time_ms", u64::from(self.max_request_time_ms)),
            ("max_memory_bytes", self.max_memory_bytes),
            ("max_work_memory_bytes", self.max_work_memory_bytes),
            ("max_answer_bytes", self.max_answer_bytes),
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

    /// Children alive at one time, whatever they do.
    pub(crate) fn children(&self) -> usize {
        (self.concurrency + self.spare) as usize
    }
}
