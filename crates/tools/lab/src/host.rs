//! Facts that a reader needs to judge a record: properties of the machine, and versions of the
//! programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

/// Properties of the machine.
#[derive(Serialize)]
pub(crate) struct Host {
    cpu: String,
    cores: usize,
    memory_bytes: u64,
    kernel: String,
    congestion_control: String,
    /// Load averages over 1, 5 and 15 minutes, read before the benchmark starts. They reveal other
    /// work on the machine.
    load: String,
}

impl Host {
    pub(crate) fn read() -> Host {
        let first = |file: &str, label: &str| {
            let text = read(file);
            let line = text.lines().find_map(|line| line.strip_prefix(label));
            line.map_or_else(
                || "unknown".to_owned(),
                |line| line.trim_start_matches([' ', '\t', ':']).trim().to_owned(),
            )
        };
        let memory = first("/proc/meminfo", "MemTotal");
        let kib = memory.trim_end_matches(" kB").parse::<u64>();
        Host {
            cpu: first("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: kib.map_or(0, |kib| kib * 1024),
            kernel: read("/proc/sys/kernel/osrelease"),
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control"),
            load: read("/proc/loadavg")
                .split(' ')
                .take(3)
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Returns the version line of each program: the first line of its stdout and stderr that has a
/// version number, or else the first non-empty line, even if the program exits with an error. The
/// line is `absent` if the program cannot be run or
/// prints nothing.
pub(crate) fn versions(programs: &[&[&str]]) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for words in programs {
        versions.insert(words[0].to_owned(), version(words));
    }
    versions
}

/// Returns the version line of the program that the command `words` runs, as [`versions`] does.
pub(crate) fn version(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let line = output.ok().and_then(|output| {
        let output_text = [output.stdout, output.stderr].concat();
        let output_text = String::from_utf8_lossy(&output_text).into_owned();
        let lines = output_text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty()).peekable();
        // A banner may stand above the version, which is a number with a dot.
        let first = lines.peek().copied();
        let is_version = |line: &&str| {
            let mut dots = line.match_indices('.');
            dots.any(|(at, _)| line[..at].ends_with(|char: char| char.is_ascii_digit()))
        };
        lines.find(is_version).or(first).map(str::to_owned)
    });
    line.unwrap_or_else(|| "absent".to_owned())
}

/// Returns the commit of the checkout at `root`, followed by `-dirty` if it has uncommitted
/// changes.
pub(crate) fn commit(root: &Path) -> String {
    let git = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .current_dir(root)
        .output();
    git.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
