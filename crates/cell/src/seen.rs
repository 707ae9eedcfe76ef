//! What the kernel shows of a child, and of what it started, to everybody: `/proc`. Where that is not to be had, nothing is
//! known.

use rustix::process::Pid;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// A process's id, as this process counts, while it lives. Between this and its use it may end, and its number may be
/// another's only after all numbers there are; so it is for what does little harm to another.
pub(crate) fn id(pidfd: &OwnedFd) -> Option<Pid> {
    let about = format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd());
    let about = std::fs::read_to_string(about).ok()?;
    let number = about.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    // Of one that ended it is -1, of one elsewhere 0.
    Pid::from_raw(number.trim().parse().ok()?).filter(|pid| 0 < pid.as_raw_nonzero().get())
}

/// CPU time that a child, and what it started and still runs, have taken.
pub(crate) fn cpu(pidfd: &OwnedFd) -> Duration {
    let id = id(pidfd).map(|id| id.as_raw_nonzero().to_string());
    Duration::from_nanos(id.map_or(0, |id| tree_nanos(&id, DEPTH_MAX)))
}

/// A launcher, its program, and nothing below that.
const DEPTH_MAX: u32 = 2;

fn tree_nanos(id: &str, depth: u32) -> u64 {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        return 0;
    };
    let nanos = |task: std::fs::DirEntry| {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let own = read("schedstat");
        let own = own
            .split(' ')
            .next()
            .and_then(|own| own.parse::<u64>().ok());
        let below: u64 = match depth.checked_sub(1) {
            Some(depth) => {
                let children = read("children");
                let ids = children.split_whitespace();
                ids.map(|id| tree_nanos(id, depth)).sum()
            }
            None => 0,
        };
        own.unwrap_or(0) + below
    };
    tasks.flatten().map(nanos).sum()
}

/// The most memory that any one process had at a time which a child has started and which still runs; 0 for none.
pub(crate) fn memory_peak_bytes(pidfd: &OwnedFd) -> u64 {
    let children = || {
        let id = id(pidfd)?.as_raw_nonzero();
        std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()
    };
    let children = children().unwrap_or_default();
    let peaks = children.split_whitespace().filter_map(peak_bytes);
    peaks.max().unwrap_or(0)
}

fn peak_bytes(id: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = peak.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1_024)
}
