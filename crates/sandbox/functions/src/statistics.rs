//! Statistics of cells and programs: as JSON at `/-/api/cells`, and as OpenMetrics.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openmetrics::Text;
use sandbox::{Posture, Stats};
use serde_json::{Value, json};
use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};

use super::programs::{Programs, Route, Table};
use super::reply::method_not_allowed;
use super::unit::Unit;

/// Path at which the statistics are mounted.
pub(super) const PATH: &str = "/-/api/cells";

/// Mount that shows the statistics of all cells.
pub(super) struct Statistics(pub(super) Arc<Programs>);

impl Mount for Statistics {
    fn part(&self) -> Part {
        Part::Admin
    }

    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let reply = match visit.method {
            "GET" | "HEAD" => Reply::Whole {
                status: 200,
                fields: vec![
                    ("content-type".into(), "application/json".into()),
                    ("cache-control".into(), "no-store".into()),
                    ("x-content-type-options".into(), "nosniff".into()),
                ],
                body: (self.0.json().to_string() + "\n").into(),
            },
            _ => method_not_allowed("GET, HEAD"),
        };
        Box::pin(std::future::ready(reply))
    }

    fn metrics(&self, text: &mut Text) {
        let table = self.0.table();
        for row in ROWS {
            family(text, row, &table);
        }
        kills(text, &table);
        routes(text, &table);
    }
}

