//! Findings: problems that the operator can fix, each with a sentence that describes the problem
//! and the setting to change.

use serde_json::{Value, json};

use crate::host::Disk;

const GIB: u64 = 1 << 30;

/// Facts from which the findings follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Size and free space of the file system of the data directory.
    pub(crate) disk: Option<Disk>,
    /// Variants in the cache.
    pub(crate) variants: u64,
    /// Variants evicted in the last hour.
    pub(crate) evicted: u64,
    /// Variants that could not be written in the last ten minutes.
    pub(crate) write_errors: u64,
    /// Reason why the backend `auto` chose processes for the cells. `None` if the cells are
    /// microVMs, or if another backend is configured.
    pub(crate) fell_back: Option<String>,
    /// True if cells are wiped after each job.
    pub(crate) is_wiped: bool,
    pub(crate) wipe_leaks: u64,
    /// Warnings about certificates.
    pub(crate) certificates: Vec<String>,
    /// Requests for unknown hosts in the last hour.
    pub(crate) unknown_hosts: u64,
    /// Conversions refused in the last ten minutes.
    pub(crate) refused: u64,
    /// Connections refused in the last ten minutes.
    pub(crate) shed: u64,
    pub(crate) store_unreachable: bool,
    /// Originals in quarantine, which are no longer converted because they crashed cells
    /// repeatedly.
    pub(crate) quarantined: u64,
    pub(crate) scan_failed: Option<String>,
    /// Reason why changes of the library are found by polling.
    pub(crate) polling: Option<String>,
    /// Files of the library that could not be read.
    pub(crate) unreadable: u64,
}

/// Severity of a finding. The variants are in descending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Error,
    Warning,
    Note,
}

/// Problem that the operator can fix.
struct Finding {
    id: &'static str,
    severity: Severity,
    text: String,
    /// Setting whose change may fix the problem.
    setting: Option<&'static str>,
    /// Number or text within the sentence, which translations insert into their own sentences.
    detail: Value,
}

/// Returns the findings as JSON, the most severe first.
pub(crate) fn findings(facts: &Facts) -> Value {
    let mut found = Vec::new();
    of_disk(facts, &mut found);
    of_cells(facts, &mut found);
    of_load(facts, &mut found);
    of_library(facts, &mut found);
    for text in &facts.certificates {
        let text = text.clone();
        let detail = text.clone().into();
        found.push(finding(
            "certificate",
            Severity::Warning,
            text,
            Some("tls.cert"),
            detail,
        ));
    }
    found.sort_by_key(|finding| finding.severity);
    let listed = found.iter().map(Finding::to_json);
    Value::Array(listed.collect())
}

fn finding(
    id: &'static str,
    severity: Severity,
    text: String,
    setting: Option<&'static str>,
    detail: Value,
) -> Finding {
    Finding {
        id,
        severity,
        text,
        setting,
        detail,
    }
}

impl Finding {
    fn to_json(&self) -> Value {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        json!({
            "id": self.id,
            "severity": severity,
            "text": self.text,
            "setting": self.setting,
            "detail": self.detail,
        })
    }
}

fn of_disk(facts: &Facts, found: &mut Vec<Finding>) {
    if let Some(disk) = facts.disk {
        let free_percent = disk.free_bytes * 100 / disk.total_bytes.max(1);
        let severity = match disk.free_bytes {
            bytes if bytes < GIB / 4 => Some(Severity::Error),
            bytes if bytes < GIB || free_percent < 5 && bytes < 20 * GIB => Some(Severity::Warning),
            _ => None,
        };
        if let Some(severity) = severity {
            let mib = disk.free_bytes >> 20;
            let text =
                format!("the disk with the data directory is nearly full: {mib} MiB are free");
            let setting = Some("limits.variants_bytes_max");
            found.push(finding(
                "diskFull",
                severity,
                text,
                setting,
                disk.free_bytes.into(),
            ));
        }
    }
    if facts.write_errors > 0 {
        let count = facts.write_errors;
        let text =
            format!("{count} variants could not be written to the disk in the last ten minutes");
        found.push(finding(
            "writeErrors",
            Severity::Error,
            text,
            Some("data"),
            count.into(),
        ));
    }
    if facts.variants > 0 && facts.variants <= facts.evicted {
        let count = facts.evicted;
        let text = format!(
            "the cache is too small: {count} variants were evicted in the last hour, which is at \
             least as many as the cache holds"
        );
        let setting = Some("limits.variants_bytes_max");
        found.push(finding(
            "cacheSmall",
            Severity::Warning,
            text,
            setting,
            count.into(),
        ));
    }
    if facts.store_unreachable {
        let text = "the store with the shared index does not respond".to_owned();
        found.push(finding(
            "store",
            Severity::Error,
            text,
            Some("store.url"),
            Value::Null,
        ));
    }
}

