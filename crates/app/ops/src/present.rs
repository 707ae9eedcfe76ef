//! Document of the dashboard: the history, the current state, the log and the findings.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use report::log;
use sandbox::{Posture, Stats};
use scan::{Phase, Status, Watch};
use serde_json::{Map, Value, json};
use server::Service;
use server::figures::Figures;
use server::metrics::ResponseTotals;
use wall_clock::{since_1970, unix_ms};

use crate::findings::{self, Facts};
use crate::history::History;
use crate::host::{Disk, Process};
use crate::sampler::{Ops, Running};
use crate::saved::Saved;

/// Returns the dashboard's data, with the rows of the history after the sample with the number
/// `since`, or `None` until the server has started. Blocks.
pub(crate) fn document(ops: &Ops, since: u64) -> Option<Value> {
    let running = ops.running()?;
    let state = State::read(ops, running);
    let history = running.history();
    let (sequence, rows) = (history.sequence(), history.since(since));
    let facts = state.facts(running, &history);
    drop(history);
    Some(json!({
        "seq": sequence,
        "timeMs": state.now_ms,
        "startedMs": ops.facts.started_unix_ms,
        "history": rows,
        "now": state.to_json(ops, running),
        "log": log_entries(),
        "findings": findings::findings(&facts),
    }))
}

/// State of the server at one moment.
struct State {
    now_ms: u64,
    service: Arc<Service>,
    figures: Figures,
    scan: Status,
    disk: Option<Disk>,
    posture: Posture,
}

impl State {
    fn read(ops: &Ops, running: &Running) -> State {
        let service = running.sources.live.current();
        State {
            now_ms: unix_ms(),
            figures: service.figures(),
            scan: running.sources.indexer.status(),
            disk: Disk::of(&ops.facts.data),
            posture: service.posture(),
            service,
        }
    }

    /// Returns the facts from which the findings follow.
    fn facts(&self, running: &Running, history: &History) -> Facts {
        let tls = running.sources.tls.as_ref();
        let report = self.scan.report.as_ref();
        Facts {
            disk: self.disk,
            evicted: history.sum("evictedVariants", 3_600),
            variants: self.figures.variants.entries,
            write_errors: history.sum("writeErrors", 600),
            fell_back: self.posture.fell_back.clone(),
            is_wiped: self.posture.ephemeral,
            wipe_leaks: self.figures.cells.wipe_leaks,
            certificates: tls.map_or_else(Vec::new, |tls| {
                tls.warnings().iter().map(ToString::to_string).collect()
            }),
            unknown_hosts: history.sum("unknownHosts", 3_600),
            refused: history.sum("conversionsRefused", 600),
            shed: history.sum("shed", 600),
            store_unreachable: self.figures.store.is_some_and(|store| !store.is_reachable),
            quarantined: self.service.quarantined(),
            scan_failed: self.scan.failed.clone(),
            polling: match &self.scan.watch {
                Watch::Polling { why, .. } => Some(why.clone()),
                Watch::Off | Watch::Inotify { .. } => None,
            },
            unreadable: report.map_or(0, |report| report.faults.len() as u64),
        }
    }

