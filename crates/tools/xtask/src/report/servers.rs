//! Plots of sandboxes, of the store and of the library: `lab cells`, `lab store` and `lab scan`.

use toml::Value;

use super::plot::{Better, Interval, Plot};
use super::web::{per_request, ratio, spread};
use crate::numbers::short;
use crate::record::{Records, is, list, member, number, numbers, text};

/// Returns the plot of conversions in cells, and that of calls from programs in cells.
pub(super) fn cells(records: &Records) -> Vec<Plot> {
    let summaries = records.newest("cells", "summaries");
    let mut jobs = Plot::new(
        "AVIF of a JPEG of 500 × 750",
        "pictures per second on all cores",
        Better::More,
        summaries.record,
    );
    for row in list(summaries.value) {
        let name = text(row, "contender");
        let rate = spread(member(row, "per_second"), 1.0);
        jobs = match name {
            name if name.starts_with("plain") && !name.ends_with(" again") => jobs.bar(name, rate),
            _ => jobs.compared(name, rate, Some(ratio(member(row, "ratio")))),
        };
    }
    let calls = records.newest("cells", "calls");
    let title = "calls from a program to its store, alone (×1) and in batches";
    let mut plot = Plot::new(title, "calls per second", Better::More, calls.record);
    for row in list(calls.value) {
        let name = format!("{}, ×{}", text(row, "backend"), number(row, "batch"));
        plot = plot.bar(&name, spread(member(row, "per_second"), 1.0));
    }
    vec![jobs, plot]
}

/// Returns the plots of the store's commands: CPU time per command.
pub(super) fn commands(records: &Records) -> Vec<Plot> {
    let rows = records.rows("store", "ops", "row");
    let plots = rows.iter().map(|row| {
        let title = text(row.value, "row");
        let plot = Plot::new(title, "µs of CPU per command", Better::Less, row.record);
        per_request(plot, row.value, |name| {
            row.value.get(format!("ours_over_{name}")).map(ratio)
        })
    });
    plots.collect()
}

/// Returns the plots of memory, latency, snapshots and expiry of the store.
pub(super) fn store(records: &Records) -> Vec<Plot> {
    let any = |_: &Value| true;
    let beside = |row: &Value| is(row, "large", true);
    vec![
        by_contender(
            records,
            ("memory", "bytes_a_key", 1.0),
            "memory",
            "bytes per key",
            any,
        ),
        by_contender(
            records,
            ("beside", "latency.p999_us", 1e3),
            "latency of small values beside large ones",
            "p99.9 latency, in ms",
            beside,
        ),
        by_contender(
            records,
            ("snapshot", "latency.p999_us", 1e3),
            "latency while a snapshot is written",
            "p99.9 latency, in ms",
            any,
        ),
        by_contender(
            records,
            ("snapshot", "cpu_us", 1e6),
            "snapshot",
            "s of CPU",
            any,
        ),
        by_contender(
            records,
            ("snapshot", "took_ms", 1e3),
            "time until a snapshot is complete",
            "s",
            any,
        ),
        by_contender(
            records,
            ("expiry", "latency.p999_us", 1e3),
            "latency while all keys expire",
            "p99.9 latency, in ms",
            any,
        ),
    ]
}

/// Returns the plot of the value `member`, divided by `unit`, of each contender in the part `part`
/// of the newest record of the store.
fn by_contender(
    records: &Records,
    (part, member, unit): (&str, &str, f64),
    title: &str,
    unit_name: &'static str,
    is_wanted: impl Fn(&Value) -> bool,
) -> Plot {
    let row = records.newest("store", part);
    let plot = Plot::new(title, unit_name, Better::Less, row.record);
    ["pelton", "redis", "valkey"]
        .iter()
        .fold(plot, |plot, name| {
            let samples = numbers(row.value, member, |it| {
                is(it, "contender", *name) && is_wanted(it)
            });
            if samples.is_empty() {
                return plot;
            }
            let value = Interval::of(samples, unit);
            match *name {
                "pelton" => plot.bar(name, value),
                _ => plot.compared(name, value, None),
            }
        })
}

/// Returns the plots of first scans: CPU time per file, by kind of file.
pub(super) fn reads(records: &Records) -> Vec<Plot> {
    let reads = records.newest("scan", "reads");
    let samples = list(member(reads.value, "samples"));
    let mut plots: Vec<Plot> = Vec::new();
    for sample in samples {
        let (kind, arm) = (text(sample, "kind"), text(sample, "arm"));
        let title = format!("{kind} files");
        let index = plots.iter().position(|plot| plot.title == title);
        let plot = match index {
            Some(index) => plots.remove(index),
            None => Plot::new(title, "µs of CPU per file", Better::Less, reads.record),
        };
        let index = index.unwrap_or(plots.len());
        let plot = if plot.bars.iter().any(|bar| bar.name == arm) {
            plot
        } else {
            let same = samples.iter();
            let same = same.filter(|row| is(row, "kind", kind) && is(row, "arm", arm));
            let each = same.map(|row| number(row, "cpu_us") / number(row, "files"));
            let value = Interval::of(each.collect(), 1.0);
            match arm {
                "ours" => plot.bar(arm, value),
                _ => plot.compared(arm, value, None),
            }
        };
        plots.insert(index, plot);
    }
    plots
}

/// Returns the plot of the distance that a disk's head travels in the order in which files are
/// read.
pub(super) fn travel(records: &Records) -> Vec<Plot> {
    let travel = records.newest("scan", "travel");
    let sweeps =
        |name| Interval::exact(number(travel.value, name) / number(travel.value, "one_sweep"));
    let title = "order in which the files are read";
    let plot = Plot::new(
        title,
        "distance that the disk's head moves, in sweeps over the disk",
        Better::Less,
        travel.record,
    );
    vec![
        plot.bar("pelton", sweeps("ours"))
            .compared("in the order of their inodes", sweeps("inode_order"), None)
            .compared("in the order of their paths", sweeps("path_order"), None),
    ]
}

/// Returns the plots of later scans, searches and covers, for which there are no peers.
pub(super) fn library(records: &Records) -> Vec<Plot> {
    let mut plots = Vec::new();
    for (part, name) in [
        ("unchanged", "pelton, nothing changed"),
        ("changed", "pelton, ten files changed"),
    ] {
        let row = records.newest("scan", part);
        let files = short(number(&list(row.value)[0], "files"));
        let title = format!("rescan of {files} files");
        let wall = Interval::of(numbers(row.value, "wall_us", |_| true), 1e3);
        plots.push(Plot::new(title, "ms", Better::Less, row.record).bar(name, wall));
    }
    plots
}
