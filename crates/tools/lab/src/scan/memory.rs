//! Size of an index on disk and in memory.

use std::fs;
use std::path::Path;

use serde::Serialize;
use toolkit::stop::{Stop, at};

use super::arm::{self, Arm};
use super::tree;
use crate::table;

#[derive(Serialize)]
pub(super) struct Memory {
    tracks: u32,
    index_bytes: u64,
    /// Growth of the process's resident set when the index is loaded.
    resident_bytes: u64,
}

pub(super) fn run(library: &Path) -> Result<Memory, Stop> {
    let scratch = tree::beside(library, "memory")?;
    let index = scratch.join("index");
    arm::measure(Arm::Ours, library, &index)?;
    let before = resident_bytes()?;
    let loaded = scan::load(&index).map_err(|err| Stop::host(err.to_string()))?;
    let loaded = loaded.ok_or_else(|| Stop::findings("no index was written"))?;
    let catalog = loaded.catalog();
    let memory = Memory {
        tracks: catalog.counts().tracks,
        index_bytes: catalog.bytes().len() as u64,
        resident_bytes: resident_bytes()?.saturating_sub(before),
    };
    let row = |name: &str, bytes: u64| {
        let each = bytes as f64 / f64::from(memory.tracks);
        vec![
            name.to_owned(),
            format!("{}", bytes >> 10),
            format!("{each:.0}"),
        ]
    };
    let rows = [
        row("on disk", memory.index_bytes),
        row("resident", memory.resident_bytes),
    ];
    table::print(
        &format!("Index of {} tracks", memory.tracks),
        &["", "KiB", "bytes/track"],
        &rows,
    );
    Ok(memory)
}

/// Returns the resident set of this process: `VmRSS` of proc_pid_status(5).
fn resident_bytes() -> Result<u64, Stop> {
    let path = Path::new("/proc/self/status");
    let text = fs::read_to_string(path).map_err(at(path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    number
        .map(|kib| kib * 1024)
        .ok_or_else(|| Stop::host("/proc/self/status: no VmRSS"))
}
