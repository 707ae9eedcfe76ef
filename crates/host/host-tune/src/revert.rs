//! Taking changes back, from the last to the first.

use host::{Namespace, Roots};
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
    /// Settings with another value than the applied one, each with what was found.
    pub conflicts: Vec<String>,
    /// Number of changes that are still applied.
    pub left: usize,
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
        "tune: the changes were applied in the network namespace {}, but this is the namespace {}",
        state.namespace, namespace.name
    ))
    .hint("run the command in that namespace")
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
                journal.write(&Record::Restored { change })?;
                outcome.restored += 1;
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

/// Writes the old value, unless the setting has it already. The error says what was found.
fn restore(roots: &Roots, item: &Item, on_conflict: OnConflict) -> Result<(), String> {
    let Item {
        setting,
        old,
        new,
        seen,
        ..
    } = item;
    let found = match setting.read(roots) {
        Ok(found) => found,
        Err(host::SettingFault::Absent) if on_conflict == OnConflict::Overwrite => return Ok(()),
        Err(why) => {
            return Err(format!(
                "{setting}: {why}; tune had changed it from {old} to {new}"
            ));
        }
    };
    if found == *old {
        return Ok(());
    }
    if found != *new && Some(&found) != seen.as_ref() && on_conflict != OnConflict::Overwrite {
        return Err(format!(
            "{setting} is {found}, but tune had changed it from {old} to {new}: another program has changed it since"
        ));
    }
    let written = setting.write(roots, old);
    written.map_err(|why| format!("{setting}: cannot write {old}: {why}"))?;
    match setting.read(roots) {
        Ok(found) if found == *old => Ok(()),
        Ok(found) => Err(format!(
            "{setting}: tune wrote {old}, but the kernel stored {found}"
        )),
        Err(why) => Err(format!("{setting}: {why}")),
    }
}
