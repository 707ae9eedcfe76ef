//! Resource usage of processes: CPU time and memory of one command, or of a server with all its
//! children.

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
use toolkit::stop::{Stop, at};

/// CPU time and wall time used by one command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Usage {
    /// User and system time of the command and of all descendants that were waited for.
    pub(crate) cpu_us: u64,
    pub(crate) wall_us: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.cpu_us += more.cpu_us;
        self.wall_us += more.wall_us;
    }
}

/// Runs a command until it exits, and returns its stdout and its resource usage. If the command
/// fails, the error contains its stderr.
///
/// Only one command may run at a time, because the kernel reports the CPU time of all children as
/// one sum.
///
/// # Errors
/// Returns an error if the command cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<(Vec<u8>, Usage), Stop> {
    let before = children_cpu_us();
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let wall_us = started.elapsed().as_micros() as u64;
    let cpu_us = children_cpu_us() - before;
    let Output {
        status,
        stdout,
        stderr,
    } = output.map_err(|err| unstartable(command, &err))?;
    if !status.success() {
        let stderr_text = String::from_utf8_lossy(&stderr);
        let line = format!(
            "{} failed: {status}: {}",
            words(command),
            stderr_text.trim_end()
        );
        return Err(Stop::findings(line));
    }
    Ok((stdout, Usage { cpu_us, wall_us }))
}

pub(crate) fn unstartable(command: &Command, err: &std::io::Error) -> Stop {
    let program = command.get_program().to_string_lossy();
    Stop::host(format!("{program}: {err}"))
        .hint("run cargo xtask lab, which installs the programs for comparison")
}

/// Returns the program and its arguments as one line, for messages.
pub(crate) fn words(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

fn children_cpu_us() -> u64 {
    let usage =
        getrusage(UsageWho::RUSAGE_CHILDREN).expect("getrusage of the own children cannot fail");
    let total = usage.user_time() + usage.system_time();
    total.num_microseconds() as u64
}

/// Resource usage of a process and all its running descendants at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Tree {
    /// User and system time of the process and its running descendants, and of their exited
    /// descendants that were waited for.
    pub(crate) cpu_us: u64,
    /// Sum of the proportional set sizes: a page that several processes of the tree share counts
    /// once.
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u32,
}

impl Tree {
    /// Reads only the CPU time of the process `root` and its descendants. This is cheaper than
    /// [`Tree::read`], which also reads the memory use.
    ///
    /// # Errors
    /// Returns an error if /proc cannot be read or the process has exited.
    pub(crate) fn cpu_us(root: u32) -> Result<u64, Stop> {
        let stats = descendants(root)?;
        Ok(stats.iter().map(|stat| stat.ticks).sum::<u64>() * tick_us())
    }

    /// Reads the CPU time and the memory use of the process `root` and its descendants. This is
    /// slow, because the kernel walks all page tables to compute the memory use.
    ///
    /// # Errors
    /// Returns an error if /proc cannot be read or the process has exited.
    pub(crate) fn read(root: u32) -> Result<Tree, Stop> {
        let mut tree = Tree::default();
        for stat in descendants(root)? {
            tree.cpu_us += stat.ticks * tick_us();
            tree.processes += 1;
            // A process that has exited in the meantime has no memory to count.
            if let Ok(rollup) = fs::read_to_string(format!("/proc/{}/smaps_rollup", stat.pid)) {
                tree.memory_bytes += pss_bytes(&rollup);
            }
        }
        Ok(tree)
    }
}

/// Returns the duration in microseconds of a tick, the unit of time in /proc/PID/stat. USER_HZ is
/// 100 on all architectures of Debian.
fn tick_us() -> u64 {
    10_000
}

/// Fields of /proc/PID/stat that identify a process and give its CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stat {
    pid: u32,
    parent: u32,
    /// Sum of utime, stime, cutime and cstime.
    ticks: u64,
}

fn descendants(root: u32) -> Result<Vec<Stat>, Stop> {
    let proc = Path::new("/proc");
    let mut all = Vec::new();
    for entry in fs::read_dir(proc).map_err(at(proc))? {
        let entry = entry.map_err(at(proc))?;
        // Only numeric names are processes. `self` and `thread-self` are links to processes listed
        // by number.
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        // A process may end after it was listed and before its stat file is read.
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
        return Err(Stop::findings(format!("process {root} has ended")));
    }
    let mut next = 0;
    while next < tree.len() {
        let parent = tree[next].pid;
        tree.extend(all.iter().filter(|stat| stat.parent == parent));
        next += 1;
    }
    Ok(tree)
}

/// Parses the contents of /proc/PID/stat (proc_pid_stat(5)). The name in parentheses may contain
/// any bytes, parentheses included.
fn stat(text: &str) -> Option<Stat> {
    let (pid, rest) = text.split_once(' ')?;
    let (_, rest) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The manual numbers the fields from 1; the first field after the name is field 3.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        pid: pid.parse().ok()?,
        parent: u32::try_from(field(4)?).ok()?,
        ticks: field(14)? + field(15)? + field(16)? + field(17)?,
    })
}

/// Returns the proportional set size in bytes: the number in the `Pss:` line of
/// /proc/PID/smaps_rollup, whose unit is kB.
fn pss_bytes(rollup: &str) -> u64 {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    number.map_or(0, |kib| kib * 1024)
}
