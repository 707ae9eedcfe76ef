//! Tables of the results of `lab scan`.

use toml::Value;

use super::markdown::Markdown;
use crate::numbers::{quantile, short, spread};
use crate::record::{Records, is, list, member, number, numbers, text};

/// Renders the costs of scans and searches, of a full sync, in which a music player fetches all
/// songs, and of the index in memory.
pub(super) fn library(records: &Records) -> Markdown {
    let mut table = Markdown::new(&["figure", "value", "record"]);
    reads(records, &mut table);
    for (part, figure) in [
        ("unchanged", "rescan without a change"),
        ("changed", "rescan with ten changed files"),
    ] {
        let found = records.newest("scan", part);
        let files = number(&list(found.value)[0], "files");
        let samples = numbers(found.value, "wall_us", |_| true);
        table.row(&[
            &format!("{figure}, {} files", short(files)),
            &format!("{} ms", spread(samples, 1e3)),
            found.record,
        ]);
    }
    let travel = records.newest("scan", "travel");
    for (order, name) in [
        ("Pelton's order", "ours"),
        ("the order of inodes", "inode_order"),
        ("the order of paths", "path_order"),
    ] {
        let ratio = number(travel.value, name) / number(travel.value, "one_sweep");
        table.row(&[
            &format!(
                "distance that the disk's head moves in {order}, divided by that of one sweep"
            ),
            &format!("{}×", short(ratio)),
            travel.record,
        ]);
    }
    searches(records, &mut table);
    let sync = records.newest("scan", "sync");
    let samples = numbers(sync.value, "wall_us", |_| true);
    table.row(&[
        "full sync of a music player",
        &format!("{} ms", spread(samples, 1e3)),
        sync.record,
    ]);
    let memory = records.newest("scan", "memory");
    let tracks = number(memory.value, "tracks");
    table.row(&[
        &format!("size of the index per track, {} tracks", short(tracks)),
        &format!("{} B", short(number(memory.value, "index_bytes") / tracks)),
        memory.record,
    ]);
    table
}

/// Appends the CPU time per file of each contender, by kind of file.
fn reads(records: &Records, table: &mut Markdown) {
    let reads = records.newest("scan", "reads");
    let samples = list(member(reads.value, "samples"));
    let mut seen = Vec::new();
    for sample in samples {
        let pair = (text(sample, "kind"), text(sample, "arm"));
        if seen.contains(&pair) {
            continue;
        }
        seen.push(pair);
        let (kind, arm) = pair;
        let same = samples.iter();
        let same = same.filter(|row| is(row, "kind", kind) && is(row, "arm", arm));
        let each = same.map(|row| number(row, "cpu_us") / number(row, "files"));
        table.row(&[
            &format!("CPU time per {kind} file, read by {arm}"),
            &format!("{} µs", spread(each.collect(), 1.0)),
            reads.record,
        ]);
    }
}

/// Appends the latency of searches, and the time until an index is ready.
fn searches(records: &Records, table: &mut Markdown) {
    let search = records.newest("scan", "search");
    for row in list(search.value) {
        let songs = short(number(row, "songs"));
        let micros = list(member(row, "us")).iter().filter_map(Value::as_float);
        let mut micros: Vec<_> = micros.collect();
        micros.sort_by(f64::total_cmp);
        table.row(&[
            &format!("p99 of a search, {songs} tracks"),
            &format!("{} ms", short(quantile(&micros, 0.99) / 1e3)),
            search.record,
        ]);
        let ready = numbers(member(row, "ready"), "us", |_| true);
        table.row(&[
            &format!("time to map and check the index, {songs} tracks"),
            &format!("{} ms", spread(ready, 1e3)),
            search.record,
        ]);
    }
}

/// Renders the number of covers that are converted per second and core.
pub(super) fn covers(records: &Records) -> Markdown {
    let mut table = Markdown::new(&[
        "sizes",
        "effort",
        "cores",
        "covers per second and core",
        "record",
    ]);
    let covers = records.newest("scan", "covers");
    let mut seen: Vec<Vec<&Value>> = Vec::new();
    for sample in list(covers.value) {
        let kind = |row| {
            ["boxes_px", "quick", "cores"]
                .map(|name| member(row, name))
                .to_vec()
        };
        let wanted = kind(sample);
        if seen.contains(&wanted) {
            continue;
        }
        let rows = list(covers.value).iter().filter(|row| kind(row) == wanted);
        let rates = rows.map(|row| {
            let seconds = number(row, "wall_us") / 1e6;
            number(row, "albums") / seconds / number(row, "cores")
        });
        let effort = match is(sample, "quick", true) {
            true => "`--quick`",
            false => "default",
        };
        let boxes = list(member(sample, "boxes_px")).iter();
        let boxes: Vec<_> = boxes
            .filter_map(|side| Some(side.as_integer()?.to_string()))
            .collect();
        table.row(&[
            &format!("{} pixels", boxes.join(" and ")),
            effort,
            &number(sample, "cores").to_string(),
            &spread(rates.collect(), 1.0),
            covers.record,
        ]);
        seen.push(wanted);
    }
    table
}
