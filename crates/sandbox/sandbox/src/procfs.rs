//! Information about a child and its descendants from `/proc`. If `/proc` is not available, each
//! value is absent or zero.

use rustix::process::Pid;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// Returns the id of the process that `pidfd` refers to, if the process is alive and in this
/// process's PID namespace. The process may end before the caller uses the id, and the kernel may
/// then give the id to another process. Use the id only for actions that would do little harm to
/// another process.
pub(crate) fn id(pidfd: &OwnedFd) -> Option<Pid> {
    let about = format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd());
    let about = std::fs::read_to_string(about).ok()?;
    let number = about.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    // The id is -1 for a process that ended, and 0 for one in another PID namespace.
    Pid::from_raw(number.trim().parse().ok()?).filter(|pid| 0 < pid.as_raw_nonzero().get())
}

/// Returns the sum of the CPU times of a child and of its descendants that still run.
pub(crate) fn cpu(pidfd: &OwnedFd) -> Duration {
    let mut nanos = 0;
    visit(pidfd, &mut |task| {
        let text = std::fs::read_to_string(task.join("schedstat"));
        let own = text
            .ok()
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        nanos += own.unwrap_or(0);
    });
    Duration::from_nanos(nanos)
}

/// Maximum depth of descendants to visit: the program that a launcher started, and the children of
/// that program.
const DEPTH_MAX: u32 = 2;

/// Returns the threads of a child and of its descendants.
pub(crate) fn threads(pidfd: &OwnedFd) -> Vec<Pid> {
    let mut threads = Vec::new();
    visit(pidfd, &mut |task| {
        let name = task.file_name();
        let id = name.and_then(|name| name.to_str()?.parse().ok());
        threads.extend(id.and_then(Pid::from_raw));
    });
    threads
}

/// Calls `on_thread` with the `/proc` folder of each thread of a child and of its descendants.
fn visit(pidfd: &OwnedFd, on_thread: &mut dyn FnMut(&Path)) {
    if let Some(id) = id(pidfd) {
        visit_tree(&id.as_raw_nonzero().to_string(), DEPTH_MAX, on_thread);
    }
}

fn visit_tree(id: &str, depth: u32, on_thread: &mut dyn FnMut(&Path)) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        return;
    };
    for task in tasks.flatten().map(|task| task.path()) {
        on_thread(&task);
        if let Some(depth) = depth.checked_sub(1)
            && let Ok(children) = std::fs::read_to_string(task.join("children"))
        {
            for id in children.split_whitespace() {
                visit_tree(id, depth, on_thread);
            }
        }
    }
}

/// Returns the peak resident memory, in bytes, of the processes that a child started and that still
/// run. If there are several, returns the largest peak; if there is none, returns 0.
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
