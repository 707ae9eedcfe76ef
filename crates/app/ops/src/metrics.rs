//! Metrics of the dashboard: numbers of the dashboard that no other part of the server exports.

use openmetrics::Text;
use report::log;

use crate::host::{Disk, Process};
use crate::sampler::{Ops, Running};

/// Writes the metrics of the dashboard to `text`. Blocks.
pub(crate) fn render(ops: &Ops, running: &Running, text: &mut Text) {
    let service = running.sources.live.current();
    let figures = service.figures();
    let now_ms = wall_clock::unix_ms();
    let sums = running.saved().with(figures.responses.saved_bytes, now_ms);
    text.gauge(
        "pelton_saved_ever_bytes",
        "bytes saved by variants since the first start; restarts do not reset this number",
        sums.ever_bytes,
    );
    text.gauge(
        "pelton_saved_today_bytes",
        "bytes saved by variants since midnight (UTC); restarts do not reset this number",
        sums.today_bytes(now_ms),
    );
    text.gauge(
        "pelton_response_memory_bytes",
        "memory of responses that clients have not read yet, in bytes",
        figures.response_bytes,
    );
    process(text);
    let disk = Disk::of(&ops.facts.data);
    text.gauge(
        "pelton_data_free_bytes",
        "free bytes of the file system with the data directory",
        disk.map_or(0, |disk| disk.free_bytes),
    );
    let problems = log::problems();
    let name = "pelton_log_problems";
    text.family(name, "counter", "warnings and errors written to the log");
    let name = "pelton_log_problems_total";
    text.sample(name, "level=\"warning\"", problems.warnings);
    text.sample(name, "level=\"error\"", problems.errors);
    let settings = service.settings();
    let limits = [
        ("variants", settings.limits.variants_bytes_max),
        ("disk", disk.map_or(0, |disk| disk.total_bytes)),
        ("resident", ops.facts.memory_bytes),
        ("converting", settings.flight.memory_bytes_max),
        ("responses", settings.limits.mount_responses_bytes as u64),
        ("connections", ops.facts.connections_max),
        ("queue", settings.flight.waiting_max as u64),
        ("conversions", settings.flight.concurrency as u64),
    ];
    text.family(
        "pelton_limit",
        "gauge",
        "limits of the resources that the dashboard shows, in bytes or as a count",
    );
    for (resource, limit) in limits {
        text.sample("pelton_limit", &format!("resource=\"{resource}\""), limit);
    }
    let cost = running.cost();
    text.family(
        "pelton_dashboard_sample_microseconds",
        "gauge",
        "duration of the latest and of the slowest sampling of the dashboard's counters",
    );
    let name = "pelton_dashboard_sample_microseconds";
    text.sample(name, "of=\"last\"", cost.last_us);
    text.sample(name, "of=\"longest\"", cost.longest_us);
}

fn process(text: &mut Text) {
    let process = Process::read();
    text.gauge(
        "pelton_resident_bytes",
        "resident memory of the server, without its sandboxes",
        process.resident_bytes,
    );
    let help = "CPU time of the server, without its sandboxes";
    text.family("process_cpu_seconds", "counter", help);
    let seconds = process.cpu_ms as f64 / 1e3;
    text.sample("process_cpu_seconds_total", "", seconds);
}
