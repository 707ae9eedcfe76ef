//! Plans and states as text for people and as JSON.

use std::io::{self, Write};
use std::time::Duration;

use report::Error;
use serde_json::{Value, json};

use crate::{Applied, Change, Obstacle, Outcome, Plan, Present, Progress, Reason, Status};

/// Version of the documents. A change that readers could misunderstand increases it.
const VERSION: u32 = 1;

/// Writes a plan for people.
pub(crate) fn write_plan(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    let count = plan.changes.len();
    writeln!(out, "goal: {}, changes: {count}", plan.goal.name())?;
    for (number, change) in (1..).zip(&plan.changes) {
        let Change {
            check,
            setting,
            old,
            new,
        } = change;
        writeln!(out, "\n{number}. {}: {}", check.id, check.title)?;
        writeln!(out, "  setting   {setting}")?;
        writeln!(out, "  now       {old}")?;
        writeln!(out, "  new       {new}")?;
        writeln!(out, "  gain      {}", check.gain)?;
        writeln!(out, "  risk      {}", check.risk)?;
        writeln!(
            out,
            "  undo      pelton tune revert, or {}",
            setting.command(old)
        )?;
    }
    let groups = [
        (Reason::NeverApplied, "never applied by pelton"),
        (
            Reason::OnRequest,
            "applied only with --include, because of the risk",
        ),
        (Reason::NotPossible, "not possible on this host"),
        (Reason::Excluded, "excluded"),
        (Reason::NotNeeded, "not needed"),
    ];
    for (reason, title) in groups {
        let others = plan.others.iter().filter(|other| other.reason == reason);
        for (index, other) in others.enumerate() {
            if index == 0 {
                writeln!(out, "\n{title}:")?;
            }
            writeln!(out, "  {:<16} {}", other.check.id, other.text)?;
        }
    }
    Ok(())
}

/// Writes the result of an apply for people.
pub(crate) fn write_applied(
    out: &mut dyn Write,
    applied: &Applied,
    timeout: Duration,
) -> io::Result<()> {
    let Some(guard) = applied.guard else {
        return writeln!(
            out,
            "nothing to change: every setting of the plan already has the recommended value"
        );
    };
    for Change {
        setting, old, new, ..
    } in &applied.plan.changes
    {
        writeln!(out, "{setting}: {old} before, {new} now")?;
    }
    let (count, seconds) = (applied.plan.changes.len(), timeout.as_secs());
    writeln!(
        out,
        "applied: {count} changes; process {guard} reverts them in {seconds} s"
    )?;
    writeln!(
        out,
        "to keep the changes, run pelton tune confirm over a new connection to this machine"
    )
}

/// Returns the finding of a revert that did not take every change back, or did not record it.
pub(crate) fn finding(outcome: Outcome) -> Option<Error> {
    let texts = outcome.texts();
    let hint = match outcome.conflicts.first().map(|first| first.obstacle) {
        None => return outcome.unrecorded,
        Some(Obstacle::OtherValue) => {
            "pelton tune revert --force restores the old values nevertheless"
        }
        Some(Obstacle::Absent) => {
            "pelton tune revert --force skips this setting and reverts the others"
        }
        Some(Obstacle::Refused) => {
            "run pelton tune revert again later; with --force, it skips this setting"
        }
    };
    let err = Error::finding(format!("tune revert: {texts}")).hint(hint);
    Some(match outcome.unrecorded {
        None => err,
        Some(second) => err.because(second.to_string()),
    })
}

/// Returns a plan as JSON.
pub(crate) fn plan_json(plan: &Plan) -> Value {
    let changes = plan.changes.iter().map(|change| {
        json!({
            "id": change.check.id,
            "title": change.check.title,
            "setting": change.setting.to_string(),
            "present": change.old,
            "new": change.new,
            "gain": change.check.gain,
            "risk": change.check.risk,
            "undo": change.setting.command(&change.old),
        })
    });
    let others = plan.others.iter().map(|other| {
        json!({
            "id": other.check.id,
            "class": other.check.class.letter(),
            "reason": other.reason.name(),
            "text": other.text,
        })
    });
    json!({
        "version": VERSION,
        "goal": plan.goal.name(),
        "changes": changes.collect::<Vec<_>>(),
        "others": others.collect::<Vec<_>>(),
    })
}

/// Writes the state of the changes for people.
pub(crate) fn write_status(out: &mut dyn Write, status: Option<&Status>) -> io::Result<()> {
    let Some(status) = status else {
        return writeln!(out, "nothing was applied");
    };
    writeln!(out, "{}", sentence(status.standing))?;
    for change in &status.changes {
        let Present {
            id,
            setting,
            old,
            new,
            is_replaced,
            found,
        } = change;
        let found = match found {
            _ if *is_replaced => ", replaced by a later change".to_owned(),
            _ if !change.is_foreign() => String::new(),
            Ok(found) => {
                format!(
                    ", now {found}: another program has changed this setting, \
                     or tune could not write it"
                )
            }
            Err(why) => format!(", and the present value is unknown: {why}"),
        };
        writeln!(
            out,
            "  {id:<16} {setting}: {old} before, {new} applied{found}"
        )?;
    }
    Ok(())
}

fn sentence(progress: Progress) -> String {
    let unguarded = "the process that should revert the changes has ended: \
         run pelton tune confirm or pelton tune revert";
    match progress {
        Progress::Reverted => "all changes are reverted".to_owned(),
        Progress::Restarted => {
            "the host has restarted, which has reset all changed settings".to_owned()
        }
        Progress::Confirmed => {
            "the changes are confirmed; pelton tune revert reverts them".to_owned()
        }
        Progress::Waiting {
            left_s,
            is_guarded: true,
        } => {
            format!("the changes are reverted in {left_s} s, unless pelton tune confirm keeps them")
        }
        Progress::Waiting {
            is_guarded: false, ..
        } => format!("the changes are not confirmed, and {unguarded}"),
        Progress::Incomplete { is_guarded: true } => "pelton tune apply is running".to_owned(),
        Progress::Incomplete { is_guarded: false } => {
            "pelton tune apply was interrupted: run pelton tune revert to revert the changes \
             that it had made"
                .to_owned()
        }
    }
}

/// Returns the state of the changes as JSON; null if none were ever applied.
pub(crate) fn status_json(status: Option<&Status>) -> Value {
    let Some(status) = status else {
        return Value::Null;
    };
    let (standing, left_s, is_guarded) = match status.standing {
        Progress::Reverted => ("reverted", None, None),
        Progress::Restarted => ("restarted", None, None),
        Progress::Confirmed => ("confirmed", None, None),
        Progress::Waiting { left_s, is_guarded } => ("waiting", Some(left_s), Some(is_guarded)),
        Progress::Incomplete { is_guarded } => ("incomplete", None, Some(is_guarded)),
    };
    let changes = status.changes.iter().map(|change| {
        json!({
            "id": change.id,
            "setting": change.setting,
            "old": change.old,
            "new": change.new,
            "present": change.found.as_ref().ok(),
            "isReplaced": change.is_replaced,
            "isForeign": change.is_foreign(),
        })
    });
    json!({
        "version": VERSION,
        "goal": status.goal.name(),
        "state": standing,
        "secondsLeft": left_s,
        "isGuarded": is_guarded,
        "changes": changes.collect::<Vec<_>>(),
    })
}
