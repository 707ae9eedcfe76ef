//! CPU time and system calls of a first scan for each kind of file, compared with two other ways to
//! read the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use super::arm::{self, Arm, ResourceUse};
use super::tree;
use crate::stats::{Ratio, Spread, order};
use crate::usage::run as run_command;
use crate::{SharedFlags, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    /// Time limit for the rounds of one kind of file. A kind that exceeds the limit gets fewer
    /// rounds, but at least [`ROUNDS_MIN`].
    seconds_max: u64,
    /// Kinds of files, given by file name extension.
    kinds: Vec<String>,
}

/// Resources used by one run of one contender.
#[derive(Serialize)]
pub(super) struct Sample {
    kind: String,
    arm: Arm,
    round: usize,
    #[serde(flatten)]
    used: ResourceUse,
}

/// Number of times that one run makes each system call, minus those of a run on an empty folder.
/// System calls that occur less than once per hundred files are left out.
#[derive(Serialize)]
struct Calls {
    kind: String,
    arm: Arm,
    files: u64,
    calls: BTreeMap<String, u64>,
}

#[derive(Serialize)]
pub(super) struct Table {
    calls: Vec<Calls>,
    samples: Vec<Sample>,
}

/// Minimum number of rounds per kind of file, enough for a median.
const ROUNDS_MIN: usize = 3;

/// Name of the run over files of all kinds.
const MIXED: &str = "mixed";

pub(super) fn run(
    given: &SharedFlags,
    library: &Path,
    definition: &Definition,
) -> Result<Table, Stop> {
    let scratch = tree::beside(library, "reads")?;
    let index = scratch.join("index");
    let mut table = Table {
        calls: Vec::new(),
        samples: Vec::new(),
    };
    let kinds = definition.kinds.iter().map(String::as_str).chain([MIXED]);
    for kind in kinds {
        let root = scratch.join(kind);
        tree::link(library, (kind != MIXED).then_some(kind), &root)?;
        // Musium supports only FLAC.
        let arms: &[Arm] = match kind {
            "flac" => &[Arm::Ours, Arm::Lofty, Arm::Musium],
            _ => &[Arm::Ours, Arm::Lofty],
        };
        let empty = scratch.join("empty");
        fs::create_dir_all(&empty).map_err(at(&empty))?;
        for &arm in arms {
            // This run also warms the page cache.
            let used = arm::measure(arm, &root, &index)?;
            let mut calls = count(arm, &root, &index, &scratch.join("calls"))?;
            for (name, count) in count(arm, &empty, &index, &scratch.join("calls"))? {
                calls
                    .entry(name)
                    .and_modify(|calls| *calls = calls.saturating_sub(count));
            }
            calls.retain(|_, count| used.files / 100 < *count);
            table.calls.push(Calls {
                kind: kind.to_owned(),
                arm,
                files: used.files,
                calls,
            });
        }
        let started = Instant::now();
        for round in 0..given.rounds.unwrap_or(definition.rounds) {
            if ROUNDS_MIN <= round && definition.seconds_max <= started.elapsed().as_secs() {
                break;
            }
            eprintln!("lab: {kind}, round {}", round + 1);
            for at in order(arms.len(), round) {
                table.samples.push(Sample {
                    kind: kind.to_owned(),
                    arm: arms[at],
                    round,
                    used: arm::measure(arms[at], &root, &index)?,
                });
            }
        }
        print(&table, kind, arms);
    }
    Ok(table)
}

/// Counts how often each system call is made, using strace.
fn count(arm: Arm, root: &Path, index: &Path, out: &Path) -> Result<BTreeMap<String, u64>, Stop> {
    let traced = arm::command(arm, root, index)?;
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-c", "-U", "calls,name", "-o"])
        .arg(out);
    strace.arg(traced.get_program()).args(traced.get_args());
    run_command(&mut strace)?;
    let text = fs::read_to_string(out).map_err(at(out))?;
    let rows = text.lines().filter_map(|line| {
        let (calls, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), calls.parse().ok()?))
    });
    Ok(rows.filter(|(name, _)| name != "total").collect())
}

fn print(table: &Table, kind: &str, arms: &[Arm]) {
    let of = |arm: Arm, value: fn(&ResourceUse) -> f64| -> Vec<f64> {
        let mut own: Vec<&Sample> = table
            .samples
            .iter()
            .filter(|sample| sample.kind == kind && sample.arm == arm)
            .collect();
        own.sort_by_key(|sample| sample.round);
        own.iter().map(|sample| value(&sample.used)).collect()
    };
    let cpu = |used: &ResourceUse| used.cpu_us as f64 / used.files as f64;
    let rows = arms.iter().map(|&arm| {
        let Spread { median, min, max } = Spread::of(&of(arm, cpu));
        let bytes = Spread::of(&of(arm, |used| used.read_bytes as f64 / used.files as f64)).median;
        let wall = Spread::of(&of(arm, |used| used.wall_us as f64 / 1e3)).median;
        let ratio = Ratio::of(&of(arm, cpu), &of(Arm::Ours, cpu));
        let calls = table
            .calls
            .iter()
            .find(|calls| calls.kind == kind && calls.arm == arm);
        let calls = calls.map_or(0.0, |calls| {
            calls.calls.values().sum::<u64>() as f64 / calls.files as f64
        });
        vec![
            arm.name().to_owned(),
            format!("{median:.1}"),
            format!("{min:.1}…{max:.1}"),
            format!("{:.2}× ({:.2}…{:.2})", ratio.median, ratio.low, ratio.high),
            format!("{:.1}", bytes / 1024.0),
            format!("{calls:.1}"),
            format!("{wall:.0}"),
        ]
    });
    let head = [
        "contender",
        "CPU µs/file",
        "range",
        "of ours",
        "KiB/file",
        "calls/file",
        "wall ms",
    ];
    table::print(
        &format!("First scan, {kind}"),
        &head,
        &rows.collect::<Vec<_>>(),
    );
}
