//! Report on the host as JSON, for `pelton doctor --json` and for the dashboard.

use host_checks::{Finding, Report, Standing};
use serde_json::{Map, Value, json};

/// Version of the JSON document. A change that breaks programs that read the document increases it.
const VERSION: u32 = 1;

/// Returns the report as JSON. `server` is the process id of the server that the report describes,
/// if one was found.
#[must_use]
pub fn host_report(report: &Report, server: Option<u32>) -> Value {
    let counts = Standing::ALL.map(|standing| {
        (
            standing.name().to_owned(),
            Value::from(report.count(standing)),
        )
    });
    json!({
        "version": VERSION,
        "server": server,
        "counts": Map::from_iter(counts),
        "checks": report.0.iter().map(row).collect::<Vec<_>>(),
    })
}

/// Returns one row with its judgement.
pub(crate) fn row(finding: &Finding) -> Value {
    let (check, judgement) = (finding.check, &finding.judgement);
    let evidence = judgement.evidence.iter();
    let evidence = evidence.map(|one| json!({"source": one.source, "value": one.value}));
    json!({
        "id": check.id,
        "title": check.title,
        "class": check.class.letter(),
        "standing": judgement.standing.name(),
        "isFinding": judgement.standing.is_finding(),
        "state": judgement.state,
        "evidence": evidence.collect::<Vec<_>>(),
        "gain": check.gain,
        "isGainExpected": finding.is_gain_expected(),
        "responseSizes": check.sizes,
        "risk": check.risk,
        "change": finding.change(),
        "undo": check.undo,
    })
}
