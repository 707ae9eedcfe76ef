//! Facts of a process and its control group.

use crate::{Cpus, Fact};

/// Facts of a process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Processors that the process may use.
    pub allowed: Fact<Cpus>,
    /// Processors that the process's control group may use.
    pub cpuset: Fact<Cpus>,
    /// Processor time that the process's control group may use.
    pub quota: Fact<Quota>,
    /// Counts of the quota's periods.
    pub throttling: Fact<Throttling>,
    /// Threads.
    pub threads: Fact<Vec<Thread>>,
    /// Mode of seccomp: 0 none, 1 strict, 2 filters.
    pub seccomp: Fact<u32>,
    /// Number of seccomp filters.
    pub seccomp_filters: Fact<u32>,
    /// Limit on open descriptors.
    pub descriptors_max: Fact<Bounds>,
    /// Number of open descriptors.
    pub descriptors: Fact<u64>,
    /// Limit on locked memory, in bytes.
    pub locked_bytes_max: Fact<Bounds>,
}

/// Processor time per period that a control group may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Time per period; `None` without a limit.
    pub quota_us: Option<u64>,
    /// Length of a period.
    pub period_us: u64,
}

/// Counts of the periods of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling {
    /// Periods so far.
    pub periods: u64,
    /// Periods in which the control group had to wait.
    pub throttled: u64,
}

/// Thread of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Name.
    pub name: String,
    /// Processors that the thread may use.
    pub allowed: Cpus,
}

/// Soft and hard limit of a resource; `u64::MAX` stands for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Limit in force.
    pub soft: u64,
    /// Highest value to which the process may raise the soft limit.
    pub hard: u64,
}
