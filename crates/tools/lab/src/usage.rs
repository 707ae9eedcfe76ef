//! What processes take: CPU time and memory, of one command or of a server with all its children.

#[cfg(test)]
mod tests;

use std::fs;
use std::ops::AddAssign;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::Serialize;

use crate::stop::{Stop, at};

/// What one command took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Usage {
    /// User and system time of the command and of every descendant that it waited for.
    pub(crate) cpu_us: u64,
    pub(crate) wall_us: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.cpu_us += more.cpu_us;
        self.wall_us += more.wall_us;
    }
}

/// Runs a command to its end; its stdout is returned, its stderr shown only when it fails.
///
/// Only one command at a time: the kernel tells the children's time as one sum.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<(Vec<u8>, Usage), Stop> {
    let before = children_cpu_us();
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let wall_us = begun.elapsed().as_micros() as u64;
    let cpu_us = children_cpu_us() - before;
    let Output {
        status,
        stdout,
        stderr,
    } = output.map_err(|err| unstartable(command, &err))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let line = format!("{} failed: {status}: {}", words(command), said.trim_end());
        return Err(Stop::finding(line));
    }
    Ok((stdout, Usage { cpu_us, wall_us }))
}

pub(crate) fn unstartable(command: &Command, err: &std::io::Error) -> Stop {
    let program = command.get_program().to_string_lossy();
    Stop::host(format!("{program}: {err}")).hint("cargo xtask lab installs the peers first")
}

/// Program and arguments, as typed.
pub(crate) fn words(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

fn children_cpu_us() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("getrusage takes no pointer of ours");
    let total = usage.user_time() + usage.system_time();
    total.num_microseconds() as u64
}

/// A process and all its living descendants, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Tree {
    /// User and system time of all, and of their descendants that ended and were waited for.
    pub(crate) cpu_us: u64,
    /// Proportional set size: pages that several share count once in the sum.
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u32,
}

impl Tree {
    /// The time alone, which is cheap to read.
    ///
    /// # Errors
    /// When /proc cannot be read or the process is gone.
    pub(crate) fn cpu_us(root: u32) -> Result<u64, Stop> {
        let stats = descendants(root)?;
        Ok(stats.iter().map(|stat| stat.ticks).sum::<u64>() * tick_us())
    }

    /// Time and memory; the latter makes the kernel walk all page tables.
    ///
    /// # Errors
    /// When /proc cannot be read or the process is gone.
    pub(crate) fn look(root: u32) -> Result<Tree, Stop> {
        let mut tree = Tree::default();
        for stat in descendants(root)? {
            tree.cpu_us += stat.ticks * tick_us();
            tree.processes += 1;
            // One that ended meanwhile has no memory any more.
            if let Ok(rollup) = fs::read_to_string(format!("/proc/{}/smaps_rollup", stat.pid)) {
                tree.memory_bytes += pss_bytes(&rollup);
            }
        }
        Ok(tree)
    }
}

/// Microseconds in a tick of /proc/PID/stat: USER_HZ is 100 on every architecture that Debian has.
fn tick_us() -> u64 {
    10_000
}

/// The fields of /proc/PID/stat that tell who it is and what it took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stat {
    pid: u32,
    parent: u32,
    /// utime, stime, cutime and cstime together.
    ticks: u64,
}

fn descendants(root: u32) -> Result<Vec<Stat>, Stop> {
    let proc = Path::new("/proc");
    let mut all = Vec::new();
    for entry in fs::read_dir(proc).map_err(at(proc))? {
        let entry = entry.map_err(at(proc))?;
        // What is no number is no process; `self` and `thread-self` are one, but under another name.
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        // A process may end between the two looks.
        if is_process && let Ok(text) = fs::read_to_string(entry.path().join("stat")) {
            all.extend(stat(&text));
        }
    }
    let mut tree: Vec<Stat> = all
        .iter()
        .copied()
        .filter(|stat| stat.pid == root)
        .collect();
    if tree.is_empty() {
        return Err(Stop::finding(format!("process {root} is gone")));
    }
    let mut next = 0;
    while next < tree.len() {
        let parent = tree[next].pid;
        tree.extend(all.iter().filter(|stat| stat.parent == parent));
        next += 1;
    }
    Ok(tree)
}

/// Reads proc_pid_stat(5). The name in parentheses may hold anything, parentheses too.
fn stat(text: &str) -> Option<Stat> {
    let (pid, rest) = text.split_once(' ')?;
    let (_, rest) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first field after the name is the third of the manual.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        pid: pid.parse().ok()?,
        parent: u32::try_from(field(4)?).ok()?,
        ticks: field(14)? + field(15)? + field(16)? + field(17)?,
    })
}

/// Reads `Pss:` of proc_pid_smaps_rollup, which is in kB.
fn pss_bytes(rollup: &str) -> u64 {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    number.map_or(0, |kib| kib * 1024)
}
