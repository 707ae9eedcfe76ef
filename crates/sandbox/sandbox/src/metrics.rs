//! Metrics of a pool as OpenMetrics text.

use openmetrics::Text;

use crate::stats::Stats;

/// Writes the metrics of a pool of cells.
// tidy: long because it lists all metrics
pub fn render_metrics(text: &mut Text, cells: &Stats) {
    text.gauge(
        "pelton_cells_ready",
        "cells that wait for a job",
        cells.ready,
    );
    text.gauge("pelton_cells_running", "cells with a job", cells.running);
    text.counter("pelton_cell_runs", "jobs that ran in a cell", cells.runs);
    text.counter(
        "pelton_cell_queue_timeouts",
        "jobs that found no free cell in time",
        cells.queue_timeouts,
    );
    text.gauge(
        "pelton_cell_memory_peak_bytes",
        "largest memory use of one job",
        cells.memory_peak_bytes,
    );
    text.counter(
        "pelton_cell_wipes",
        "cells whose memory was reset after a job",
        cells.wipes,
    );
    text.counter(
        "pelton_cell_wipe_microseconds",
        "microseconds spent on wiping microVMs after their replies",
        cells.wipe_us,
    );
    text.counter(
        "pelton_cell_wipe_leaks",
        "cells in which a wipe left data of the previous job; more than 0 means a defect of Pelton",
        cells.wipe_leaks,
    );
    text.counter(
        "pelton_cell_dirty_bytes",
        "bytes of memory that jobs in microVMs have written to",
        cells.dirty_bytes,
    );
    text.counter(
        "pelton_cell_refused_calls",
        "unsupported system calls of jobs in microVMs",
        cells.refused_calls,
    );
    text.counter(
        "pelton_cell_zygote_renewals",
        "zygotes replaced on schedule",
        cells.zygote_renewals,
    );
    text.counter(
        "pelton_cell_zygote_deaths",
        "zygotes that ended unexpectedly",
        cells.zygote_deaths,
    );
    text.family(
        "pelton_cell_kills",
        "counter",
        "sandboxes (cells) that were killed, by reason",
    );
    let reasons = [
        ("wall", cells.kills_wall),
        ("cpu", cells.kills_cpu),
        ("memory", cells.kills_memory),
        ("filter", cells.kills_filter),
        ("cancelled", cells.cancelled),
        ("crash", cells.crashes),
        ("violation", cells.violations),
    ];
    for (reason, count) in reasons {
        text.sample(
            "pelton_cell_kills_total",
            &format!("reason=\"{reason}\""),
            count,
        );
    }
}