impl Programs {
    fn json(&self) -> Value {
        let table = self.table();
        let program = |unit: &Arc<Unit>| {
            let stats = unit.stats();
            let mut values = figures(&stats);
            values["wait_us"] = read(&unit.counts.wait_us).into();
            values["refused"] = read(&unit.counts.refused).into();
            values["waiting"] = unit.waiting().into();
            values["reloads"] = read(&unit.counts.reloads).into();
            values["reload_failures"] = read(&unit.counts.reload_failures).into();
            let store_usage = unit.store_usage();
            values["state_keys"] = store_usage.keys.into();
            values["state_bytes"] = store_usage.bytes.into();
            values["posture"] = posture(&unit.posture());
            values
        };
        let programs = table.units.iter();
        let programs = programs.map(|(name, unit)| (name.clone(), program(unit)));
        let routes = table.routes.iter().map(|route| {
            let names: Vec<_> = route.stages.iter().map(|unit| unit.name.as_str()).collect();
            json!({
                "name": route.name,
                "route": route.path,
                "programs": names,
                "requests": read(&route.counts.requests),
                "failures": read(&route.counts.failures),
                "fallbacks": read(&route.counts.fallbacks),
            })
        });
        let mut conversions = figures(&self.conversions.stats());
        conversions["posture"] = posture(&self.conversions.posture());
        json!({
            "conversions": conversions,
            "programs": programs.collect::<serde_json::Map<_, _>>(),
            "routes": routes.collect::<Vec<_>>(),
        })
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn figures(stats: &Stats) -> Value {
    json!({
        "invocations": stats.runs,
        "finished": stats.finished,
        "resets": stats.wipes,
        "reset_us": stats.wipe_us,
        "wipe_leaks": stats.wipe_leaks,
        "dirty_bytes": stats.dirty_bytes,
        "kills": stats_kills(stats).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "refused_calls": stats.refused_calls,
        "acquire_us": stats.acquire_us,
        "cpu_us": stats.cpu_us,
        "wall_us": stats.wall_us,
        "memory_peak_bytes": stats.memory_peak_bytes,
        "output_bytes": stats.output_bytes,
        "renewals": stats.zygote_renewals,
        "deaths": stats.zygote_deaths,
        "ready": stats.ready,
        "running": stats.running,
    })
}

fn stats_kills(stats: &Stats) -> [(&'static str, u64); 7] {
    [
        ("wall", stats.kills_wall),
        ("cpu", stats.kills_cpu),
        ("memory", stats.kills_memory),
        ("filter", stats.kills_filter),
        ("cancelled", stats.cancelled),
        ("crash", stats.crashes),
        ("violation", stats.violations),
    ]
}

fn posture(posture: &Posture) -> Value {
    json!({
        "backend": posture.backend.to_string(),
        "fell_back": posture.fell_back,
        "isolation": posture.isolation().to_string(),
        "ephemeral": posture.ephemeral,
        "namespaces": posture.namespaces,
        "own_user": posture.own_user,
        "filter": format!("{:016x}", posture.filter_hash),
        "filter_instructions": posture.filter_len,
        "landlock_abi": posture.landlock_abi,
        "no_new_privs": posture.no_new_privs,
        "no_capabilities": posture.no_capabilities,
        "hugepages": posture.hugepages.to_string(),
    })
}

/// Family of metrics with one sample per program.
struct Row {
    name: &'static str,
    help: &'static str,
    counts: bool,
    read: fn(&Unit, &Stats) -> u64,
}

const fn counter(name: &'static str, help: &'static str, read: fn(&Unit, &Stats) -> u64) -> Row {
    Row {
        name,
        help,
        counts: true,
        read,
    }
}

const fn gauge(name: &'static str, help: &'static str, read: fn(&Unit, &Stats) -> u64) -> Row {
    Row {
        name,
        help,
        counts: false,
        read,
    }
}

const ROWS: &[Row] = &[
    counter("runs", "requests that ran in a cell", |_, stats| stats.runs),
    counter(
        "finished",
        "requests for which the program produced a response",
        |_, stats| stats.finished,
    ),
    counter(
        "wipes",
        "cells whose memory was reset after a request",
        |_, stats| stats.wipes,
    ),
    counter(
        "wait_microseconds",
        "time that requests waited for a free cell",
        |unit, _| read(&unit.counts.wait_us),
    ),
    counter(
        "refused",
        "requests refused because all cells were busy",
        |unit, _| read(&unit.counts.refused),
    ),
    counter(
        "cpu_microseconds",
        "CPU time of the runs of programs",
        |_, stats| stats.cpu_us,
    ),
    counter(
        "wall_microseconds",
        "time from passing a request to a cell until its reply",
        |_, stats| stats.wall_us,
    ),
    counter(
        "dirty_bytes",
        "bytes of memory that programs in microVMs have written to",
        |_, stats| stats.dirty_bytes,
    ),
    counter(
        "output_bytes",
        "bytes that runs wrote to standard output",
        |_, stats| stats.output_bytes,
    ),
    counter(
        "reloads",
        "reloads of programs after a change of their file or settings",
        |unit, _| read(&unit.counts.reloads),
    ),
    counter(
        "reload_failures",
        "reloads that failed, after which the old program kept running",
        |unit, _| read(&unit.counts.reload_failures),
    ),
    gauge(
        "memory_peak_bytes",
        "largest memory use of one run",
        |_, stats| stats.memory_peak_bytes,
    ),
    gauge("state_keys", "keys in the program's store", |unit, _| {
        unit.store_usage().keys
    }),
    gauge("state_bytes", "memory of the program's store", |unit, _| {
        unit.store_usage().bytes
    }),
    gauge("running", "runs of programs in progress", |_, stats| {
        stats.running
    }),
    gauge(
        "waiting",
        "requests that wait for a free cell",
        |unit, _| u64::from(unit.waiting()),
    ),
];

/// Writes one sample. Label values need no escaping: program names are letters, digits, `-` and
/// `_`.
fn sample(text: &mut Text, name: &str, labels: &str, value: u64) {
    text.sample(&format!("pelton_program_{name}"), labels, value);
}

fn family(text: &mut Text, row: &Row, table: &Table) {
    let (kind, suffix) = if row.counts {
        ("counter", "_total")
    } else {
        ("gauge", "")
    };
    text.family(&format!("pelton_program_{}", row.name), kind, row.help);
    for (name, unit) in &table.units {
        let value = (row.read)(unit, &unit.stats());
        let labels = format!("program=\"{name}\"");
        sample(text, &format!("{}{suffix}", row.name), &labels, value);
    }
}

fn kills(text: &mut Text, table: &Table) {
    let help = "runs of programs that the server ended early, by cause";
    text.family("pelton_program_kills", "counter", help);
    for (name, unit) in &table.units {
        for (cause, value) in stats_kills(&unit.stats()) {
            let labels = format!("program=\"{name}\",reason=\"{cause}\"");
            sample(text, "kills_total", &labels, value);
        }
    }
}

fn routes(text: &mut Text, table: &Table) {
    type Read = fn(&Route) -> u64;
    let families: [(&str, &str, Read); 3] = [
        ("requests", "requests to programs and chains", |route| {
            read(&route.counts.requests)
        }),
        ("failures", "requests in which a program failed", |route| {
            read(&route.counts.failures)
        }),
        (
            "fallbacks",
            "failed requests to which on_error responded",
            |route| read(&route.counts.fallbacks),
        ),
    ];
    for (name, help, value) in families {
        text.family(&format!("pelton_program_{name}"), "counter", help);
        for route in &table.routes {
            let labels = format!("route=\"{}\"", route.name);
            sample(text, &format!("{name}_total"), &labels, value(route));
        }
    }
}