    fn to_json(&self, ops: &Ops, running: &Running) -> Value {
        let totals = &self.figures.responses;
        json!({
            "uptimeSeconds": ops.facts.started.elapsed().as_secs(),
            "versions": {
                "pelton": env!("CARGO_PKG_VERSION"),
                "kernel": ops.facts.kernel,
            },
            "responses": responses(totals),
            "saved": saved_bytes(&running.saved(), totals.saved_bytes, self.now_ms),
            "latency": {
                "boundsUs": ResponseTotals::BOUNDS_US,
                "hits": totals.hit_buckets,
                "misses": totals.miss_buckets,
            },
            "conversions": conversions(&self.service, &self.figures),
            "transcodes": {
                "running": self.figures.transcodes.running,
                "waiting": self.figures.transcodes.waiting,
            },
            "cells": cells(&self.figures.cells, &self.posture),
            "variants": {
                "entries": self.figures.variants.entries,
                "evicted": self.figures.variants.evicted,
                "purged": self.figures.variants.purged,
                "writeErrors": self.figures.variants.write_errors,
            },
            "store": self.figures.store.map(|store| json!({
                "isReachable": store.is_reachable,
                "errors": store.errors,
                "publications": store.publications,
            })),
            "scan": scan_state(&self.scan),
            "prefetch": ops.prefetch.to_json(),
            "connections": connections(&self.figures),
            "budgets": budgets(ops, &self.service, &self.figures, self.disk),
            "process": process(),
            "sampler": sampler(running),
        })
    }
}

fn responses(totals: &ResponseTotals) -> Value {
    json!({
        "total": totals.responses(),
        "hits": totals.hits,
        "misses": totals.misses,
        "originals": totals.originals,
        "others": totals.others,
        "mounts": totals.mounts,
        "clientErrors": totals.client_errors,
        "serverErrors": totals.server_errors,
        "unknownHosts": totals.misdirected,
        "bodyBytes": totals.body_bytes,
    })
}

fn saved_bytes(saved: &Saved, process_bytes: u64, now_ms: u64) -> Value {
    let sums = saved.with(process_bytes, now_ms);
    json!({
        "todayBytes": sums.today_bytes(now_ms),
        "everBytes": sums.ever_bytes,
        "sinceMs": sums.since_unix_ms,
        "isKept": saved.is_kept(),
        "processBytes": process_bytes,
    })
}

fn conversions(service: &Service, figures: &Figures) -> Value {
    let counters = service.conversions();
    let totals = counters.totals();
    let failures: Map<String, Value> = totals
        .into_iter()
        .filter(|(name, _)| !matches!(*name, "conversions" | "conversion_cpu_us" | "refused"))
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect();
    json!({
        "running": figures.conversions.running,
        "waiting": figures.conversions.waiting,
        "improvementsRunning": figures.conversions.improvements_running,
        "improvementsWaiting": figures.conversions.improving,
        "improvementsCancelled": figures.conversions.cancelled,
        "concurrency": service.settings().flight.concurrency,
        "done": counters.conversions.load(Relaxed),
        "cpuSeconds": counters.conversion_cpu_us.load(Relaxed) as f64 / 1e6,
        "refused": counters.refused.load(Relaxed),
        "retried": counters.retried.load(Relaxed),
        "quarantinedOriginals": service.quarantined(),
        "failures": failures,
    })
}

fn cells(cells: &Stats, posture: &Posture) -> Value {
    json!({
        "ready": cells.ready,
        "running": cells.running,
        "runs": cells.runs,
        "kills": {
            "wall": cells.kills_wall,
            "cpu": cells.kills_cpu,
            "memory": cells.kills_memory,
            "filter": cells.kills_filter,
            "cancelled": cells.cancelled,
            "crash": cells.crashes,
            "violation": cells.violations,
        },
        "queueTimeouts": cells.queue_timeouts,
        "renewals": cells.zygote_renewals,
        "deaths": cells.zygote_deaths,
        "wipeLeaks": cells.wipe_leaks,
        "memoryPeakBytes": cells.memory_peak_bytes,
        "backend": posture.backend.to_string(),
        "isolation": posture.isolation().to_string(),
        "isWiped": posture.ephemeral,
        "fellBack": posture.fell_back,
    })
}

