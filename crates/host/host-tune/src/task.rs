//! Subcommands of `pelton tune`, with their results on stdout.

use std::io::Write as _;
use std::time::Duration;

use report::{EXIT_FINDINGS, Error, print};

use crate::{Choice, OnConflict, Order, apply, confirm, plan, render, revert, status};

/// Shortest and longest time for a confirmation.
const TIMEOUT_MIN: Duration = Duration::from_secs(2);
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Form of a printed result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON for machines.
    Json,
}

/// Subcommand with its arguments.
#[derive(Clone, Debug)]
pub enum Task {
    /// Prints the plan.
    Plan(Choice, Format),
    /// Applies the plan. The time is that for the confirmation; `None` if it was mistyped.
    Apply(Choice, Option<Duration>),
    /// Prints the state.
    Status(Format),
    /// Confirms the changes.
    Confirm,
    /// Takes the changes back.
    Revert(OnConflict),
}

/// Runs a subcommand, and returns its exit code.
///
/// # Errors
/// The subcommand was not carried out; or a revert found values of another program.
pub fn run(order: &Order, task: &Task) -> Result<u8, Vec<Error>> {
    let one = |err| vec![err];
    match task {
        Task::Plan(choice, format) => {
            let plan = plan(order, choice).map_err(one)?;
            match format {
                Format::Text => print(|out| render::write_plan(out, &plan)),
                Format::Json => print(|out| writeln!(out, "{:#}", render::plan_json(&plan))),
            }
        }
        Task::Apply(choice, timeout) => {
            let timeout = timeout.filter(|time| (TIMEOUT_MIN..=TIMEOUT_MAX).contains(time));
            let timeout = timeout
                .ok_or_else(|| vec![Error::usage("--timeout: expected a time of 2s to 24h")])?;
            let applied = apply(order, choice, timeout).map_err(one)?;
            print(|out| render::write_applied(out, &applied, timeout))
        }
        Task::Status(format) => {
            let status = status(order).map_err(one)?;
            let status = status.as_ref();
            let code = match format {
                Format::Text => print(|out| render::write_status(out, status)),
                Format::Json => print(|out| writeln!(out, "{:#}", render::status_json(status))),
            }?;
            match status.is_some_and(|status| status.has_findings()) {
                true => Ok(EXIT_FINDINGS),
                false => Ok(code),
            }
        }
        Task::Confirm => {
            let count = confirm(order).map_err(one)?;
            print(|out| {
                writeln!(
                    out,
                    "confirmed: {count} changes stay until pelton tune revert or a restart of the machine"
                )
            })
        }
        Task::Revert(on_conflict) => {
            let outcome = revert(order, *on_conflict).map_err(one)?;
            let (restored, left) = (outcome.restored, outcome.left);
            let code =
                print(|out| writeln!(out, "reverted changes: {restored}, remaining: {left}"))?;
            render::finding(outcome).map_or(Ok(code), |err| Err(vec![err]))
        }
    }
}
