//! The table of checks, in groups.

mod app;
mod card;
mod limits;
mod machine;
mod path;
mod socket;
mod steering;
mod tcp;

use crate::Facts;
use crate::check::{Check, Finding, Report, unknown};

/// All checks, in groups.
pub const CHECKS: &[&[Check]] = &[
    app::ROWS,
    socket::ROWS,
    steering::ROWS,
    card::ROWS,
    path::ROWS,
    tcp::ROWS,
    limits::ROWS,
    machine::ROWS,
];

/// Judges every row of [`CHECKS`].
#[must_use]
pub fn judge(facts: &Facts) -> Report {
    let mut rows: Vec<Finding> = CHECKS
        .iter()
        .flat_map(|group| group.iter())
        .map(|check| Finding {
            check,
            judgement: (check.judge)(facts).unwrap_or_else(unknown),
        })
        .collect();
    rows.sort_by_key(|row| row.judgement.standing);
    Report(rows)
}
