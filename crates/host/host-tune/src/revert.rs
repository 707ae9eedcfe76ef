//! Taking changes back, from the last to the first.

use host::{Namespace, Roots, SettingFault};
use report::Error;

use crate::Order;
use crate::journal::{Folder, Item, Record, State};

/// Treatment of a setting whose value is not the one that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Stop at this setting.
    Stop,
    /// Leave this setting as it is, and go on.
    Skip,
    /// Write the old value. A setting that does not exist any more is given up.
    Overwrite,
}

/// Result of taking changes back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of changes that are back at their old value.
    pub restored: usize,
    /// Settings that are not back at their old value.
    pub conflicts: Vec<Conflict>,
    /// Number of changes that are still applied.
    pub left: usize,
    /// Error of the journal, if it could not record every change that is back at its old value.
    pub unrecorded: Option<Error>,
}

/// Setting that was not taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Reason.
    pub obstacle: Obstacle,
    /// Sentence for people: the setting, and what was found.
    pub text: String,
}

/// Reason why a setting was not taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Another program has changed the value.
    OtherValue,
    /// The setting does not exist any more.
    Absent,
    /// The kernel refused to read or write the setting, perhaps only for a time.
    Refused,
}

impl Outcome {
    /// Returns the sentences about the settings that were not taken back.
    pub(crate) fn texts(&self) -> String {
        let texts = self.conflicts.iter().map(|conflict| conflict.text.as_str());
        texts.collect::<Vec<_>>().join("; ")
    }

    /// Returns whether another try may take more changes back, or record them.
    pub(crate) fn is_worth_another_try(&self) -> bool {
        let mut obstacles = self.conflicts.iter().map(|conflict| conflict.obstacle);
        self.unrecorded.is_some() || obstacles.any(|obstacle| obstacle == Obstacle::Refused)
    }
}

/// Relation of a journal to the running system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Same,
    /// The host has restarted, which ended all changes.
    OtherBoot,
    OtherNamespace,
}

pub(crate) fn origin(state: &State, namespace: &Namespace) -> Origin {
    if state.boot != namespace.boot {
        Origin::OtherBoot
    } else if state.namespace != namespace.name {
        Origin::OtherNamespace
    } else {
        Origin::Same
    }
}

/// Returns the error for a journal of another network namespace.
pub(crate) fn elsewhere(state: &State, namespace: &Namespace) -> Error {
    Error::usage(format!(
        "tune: the changes were applied in the network namespace {}, but this process is in the \
         namespace {}",
        state.namespace, namespace.name
    ))
    .hint("run pelton tune in the network namespace in which the changes were made")
}

/// Takes all changes of the journal back.
///
/// # Errors
/// The journal cannot be read or written, belongs to another namespace, or another tune runs.
pub fn revert(order: &Order, on_conflict: OnConflict) -> Result<Outcome, Error> {
    let namespace = order.present_namespace()?;
    let folder = Folder::lock(&order.data)?;
    let Some(state) = folder.state()? else {
        return Ok(Outcome::default());
    };
    match origin(&state, &namespace) {
        Origin::Same => take_back(&order.roots, &folder, None, on_conflict),
        Origin::OtherBoot => Ok(Outcome::default()),
        Origin::OtherNamespace => Err(elsewhere(&state, &namespace)),
    }
}

/// Takes the changes of one apply, or of all, back. The caller holds the lock.
pub(crate) fn take_back(
    roots: &Roots,
    folder: &Folder,
    session: Option<u32>,
    on_conflict: OnConflict,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let Some(state) = folder.state()? else {
        return Ok(outcome);
    };
    let mut journal = folder.append()?;
    let is_chosen = |item: &Item| session.is_none_or(|session| session == item.session);
    for (change, item) in state.open().rev().filter(|(_, item)| is_chosen(item)) {
        match restore(roots, item, on_conflict) {
            Ok(()) => {
                outcome.restored += 1;
                // On a full disk, the other values are taken back all the same. A change that is
                // not recorded is found at its old value by the next revert.
                if outcome.unrecorded.is_none() {
                    outcome.unrecorded = journal.write(&Record::Restored { change }).err();
                }
            }
            Err(conflict) => {
                outcome.conflicts.push(conflict);
                if on_conflict == OnConflict::Stop {
                    break;
                }
            }
        }
    }
    let chosen = state.open().filter(|(_, item)| is_chosen(item)).count();
    outcome.left = chosen - outcome.restored;
    Ok(outcome)
}

/// Writes the old value, unless the setting has it already.
fn restore(roots: &Roots, item: &Item, on_conflict: OnConflict) -> Result<(), Conflict> {
    let Item {
        setting,
        old,
        new,
        seen,
        ..
    } = item;
    let conflict = |obstacle, text: String| {
        Err(Conflict {
            obstacle,
            text: format!("{setting}{text}"),
        })
    };
    let refused = |text: String| conflict(Obstacle::Refused, text);
    let found = match setting.read(roots) {
        Ok(found) => found,
        Err(SettingFault::Absent) if on_conflict == OnConflict::Overwrite => return Ok(()),
        Err(why) => {
            let obstacle = match why {
                SettingFault::Absent => Obstacle::Absent,
                _ => Obstacle::Refused,
            };
            return conflict(
                obstacle,
                format!(": {why}; tune had changed this setting from {old} to {new}"),
            );
        }
    };
    if found == *old {
        return Ok(());
    }
    let is_ours = found == *new || Some(&found) == seen.as_ref() || setting.is_cut_off(&found);
    if !is_ours && on_conflict != OnConflict::Overwrite {
        let text = format!(
            " is {found}, but tune had changed it from {old} to {new}: another program has changed it since"
        );
        return conflict(Obstacle::OtherValue, text);
    }
    if let Err(why) = setting.write(roots, old) {
        return refused(format!(": cannot write {old}: {why}"));
    }
    match setting.read(roots) {
        Ok(found) if found == *old => Ok(()),
        Ok(found) => refused(format!(": tune wrote {old}, but the kernel stored {found}")),
        Err(why) => refused(format!(": {why}")),
    }
}
