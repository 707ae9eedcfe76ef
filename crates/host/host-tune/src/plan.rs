//! Plan of the changes for a goal, in the order of the article's steps.

mod rows;
mod wanted;

use host::{Namespace, Roots, Scope, Setting, SettingFault};
use host_checks::{Check, Class, Facts, Finding, Standing, judge};
use serde::{Deserialize, Serialize};

use rows::{ROWS, When};
pub(crate) use wanted::Wanted;

/// Aim of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Most requests per second.
    Throughput,
    /// Shortest response times at low and medium load.
    Latency,
}

/// Choice of the operator among the rows.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Aim.
    pub goal: Goal,
    /// Identifiers of rows that are planned although the goal does not need them.
    pub included: Vec<String>,
    /// Identifiers of rows that are not planned.
    pub excluded: Vec<String>,
}

/// Changes, and the rows that change nothing.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Aim.
    pub goal: Goal,
    /// Changes in the order in which they are applied.
    pub changes: Vec<Change>,
    /// Rows of which nothing is changed, each with the reason.
    pub others: Vec<Other>,
}

/// Change of one setting.
#[derive(Clone, Debug)]
pub struct Change {
    /// Row of the doctor.
    pub check: &'static Check,
    /// Setting.
    pub setting: Setting,
    /// Value before the change.
    pub old: String,
    /// Value that the change writes.
    pub new: String,
}

/// Row, or setting of a row, that is not changed.
#[derive(Clone, Debug)]
pub struct Other {
    /// Row of the doctor.
    pub check: &'static Check,
    /// Reason.
    pub reason: Reason,
    /// Sentence for people.
    pub text: String,
}

/// Reason why a row is not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Class X or B: explained, never applied.
    NeverApplied,
    /// The value is as wanted, or the goal does not need the change.
    NotNeeded,
    /// The change has a price that the operator accepts by `--include`.
    OnRequest,
    /// The setting does not exist here, cannot be read, or another program would change it again.
    NotPossible,
    /// The operator excluded the row.
    Excluded,
}

impl Reason {
    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::NeverApplied => "neverApplied",
            Reason::NotNeeded => "notNeeded",
            Reason::OnRequest => "onRequest",
            Reason::NotPossible => "notPossible",
            Reason::Excluded => "excluded",
        }
    }
}

/// Host that is planned for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host<'h> {
    pub(crate) roots: &'h Roots,
    pub(crate) facts: &'h Facts,
    pub(crate) namespace: &'h Namespace,
}

impl Goal {
    /// Parses the name of a goal.
    #[must_use]
    pub fn parse(text: &str) -> Option<Goal> {
        match text {
            "throughput" => Some(Goal::Throughput),
            "latency" => Some(Goal::Latency),
            _ => None,
        }
    }

    /// Returns the name of the goal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::Throughput => "throughput",
            Goal::Latency => "latency",
        }
    }
}

/// Returns the identifiers of the rows that can be planned, in the order of the plan.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    ROWS.iter()
        .filter(|row| row.when != When::Never)
        .map(|row| row.id)
}

/// Plans the changes. Reads the present value of each setting, and changes nothing.
pub(crate) fn plan(host: Host<'_>, choice: &Choice) -> Plan {
    let report = judge(host.facts);
    let mut plan = Plan {
        goal: choice.goal,
        changes: Vec::new(),
        others: Vec::new(),
    };
    for row in ROWS {
        let finding = report.0.iter().find(|found| found.check.id == row.id);
        let finding = finding.expect("a test compares the ids with the table of checks");
        match refusal(row.when, finding, choice) {
            Some(other) => plan.others.push(other),
            None => add(&mut plan, host, finding.check, (row.propose)(host.facts)),
        }
    }
    plan
}

/// Returns why nothing of a row is planned, or `None` if the row is planned.
fn refusal(when: When, finding: &Finding, choice: &Choice) -> Option<Other> {
    let (check, judgement) = (finding.check, &finding.judgement);
    let has = |ids: &[String]| ids.iter().any(|id| id == check.id);
    let other = |reason, text: &str| {
        Some(Other {
            check,
            reason,
            text: text.to_owned(),
        })
    };
    if when == When::Never {
        assert!(matches!(check.class, Class::ReportOnly | Class::Boot));
        let text = format!("{}; by hand: {}", judgement.state, finding.change());
        return other(Reason::NeverApplied, &text);
    }
    if has(&choice.excluded) {
        return other(Reason::Excluded, "excluded by --exclude");
    }
    if has(&choice.included) {
        return None;
    }
    let is_finding = judgement.standing.is_finding();
    match when {
        _ if judgement.standing == Standing::Unknown => {
            other(Reason::NotPossible, &judgement.state)
        }
        When::Finding if is_finding => None,
        When::ThroughputFinding if is_finding && choice.goal == Goal::Throughput => None,
        When::LatencyTradeoff if is_finding => None,
        When::LatencyTradeoff
            if judgement.standing == Standing::Tradeoff && choice.goal == Goal::Latency =>
        {
            None
        }
        When::Request => other(Reason::OnRequest, check.risk),
        _ => other(Reason::NotNeeded, &judgement.state),
    }
}

/// Adds the changes of a row whose settings have other values than wanted.
fn add(
    plan: &mut Plan,
    host: Host<'_>,
    check: &'static Check,
    proposed: Result<Vec<(Setting, Wanted)>, String>,
) {
    let before = (plan.changes.len(), plan.others.len());
    let mut leave = |reason, text: String| {
        plan.others.push(Other {
            check,
            reason,
            text,
        });
    };
    let proposed = match proposed {
        Ok(proposed) => proposed,
        Err(text) => return leave(Reason::NotPossible, text),
    };
    for (setting, wanted) in proposed {
        match present(host, &setting) {
            Err(text) => leave(Reason::NotPossible, format!("{setting}: {text}")),
            Ok(old) => match wanted.of(&old) {
                Some(new) if new != old => plan.changes.push(Change {
                    check,
                    setting,
                    old,
                    new,
                }),
                Some(_) => {}
                None => leave(
                    Reason::NotPossible,
                    format!("{setting}: {}", SettingFault::Malformed),
                ),
            },
        }
    }
    if before == (plan.changes.len(), plan.others.len()) {
        plan.others.push(Other {
            check,
            reason: Reason::NotNeeded,
            text: "every setting already has the recommended value".to_owned(),
        });
    }
}

/// Reads the present value of a setting that can be changed from this namespace.
fn present(host: Host<'_>, setting: &Setting) -> Result<String, String> {
    let scope = setting.scope().map_err(|why| why.to_string())?;
    if scope == Scope::Host && !host.namespace.is_of_host {
        return Err(
            "this setting applies to the whole host, not only to this network namespace".to_owned(),
        );
    }
    let old = setting.read(host.roots).map_err(|why| why.to_string())?;
    match setting.check_access(host.roots) {
        Err(SettingFault::ReadOnly) => Err(SettingFault::ReadOnly.to_string()),
        // Apply reports a missing permission, with the way to get it.
        _ => Ok(old),
    }
}