fn of_cells(facts: &Facts, found: &mut Vec<Finding>) {
    if facts.wipe_leaks > 0 {
        let count = facts.wipe_leaks;
        let text = format!(
            "{count} sandbox cells still held data of an earlier job after they had been wiped"
        );
        found.push(finding(
            "wipeLeaks",
            Severity::Error,
            text,
            None,
            count.into(),
        ));
    }
    if let Some(why) = &facts.fell_back {
        let text = format!(
            "sandbox cells are processes, because microVMs do not work on this host: {why}"
        );
        let detail = why.clone().into();
        found.push(finding(
            "fellBack",
            Severity::Warning,
            text,
            Some("cell.backend"),
            detail,
        ));
    }
    if !facts.is_wiped {
        let text = "sandbox cells are not wiped between jobs".to_owned();
        let setting = Some("cell.ephemeral");
        found.push(finding(
            "notWiped",
            Severity::Warning,
            text,
            setting,
            Value::Null,
        ));
    }
    if facts.quarantined > 0 {
        let count = facts.quarantined;
        let text =
            format!("{count} originals crashed sandbox cells repeatedly, and are sent unconverted");
        found.push(finding(
            "quarantine",
            Severity::Note,
            text,
            None,
            count.into(),
        ));
    }
}

fn of_load(facts: &Facts, found: &mut Vec<Finding>) {
    if facts.refused > 0 {
        let count = facts.refused;
        let text =
            format!("{count} conversions were refused in the last ten minutes: the queue was full");
        let setting = Some("cell.concurrency");
        found.push(finding(
            "refused",
            Severity::Warning,
            text,
            setting,
            count.into(),
        ));
    }
    if facts.shed > 0 {
        let count = facts.shed;
        let text = format!("{count} connections were refused in the last ten minutes");
        let setting = Some("limits.connections_max");
        found.push(finding(
            "shed",
            Severity::Warning,
            text,
            setting,
            count.into(),
        ));
    }
    if facts.unknown_hosts > 0 {
        let count = facts.unknown_hosts;
        let text = format!("{count} requests of the last hour named a host that is not configured");
        found.push(finding(
            "unknownHosts",
            Severity::Note,
            text,
            Some("hosts"),
            count.into(),
        ));
    }
}

fn of_library(facts: &Facts, found: &mut Vec<Finding>) {
    // A scan that the operator cancelled is not a problem.
    let failed = facts
        .scan_failed
        .as_ref()
        .filter(|why| !why.contains("cancel"));
    if let Some(why) = failed {
        let text = format!("the last scan did not finish: {why}");
        let detail = why.clone().into();
        found.push(finding("scanFailed", Severity::Error, text, None, detail));
    }
    if let Some(why) = &facts.polling {
        let text = format!("the server detects changes of the library by polling: {why}");
        let detail = why.clone().into();
        found.push(finding(
            "polling",
            Severity::Note,
            text,
            Some("library.watch"),
            detail,
        ));
    }
    if facts.unreadable > 0 {
        let count = facts.unreadable;
        let text = format!("{count} files of the library cannot be read");
        found.push(finding(
            "unreadable",
            Severity::Note,
            text,
            None,
            count.into(),
        ));
    }
}

#[cfg(test)]
mod tests;
