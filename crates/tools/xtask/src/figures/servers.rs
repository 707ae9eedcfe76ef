//! Tables of the results of `lab cells` and `lab store`.

use toml::Value;

use super::markdown::{Markdown, ratio};
use crate::numbers::{median, short, spread};
use crate::record::{Records, is, list, member, number, numbers, text};

/// Renders the throughput with each kind of cell.
pub(super) fn cells(records: &Records) -> Markdown {
    let mut table = Markdown::new(&[
        "sandbox",
        "throughput of requests that run in a sandbox, divided by the throughput without sandboxes",
        "CPU time without a sandbox, divided by the CPU time with this sandbox",
        "p99 of the wait for a sandbox, µs",
        "record",
    ]);
    let summaries = records.newest("cells", "summaries");
    let waits = records.newest("cells", "waits");
    for row in list(summaries.value) {
        let contender = text(row, "contender");
        let wait = numbers(waits.value, "p99_us", |it| is(it, "contender", contender));
        table.row(&[
            contender.to_owned(),
            ratio(member(row, "ratio")),
            ratio(member(row, "cpu_ratio")),
            wait.first().copied().map_or_else(String::new, short),
            summaries.record.to_owned(),
        ]);
    }
    table
}

/// Renders the costs of a cell (sandbox) itself, without the costs of the job that runs in the
/// cell.
pub(super) fn costs_of_a_cell(records: &Records) -> Markdown {
    let mut table = Markdown::new(&["figure", "value", "record"]);
    let creation = records.newest("cells", "creation");
    table.row(&[
        "time to create a microVM, median",
        &format!("{} µs", short(number(&list(creation.value)[0], "p50_us"))),
        creation.record,
    ]);
    let wipes = records.newest("cells", "wipes");
    for row in list(wipes.value) {
        let dirty = short(number(row, "dirty_bytes") / 1e6);
        table.row(&[
            &format!(
                "time to reset a sandbox ({}) after a job that wrote {dirty} MB",
                text(row, "contender")
            ),
            &format!("{} µs", short(number(row, "wipe_us"))),
            wipes.record,
        ]);
    }
    let memory = records.newest("cells", "memory");
    let job_memory = &list(memory.value)[0];
    let job = short(number(job_memory, "job_bytes") / 1e6);
    for (name, member) in [
        (
            "time to get new pages for a job from the kernel",
            "fresh_us",
        ),
        ("time to zero the pages that a job left behind", "zeroed_us"),
    ] {
        table.row(&[
            &format!("{name}, {job} MB, all cores busy"),
            &format!("{} ms", short(number(job_memory, member) / 1e3)),
            memory.record,
        ]);
    }
    let calls = records.newest("cells", "calls");
    for row in list(calls.value) {
        let [middle, low, high] =
            ["median", "min", "max"].map(|name| short(number(row, &format!("per_second.{name}"))));
        table.row(&[
            &format!(
                "calls of a program to its store, {}, in batches of {}",
                text(row, "backend"),
                number(row, "batch")
            ),
            &format!("{middle} per second ({low}…{high})"),
            calls.record,
        ]);
    }
    table
}

/// Renders the costs of the store's commands.
pub(super) fn store_commands(records: &Records) -> Markdown {
    let mut table = Markdown::new(&["command", "Redis", "Valkey", "record"]);
    for row in records.rows("store", "ops", "row") {
        let peer = |name: &str| match row.value.get(name) {
            Some(value) => ratio(value),
            None => "–".to_owned(),
        };
        table.row(&[
            text(row.value, "row").to_owned(),
            peer("ours_over_redis"),
            peer("ours_over_valkey"),
            row.record.to_owned(),
        ]);
    }
    table
}

/// Renders memory, latency, snapshots and expiry of the store.
pub(super) fn store(records: &Records) -> Markdown {
    let mut table = Markdown::new(&["figure", "Pelton", "Redis", "Valkey", "record"]);
    let mut part = |part: &str, figure: &str, cell: &dyn Fn(&Value, &str) -> Option<String>| {
        let found = records.newest("store", part);
        let cells = ["pelton", "redis", "valkey"]
            .map(|peer| cell(found.value, peer).unwrap_or_else(|| "–".to_owned()));
        let [ours, redis, valkey] = &cells;
        table.row(&[figure, ours, redis, valkey, found.record]);
    };
    let of = |rows: &Value, peer: &str, name: &str, unit: f64| {
        let samples = numbers(rows, name, |row| is(row, "contender", peer));
        (!samples.is_empty()).then(|| spread(samples, unit))
    };
    part("memory", "memory per key, B", &|rows, peer| {
        of(rows, peer, "bytes_a_key", 1.0)
    });
    for (state, large) in [("no client", false), ("another client", true)] {
        let figure = format!("p99.9 latency of small values while {state} reads large ones, ms");
        part("beside", &figure, &|rows, peer| {
            let samples = numbers(rows, "latency.p999_us", |row| {
                is(row, "contender", peer) && is(row, "large", large)
            });
            (!samples.is_empty()).then(|| spread(samples, 1e3))
        });
    }
    for (figure, name, unit) in [
        (
            "p99.9 latency while a snapshot is written, ms",
            "latency.p999_us",
            1e3,
        ),
        ("CPU time of a snapshot, s", "cpu_us", 1e6),
        ("duration of a snapshot, s", "took_ms", 1e3),
    ] {
        part("snapshot", figure, &|rows, peer| of(rows, peer, name, unit));
    }
    part(
        "snapshot",
        "additional memory while a snapshot is written",
        &|rows, peer| {
            let [before, peak] = ["before_bytes", "peak_bytes"]
                .map(|name| numbers(rows, name, |row| is(row, "contender", peer)));
            let shares = before.iter().zip(&peak);
            let shares: Vec<_> = shares.map(|(before, peak)| peak / before - 1.0).collect();
            (!shares.is_empty()).then(|| format!("{:.0} %", 100.0 * median(shares)))
        },
    );
    for (figure, name, unit) in [
        ("p99.9 latency as keys expire, ms", "latency.p999_us", 1e3),
        ("time until expired keys are freed, s", "gone_after_ms", 1e3),
    ] {
        part("expiry", figure, &|rows, peer| of(rows, peer, name, unit));
    }
    for bytes in [64_i64, 1_000_000] {
        let size = short(bytes as f64);
        let figure = format!(
            "millions of reads per second by the process of the store itself, without a socket, \
             values of {size} B"
        );
        part("in_process", &figure, &|rows, peer| {
            let rows = list(rows)
                .iter()
                .filter(|row| is(row, "value_bytes", bytes));
            let rates = rows.map(|row| number(row, "gets") / number(row, "wall_us"));
            (peer == "pelton").then(|| spread(rates.collect(), 1.0))
        });
    }
    table
}
