//! State of the applied changes, and their confirmation.

use report::Error;

use crate::guard::{is_guarded, now_ms};
use crate::journal::{Folder, Phase, Record};
use crate::revert::{Origin, elsewhere, origin};
use crate::{Goal, Order};

/// State of the changes of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Aim of the newest apply.
    pub goal: Goal,
    /// Progress.
    pub standing: Progress,
    /// Changes that are not taken back, in the order in which they were applied.
    pub changes: Vec<Present>,
}

/// Progress of the newest apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All changes are taken back.
    Reverted,
    /// The host has restarted, which ended all changes.
    Restarted,
    /// The apply runs, or it ended before its last change.
    Incomplete {
        /// True if a guard will take the changes back.
        is_guarded: bool,
    },
    /// The changes wait for their confirmation.
    Waiting {
        /// Seconds until the deadline; 0 after it.
        left_s: u64,
        /// True if a guard will take the changes back at the deadline.
        is_guarded: bool,
    },
    /// The changes stay until they are reverted or the host restarts.
    Confirmed,
}

/// Applied change with the present value of its setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Identifier of the row.
    pub id: String,
    /// Setting.
    pub setting: String,
    /// Value before the change.
    pub old: String,
    /// Value that the change wrote.
    pub new: String,
    /// True if a later apply has changed the setting again, so that `new` is not expected.
    pub is_replaced: bool,
    /// Present value, or the reason why it cannot be read.
    pub found: Result<String, host::SettingFault>,
}

impl Present {
    /// Returns whether the setting has another value than the applied one.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        !self.is_replaced && self.found.as_ref() != Ok(&self.new)
    }
}

impl Status {
    /// Returns whether the operator should act: changes that nothing takes back at their deadline,
    /// or values that another program has changed.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        let is_unguarded = matches!(
            self.standing,
            Progress::Incomplete { is_guarded: false }
                | Progress::Waiting {
                    is_guarded: false,
                    ..
                }
        );
        is_unguarded || self.changes.iter().any(Present::is_foreign)
    }
}

/// Reads the state of the changes, if any were ever applied. Changes nothing.
///
/// # Errors
/// The journal cannot be read, or belongs to another namespace.
pub fn status(order: &Order) -> Result<Option<Status>, Error> {
    let namespace = order.present_namespace()?;
    let Some(folder) = Folder::unlocked(&order.data)? else {
        return Ok(None);
    };
    let Some(state) = folder.state()? else {
        return Ok(None);
    };
    let mut status = Status {
        goal: state.goal,
        standing: Progress::Restarted,
        changes: Vec::new(),
    };
    match origin(&state, &namespace) {
        Origin::OtherBoot => return Ok(Some(status)),
        Origin::OtherNamespace => return Err(elsewhere(&state, &namespace)),
        Origin::Same => {}
    }
    let changes = state.open().map(|(number, item)| Present {
        is_replaced: state
            .open()
            .any(|(later, other)| number < later && other.setting == item.setting),
        id: item.id.clone(),
        setting: item.setting.to_string(),
        old: item.old.clone(),
        new: item.new.clone(),
        found: item.setting.read(&order.roots),
    });
    status.changes = changes.collect();
    let is_guarded = is_guarded(&folder)?;
    status.standing = match state.phase {
        _ if status.changes.is_empty() => Progress::Reverted,
        _ if !state.is_unconfirmed() => Progress::Confirmed,
        Phase::Waiting { deadline_ms } => Progress::Waiting {
            left_s: deadline_ms.saturating_sub(now_ms()).div_ceil(1000),
            is_guarded,
        },
        Phase::Incomplete | Phase::Confirmed => Progress::Incomplete { is_guarded },
    };
    Ok(Some(status))
}

/// Confirms the changes of the newest apply, which then stay. Returns their number.
///
/// # Errors
/// No changes wait for a confirmation, the apply did not end, or the journal cannot be written.
pub fn confirm(order: &Order) -> Result<usize, Error> {
    let namespace = order.present_namespace()?;
    let folder = Folder::lock(&order.data)?;
    let nothing = || {
        Error::usage("tune confirm: there are no unconfirmed changes")
            .hint("pelton tune status shows what is applied")
    };
    let state = folder.state()?.ok_or_else(nothing)?;
    match origin(&state, &namespace) {
        Origin::OtherBoot => {
            return Err(nothing().because(
                "the host has restarted since the changes were applied; the restart has reset them",
            ));
        }
        Origin::OtherNamespace => return Err(elsewhere(&state, &namespace)),
        Origin::Same if !state.is_unconfirmed() => return Err(nothing()),
        Origin::Same => {}
    }
    if state.phase == Phase::Incomplete {
        let what = "tune confirm: pelton tune apply ended before it had made all its changes";
        return Err(Error::usage(what)
            .hint("pelton tune revert reverts the changes that pelton tune apply made"));
    }
    folder.append()?.write(&Record::Confirmed)?;
    Ok(state.open().count())
}
