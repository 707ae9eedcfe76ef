//! Descendant processes of the server: zygotes, and the cells they forked.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// Process ids by role.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workers {
    /// Processes that have children.
    pub(crate) zygotes: Vec<u32>,
    /// Processes without children.
    pub(crate) cells: Vec<u32>,
}

impl Workers {
    /// Returns the processes that currently descend from `server`.
    pub(crate) fn below(server: u32) -> Workers {
        let parents = parents();
        let mut workers = Workers::default();
        for pid in parents
            .keys()
            .filter(|pid| descends(**pid, server, &parents))
        {
            if parents.values().any(|parent| parent == pid) {
                workers.zygotes.push(*pid);
            } else {
                workers.cells.push(*pid);
            }
        }
        workers
    }
}

/// Returns the parent of every process that has not ended.
fn parents() -> HashMap<u32, u32> {
    let processes = fs::read_dir("/proc").expect("Linux lists its processes");
    let numbers = processes.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    let parents = numbers.filter_map(|pid| Some((pid, parent(pid)?)));
    parents.collect()
}

/// Returns the parent of a process, or `None` if the process is gone or a zombie.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the process may contain any character, so the fields start after the last
    // parenthesis.
    let (_, after_name) = stat.rsplit_once(") ")?;
    let (state, rest) = after_name.split_once(' ')?;
    let (parent, _) = rest.split_once(' ')?;
    parent.parse().ok().filter(|_| !["Z", "X"].contains(&state))
}

fn descends(pid: u32, from: u32, parents: &HashMap<u32, u32>) -> bool {
    let mut next = parents.get(&pid);
    while let Some(parent) = next {
        if *parent == from {
            return true;
        }
        next = parents.get(parent);
    }
    false
}

/// Returns whether the process has not ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    parent(pid).is_some()
}

/// Sends a signal to a process, which may have ended already.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Err(err) = kill_process(number(pid), signal) {
        assert!(!is_alive(pid), "{err}");
    }
}

/// Stops a child by `SIGSTOP`, and returns when all of its threads have stopped.
pub(crate) fn halt(child: u32) {
    signal(child, Signal::STOP);
    let halted = waitpid(Some(number(child)), WaitOptions::UNTRACED);
    let (_, status) = halted.expect("a child").expect("it was waited for");
    assert!(status.stopped(), "{status:?}");
}

fn number(pid: u32) -> Pid {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    number.expect("Linux counts processes from 1")
}