fn scan_state(status: &Status) -> Value {
    let last = status.report.as_ref().map_or(0, |report| report.files);
    let snapshot = status.snapshot.as_ref();
    let is_reading = |snapshot: &&scan::ProgressSnapshot| snapshot.phase == Phase::Reading;
    let reading = snapshot.filter(is_reading).map(|snapshot| {
        json!({
            "done": snapshot.read,
            "of": snapshot.to_read,
            "perSecond": snapshot.per_second,
            "secondsLeft": snapshot.left.map(|left| left.as_secs_f64()),
        })
    });
    let ended = status.ended.map(since_1970);
    json!({
        "isScanning": snapshot.is_some(),
        "files": snapshot.map_or(last, |snapshot| snapshot.walked),
        "reading": reading,
        "endedMs": ended.map(|ended| ended.as_millis() as u64),
        "failed": status.failed,
        "scans": status.scans,
        "unsettledFolders": status.unsettled,
        "unreadable": status.report.as_ref().map_or(0, |report| report.faults.len()),
        "brokenTags": status.report.as_ref().map_or(0, |report| report.broken_tags.len()),
        "watch": match status.watch {
            Watch::Off => "nothing",
            Watch::Inotify { .. } => "inotify",
            Watch::Polling { .. } => "polling",
        },
    })
}

fn connections(figures: &Figures) -> Value {
    let (connections, responses) = (&figures.connections, &figures.responses);
    json!({
        "open": connections.open,
        "accepted": connections.accepted,
        "shed": connections.shed,
        "evicted": connections.evicted,
        "timeouts": connections.timeouts,
        "queuedBytes": connections.queued_bytes,
        "http1": responses.http1,
        "http2": responses.http2,
        "handshakesFull": responses.handshakes_full,
        "handshakesResumed": responses.handshakes_resumed,
        "handshakesFailed": responses.handshakes_failed,
    })
}

/// Returns one object per limited resource: the amount in use, the limit, and the setting of the
/// limit, if any.
fn budgets(ops: &Ops, service: &Service, figures: &Figures, disk: Option<Disk>) -> Value {
    let (settings, facts) = (service.settings(), &ops.facts);
    let budget = |name: &str, unit: &str, (used, limit): (u64, u64), setting: Option<&str>| json!({ "name": name, "unit": unit, "used": used, "limit": limit, "setting": setting });
    let variants = (figures.variants.bytes, settings.limits.variants_bytes_max);
    let disk = disk.map_or((0, 0), |disk| {
        (disk.total_bytes - disk.free_bytes, disk.total_bytes)
    });
    let resident = (Process::read().resident_bytes, facts.memory_bytes);
    let converting = (
        figures.conversions.memory_bytes,
        settings.flight.memory_bytes_max,
    );
    let responses = (
        figures.response_bytes,
        settings.limits.mount_responses_bytes as u64,
    );
    let connections = (figures.connections.open, facts.connections_max);
    let queue = (
        figures.conversions.waiting,
        settings.flight.waiting_max as u64,
    );
    json!([
        budget(
            "variants",
            "bytes",
            variants,
            Some("limits.variants_bytes_max")
        ),
        budget("disk", "bytes", disk, None),
        budget("resident", "bytes", resident, None),
        budget(
            "converting",
            "bytes",
            converting,
            Some("limits.convert_bytes_max")
        ),
        budget(
            "responses",
            "bytes",
            responses,
            Some("limits.mount_responses_bytes")
        ),
        budget(
            "connections",
            "count",
            connections,
            Some("limits.connections_max")
        ),
        budget("queue", "count", queue, Some("limits.queue_max")),
    ])
}

fn process() -> Value {
    let process = Process::read();
    json!({
        "residentBytes": process.resident_bytes,
        "cpuSeconds": process.cpu_ms as f64 / 1e3,
    })
}

fn sampler(running: &Running) -> Value {
    let cost = running.cost();
    json!({ "lastUs": cost.last_us, "longestUs": cost.longest_us })
}

fn log_entries() -> Value {
    let entries = log::recent().into_iter().map(|entry| {
        json!({
            "timeMs": entry.unix_ms,
            "level": if entry.is_error { "error" } else { "warning" },
            "text": entry.text,
        })
    });
    entries.collect()
}
