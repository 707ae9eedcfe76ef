//! What the kernel shows of a child, and of what it started, to everybody: `/proc`. Where that is not to be had, nothing is
//! known.

use rustix::process::Pid;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
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
    let mut nanos = 0;
    visit(pidfd, &mut |task| {
        let told = std::fs::read_to_string(task.join("schedstat"));
        let own = told
            .ok()
            .and_then(|told| told.split(' ').next()?.parse::<u64>().ok());
        nanos += own.unwrap_or(0);
    });
    Duration::from_nanos(nanos)
}

/// A launcher, its program, and nothing below that.
const DEPTH_MAX: u32 = 2;

/// Threads of a child, and of what it started.
pub(crate) fn threads(pidfd: &OwnedFd) -> Vec<Pid> {
    let mut threads = Vec::new();
    visit(pidfd, &mut |task| {
        let name = task.file_name();
        let id = name.and_then(|name| name.to_str()?.parse().ok());
        threads.extend(id.and_then(Pid::from_raw));
    });
    threads
}

/// Has every thread of a child, and of what it started, looked at: where it is in `/proc`.
fn visit(pidfd: &OwnedFd, look: &mut dyn FnMut(&Path)) {
    if let Some(id) = id(pidfd) {
        visit_tree(&id.as_raw_nonzero().to_string(), DEPTH_MAX, look);
    }
}

fn visit_tree(id: &str, depth: u32, look: &mut dyn FnMut(&Path)) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        return;
    };
    for task in tasks.flatten().map(|task| task.path()) {
        look(&task);
        if let Some(depth) = depth.checked_sub(1)
            && let Ok(children) = std::fs::read_to_string(task.join("children"))
        {
            for id in children.split_whitespace() {
                visit_tree(id, depth, look);
            }
        }
    }
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
