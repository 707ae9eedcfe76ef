//! Rows of the table of checks, their judgements, and the report of all rows.

use crate::Facts;
use crate::fact::{Evidence, Unknown};

/// Row of the table: a property of the host or the server, and the function that judges it.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Identifier, such as `tcp.backlog`.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Class, which says how the property can be changed.
    pub class: Class,
    /// Gain, as measured by the article (see the crate's documentation) or by us. If neither has
    /// measured a gain, the text says so.
    pub gain: &'static str,
    /// Responses and loads for which the gain can be expected.
    pub sizes: &'static str,
    /// Harm that the change may cause.
    pub risk: &'static str,
    /// Command or key that makes the change. A judgement may replace it by a more exact command.
    pub change: &'static str,
    /// Command or key that reverts the change.
    pub undo: &'static str,
    /// Judges the property.
    pub(crate) judge: fn(&Facts) -> Judged,
}

/// Result of judging a row; the error is the fact that is missing.
pub(crate) type Judged = Result<Judgement, Unknown>;

/// Kind of change that a row describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Change of the server's process, by the server itself or by a setting of the server or of its
    /// service.
    Process,
    /// Setting of the host that can be changed and reverted while the host runs.
    Tunable,
    /// Protection or part of another program, which Pelton reports and never changes.
    ReportOnly,
    /// Argument of the kernel at boot, or a new kernel.
    Boot,
}

impl Class {
    /// Returns the letter of the class in reports and documents: S, T, X or B.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Class::Process => "S",
            Class::Tunable => "T",
            Class::ReportOnly => "X",
            Class::Boot => "B",
        }
    }
}

/// Outcome of a row. The variants are in the order of the report, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Something fails or is about to fail. This is a finding.
    Problem,
    /// A change would make the server faster. This is a finding.
    Gain,
    /// The property costs speed, but has another purpose such as protection, so the operator
    /// decides. This is not a finding.
    Tradeoff,
    /// A fact could not be read.
    Unknown,
    /// Nothing needs to change.
    Fine,
    /// The property does not exist on this host, or does not matter to it.
    NotApplicable,
}

impl Standing {
    /// All outcomes, the worst first.
    pub const ALL: [Standing; 6] = [
        Standing::Problem,
        Standing::Gain,
        Standing::Tradeoff,
        Standing::Unknown,
        Standing::Fine,
        Standing::NotApplicable,
    ];

    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Standing::Problem => "problem",
            Standing::Gain => "gain",
            Standing::Tradeoff => "tradeoff",
            Standing::Unknown => "unknown",
            Standing::Fine => "fine",
            Standing::NotApplicable => "notApplicable",
        }
    }

    /// Returns whether the outcome is a finding, which the operator should act upon.
    #[must_use]
    pub fn is_finding(self) -> bool {
        matches!(self, Standing::Problem | Standing::Gain)
    }
}

/// Judgement of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Outcome.
    pub standing: Standing,
    /// Sentence that says what was found.
    pub state: String,
    /// Values that support the judgement.
    pub evidence: Vec<Evidence>,
    /// Exact command for this host, if it differs from the row's.
    pub change: Option<String>,
}

impl Judgement {
    /// Creates a judgement without evidence.
    pub(crate) fn new(standing: Standing, state: impl Into<String>) -> Judgement {
        Judgement {
            standing,
            state: state.into(),
            evidence: Vec::new(),
            change: None,
        }
    }

    /// Adds a fact as evidence.
    pub(crate) fn seen<T>(mut self, fact: &crate::Fact<T>) -> Judgement {
        self.evidence.push(fact.evidence());
        self
    }

    /// Sets the exact command.
    pub(crate) fn with_change(mut self, change: impl Into<String>) -> Judgement {
        self.change = Some(change.into());
        self
    }
}

/// Row with its judgement.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Row of the table.
    pub check: &'static Check,
    /// Judgement of the row.
    pub judgement: Judgement,
}

impl Finding {
    /// Returns the command or key that makes the change.
    #[must_use]
    pub fn change(&self) -> &str {
        let own = self.judgement.change.as_deref();
        own.unwrap_or(self.check.change)
    }

    /// Returns whether the row's change is expected to bring a gain on this host: true for a
    /// problem, gain or trade-off; false for fine and not applicable; `None` if a fact is missing.
    #[must_use]
    pub fn is_gain_expected(&self) -> Option<bool> {
        match self.judgement.standing {
            Standing::Problem | Standing::Gain | Standing::Tradeoff => Some(true),
            Standing::Unknown => None,
            Standing::Fine | Standing::NotApplicable => Some(false),
        }
    }
}

/// All rows with their judgements, the worst first; rows of equal standing keep the table's order.
#[derive(Clone, Debug)]
pub struct Report(pub Vec<Finding>);

impl Report {
    /// Returns the number of rows with this outcome.
    #[must_use]
    pub fn count(&self, standing: Standing) -> usize {
        let rows = self.0.iter();
        rows.filter(|row| row.judgement.standing == standing)
            .count()
    }

    /// Returns whether any row is a finding.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.0.iter().any(|row| row.judgement.standing.is_finding())
    }
}

/// Returns the judgement of a row whose fact is missing.
pub(crate) fn unknown(missing: Unknown) -> Judgement {
    let state = format!("{}: {}", missing.evidence.source, missing.why);
    Judgement {
        evidence: vec![missing.evidence],
        ..Judgement::new(Standing::Unknown, state)
    }
}
