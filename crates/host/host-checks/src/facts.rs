//! Facts of a host and of the server on it.

mod interface;
mod network;
mod process;
mod server;

use std::fmt;

use crate::{Cpus, Fact};

pub use interface::{Channels, Coalescing, Interface, Interrupt, Qdisc, Rings};
pub use network::{Network, Tap};
pub use process::{Bounds, Process, Quota, Thread, Throttling};
pub use server::{Connection, Listener, Metrics, Server, Steering};

/// Facts that the rows judge. Every fact is unknown in the default value.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Kernel, with its protections.
    pub kernel: Kernel,
    /// Processors.
    pub cpu: Processors,
    /// Memory.
    pub memory: Memory,
    /// Process of the server; without a server, the process that reads the facts.
    pub process: Process,
    /// Running server.
    pub server: Server,
    /// Network settings, counters and objects that belong to no interface.
    pub network: Network,
    /// Interfaces that are up, other than loopback.
    pub interfaces: Fact<Vec<Interface>>,
    /// Number of interfaces that are up and were not read, because there are too many.
    pub unread_interfaces: usize,
    /// Processor features for which the program was compiled, such as `avx2`.
    pub built_for: Fact<Vec<String>>,
}

/// Version of the kernel: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u32, pub u32);

impl Release {
    /// Parses a release such as `6.18.44-amd64`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Release> {
        let mut numbers = text.trim().split(|letter: char| !letter.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        Some(Release(major, numbers.next()?.parse().ok()?))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Facts of the kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Version.
    pub release: Fact<Release>,
    /// Arguments at boot.
    pub arguments: Fact<String>,
    /// State of each known vulnerability of the processors, as name and state.
    pub vulnerabilities: Fact<Vec<(String, String)>>,
    /// Hardware clock that the kernel reads for the time.
    pub clock_source: Fact<String>,
    /// State of the audit of system calls.
    pub audit: Fact<Audit>,
    /// True if `irqbalance` runs.
    pub has_irqbalance: Fact<bool>,
}

/// State of the audit of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    /// 0: off; 1: on; 2: on and locked until the next boot.
    pub enabled: u32,
    /// Number of rules.
    pub rules: usize,
    /// True if a rule `never,task` exempts the processes that start after it.
    pub exempts_processes: bool,
}

/// Facts of the processors.
#[derive(Clone, Debug, Default)]
pub struct Processors {
    /// Processors that are online.
    pub online: Fact<Cpus>,
    /// Groups of hardware threads that share a core.
    pub siblings: Fact<Vec<Cpus>>,
    /// Frequency governors in use, without repetitions.
    pub governors: Fact<Vec<String>>,
    /// Driver that sets the frequencies.
    pub frequency_driver: Fact<String>,
}

/// Facts of the memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Mode of transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Fact<String>,
    /// Processors of each memory node.
    pub nodes: Fact<Vec<Cpus>>,
}
