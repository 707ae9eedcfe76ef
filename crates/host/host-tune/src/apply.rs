//! Apply of a plan: each change is written to the journal before it is made, and read back after.

use std::time::Duration;

use host::{Namespace, Roots, SettingFault};
use report::Error;

use crate::guard::{self, now_ms};
use crate::journal::{Folder, Journal, Record, State};
use crate::revert::{OnConflict, take_back};
use crate::{Change, Choice, Order, Plan};

/// Result of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Plan whose changes were applied.
    pub plan: Plan,
    /// Process that takes the changes back at the deadline; `None` if there was nothing to change.
    pub guard: Option<u32>,
}

/// Applies the changes of a plan. A guard takes them back after `timeout` unless they are
/// confirmed.
///
/// # Errors
/// The namespace is not the host's, another tune runs or waits for its confirmation, a permission
/// is missing, or a change failed. In the last case, the changes before it are taken back.
pub fn apply(order: &Order, choice: &Choice, timeout: Duration) -> Result<Applied, Error> {
    let namespace = order.namespace()?;
    let folder = Folder::lock(&order.data)?;
    let earlier = folder.state()?;
    // The number is new, so that no guard takes the journal of an earlier boot for its own.
    let session = earlier.as_ref().map_or(1, |state| state.session + 1);
    let earlier = earlier.filter(|state| state.boot == namespace.boot);
    if let Some(state) = &earlier {
        require_free(state, &namespace)?;
        folder.require_room()?;
    }
    let plan = order.plan(&namespace, choice)?;
    if plan.changes.is_empty() {
        return Ok(Applied { plan, guard: None });
    }
    for change in &plan.changes {
        let access = change.setting.check_access(&order.roots);
        access.map_err(|why| refused(&change.setting, why))?;
    }
    let (connection, guard) = guard::start(&folder, &order.data, session)?;
    let begin = Record::Begin {
        session,
        boot: namespace.boot,
        namespace: namespace.name,
        goal: choice.goal,
    };
    // Changes of an earlier apply stay in the journal until they are taken back.
    let journal = match earlier.filter(|state| state.open().next().is_some()) {
        Some(_) => folder.append().and_then(|mut journal| {
            journal.write(&begin)?;
            Ok(journal)
        }),
        None => folder.begin(&begin),
    };
    let made = make(&order.roots, &mut journal?, &plan.changes, timeout);
    made.map_err(|err| {
        let outcome = take_back(&order.roots, &folder, Some(session), OnConflict::Skip);
        err.because(match outcome {
            Ok(outcome) if !outcome.conflicts.is_empty() => outcome.texts(),
            Ok(outcome) => match outcome.unrecorded {
                None => "all changes of this run were reverted".to_owned(),
                Some(second) => format!(
                    "all changes of this run were reverted, but the journal could \
                     not record these reverts: {second}"
                ),
            },
            Err(second) => second.to_string(),
        })
    })?;
    // The guard waits for the end of this connection before it counts the time.
    drop(connection);
    Ok(Applied {
        plan,
        guard: Some(guard),
    })
}

/// Refuses a journal whose changes must be confirmed or taken back first.
fn require_free(state: &State, namespace: &Namespace) -> Result<(), Error> {
    if state.open().next().is_some() && state.namespace != namespace.name {
        let what = format!(
            "tune apply: the journal contains changes that were made in another network namespace, {}",
            state.namespace
        );
        return Err(Error::usage(what)
            .hint("use another --data, or run pelton tune revert in that network namespace"));
    }
    if state.is_unconfirmed() {
        let what = "tune apply: earlier changes are not confirmed yet";
        return Err(Error::usage(what).hint(
            "run pelton tune confirm to keep these changes, or pelton tune revert to revert them",
        ));
    }
    Ok(())
}

fn refused(setting: &host::Setting, why: SettingFault) -> Error {
    let err = Error::host(format!("tune apply: cannot write {setting}: {why}"));
    match why {
        SettingFault::Denied => err
            .because("only root may change settings of the host")
            .hint("run sudo pelton tune apply"),
        SettingFault::ReadOnly => err
            .because("the file system is mounted read-only, as in most containers")
            .hint("run pelton tune on the host"),
        _ => err,
    }
}

/// Makes the changes, each after its intention is on disk.
pub(crate) fn make(
    roots: &Roots,
    journal: &mut Journal,
    changes: &[Change],
    timeout: Duration,
) -> Result<(), Error> {
    for change in changes {
        let Change {
            check,
            setting,
            new,
            ..
        } = change;
        let failed = |what: &str| {
            Error::host(format!(
                "tune apply: cannot write {new} to {setting}: {what}"
            ))
            .hint(format!(
                "add --exclude {} to leave this row out of the plan",
                check.id
            ))
        };
        // A change before this one may have reset the setting, such as another number of queues.
        let old = setting.read(roots);
        let old = old.map_err(|why| failed(&why.to_string()))?;
        if old == *new {
            continue;
        }
        journal.write(&Record::Intent {
            id: check.id.to_owned(),
            setting: setting.clone(),
            old,
            new: new.clone(),
        })?;
        let written = setting.write(roots, new);
        written.map_err(|why| failed(&why.to_string()))?;
        let seen = setting
            .read(roots)
            .map_err(|why| failed(&why.to_string()))?;
        if seen != *new {
            journal.write(&Record::Seen {
                value: seen.clone(),
            })?;
            return Err(failed(&format!("the kernel stored {seen} instead")));
        }
    }
    let deadline_ms = now_ms() + u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX / 2);
    journal.write(&Record::Applied { deadline_ms })
}
