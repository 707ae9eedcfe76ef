//! Facts about this process and its host.

use std::fs;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

/// Resources that this process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    /// Resident memory in bytes; 0 if the host does not report it.
    pub(crate) resident_bytes: u64,
    /// CPU time of all threads since the start, in milliseconds.
    pub(crate) cpu_ms: u64,
}

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) total_bytes: u64,
    /// Bytes that the server may still write.
    pub(crate) free_bytes: u64,
}

impl Process {
    /// Reads the resources that this process uses.
    pub(crate) fn read() -> Process {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Process {
            resident_bytes: resident_bytes().unwrap_or(0),
            cpu_ms: cpu.tv_sec as u64 * 1_000 + cpu.tv_nsec as u64 / 1_000_000,
        }
    }
}

fn resident_bytes() -> Option<u64> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

impl Disk {
    /// Returns the size and free space of the file system that contains `path`, or `None` if the
    /// host does not report them. May block.
    pub(crate) fn of(path: &Path) -> Option<Disk> {
        let found = rustix::fs::statvfs(path).ok()?;
        Some(Disk {
            total_bytes: found.f_blocks * found.f_frsize,
            free_bytes: found.f_bavail * found.f_frsize,
        })
    }
}

/// Returns the memory that this process may use, in bytes. This is the memory of the host or the
/// limit of the control group, whichever is lower.
pub(crate) fn memory_bytes() -> u64 {
    let host = rustix::system::sysinfo();
    let host = host.totalram as u64 * u64::from(host.mem_unit);
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    group.map_or(host, |group: u64| group.min(host))
}

/// Returns the release of the kernel.
pub(crate) fn kernel() -> String {
    let uname = rustix::system::uname();
    uname.release().to_string_lossy().into_owned()
}
