//! Apply of a plan: each change is written to the journal before it is made, and read back after.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use host::{Namespace, Roots, SettingFault};
use report::Error;
use rustix::fs::{FlockOperation, flock};
use rustix::time::{ClockId, clock_gettime};

use crate::guard::READY;
use crate::journal::{Folder, Journal, Record, State};
use crate::revert::{OnConflict, take_back};
use crate::{Change, Choice, Order, Plan};

/// Time within which the guard must be ready.
const START_MAX: Duration = Duration::from_secs(5);

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
    let earlier = folder.state()?.filter(|state| state.boot == namespace.boot);
    if let Some(state) = &earlier {
        require_free(state, &namespace)?;
    }
    let plan = order.plan(&namespace, choice)?;
    if plan.changes.is_empty() {
        return Ok(Applied { plan, guard: None });
    }
    for change in &plan.changes {
        let access = change.setting.check_access(&order.roots);
        access.map_err(|why| refused(&change.setting, why))?;
    }
    let session = earlier.as_ref().map_or(1, |state| state.session + 1);
    let (connection, guard) = start_guard(&folder, &order.data, session)?;
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
    made.map_err(
        |err| match take_back(&order.roots, &folder, Some(session), OnConflict::Skip) {
            Ok(outcome) if outcome.conflicts.is_empty() => {
                err.because("the changes before this one were taken back")
            }
            Ok(outcome) => err.because(outcome.conflicts.join("; ")),
            Err(second) => err.because(second.to_string()),
        },
    )?;
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
            "tune apply: the journal has changes of another network namespace, {}",
            state.namespace
        );
        return Err(Error::usage(what).hint("use another --data, or run pelton tune revert there"));
    }
    if state.is_unconfirmed() {
        let what = "tune apply: earlier changes wait for their confirmation";
        return Err(Error::usage(what)
            .hint("pelton tune confirm keeps them, pelton tune revert takes them back"));
    }
    Ok(())
}

fn refused(setting: &host::Setting, why: SettingFault) -> Error {
    let err = Error::host(format!("tune apply: cannot write {setting}: {why}"));
    match why {
        SettingFault::Denied => err
            .because("changes of the host need root")
            .hint("sudo pelton tune apply"),
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
        journal.write(&Record::Intent {
            id: change.check.id.to_owned(),
            setting: change.setting.clone(),
            old: change.old.clone(),
            new: change.new.clone(),
        })?;
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
            .hint(format!("--exclude {} leaves this row out", check.id))
        };
        let written = setting.write(roots, new);
        written.map_err(|why| failed(&why.to_string()))?;
        let seen = setting
            .read(roots)
            .map_err(|why| failed(&why.to_string()))?;
        if seen != *new {
            journal.write(&Record::Seen {
                value: seen.clone(),
            })?;
            return Err(failed(&format!("the kernel made {seen} of it")));
        }
    }
    let deadline_ms = now_ms() + u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX / 2);
    journal.write(&Record::Applied { deadline_ms })
}

/// Returns the time since boot in milliseconds, including times of suspension.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // The clock starts at 0.
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Starts the process that takes the changes back, and waits until it is ready. The guard learns
/// from the end of the connection that this process has ended or finished.
fn start_guard(folder: &Folder, data: &Path, session: u32) -> Result<(UnixStream, u32), Error> {
    let failed =
        |err: std::io::Error| Error::host(format!("tune apply: cannot start the guard: {err}"));
    let data = data.canonicalize().map_err(failed)?;
    let log = File::options()
        .append(true)
        .create(true)
        .open(folder.guard_log());
    let log = log.map_err(failed)?;
    // An earlier guard has nothing to wait for any more, and ends within its next look.
    flock(&log, FlockOperation::LockExclusive).map_err(|err| failed(err.into()))?;
    log.set_len(0).map_err(failed)?;
    let (mut ours, theirs) = UnixStream::pair().map_err(failed)?;
    let program = std::fs::read_link("/proc/self/exe").map_err(failed)?;
    let mut child = Command::new(program)
        .args(["tune", "guard", "--session", &session.to_string(), "--data"])
        .arg(data)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::from(log.try_clone().map_err(failed)?))
        .stderr(Stdio::from(log))
        .spawn()
        .map_err(failed)?;
    let mut answer = [0];
    let ready = ours
        .set_read_timeout(Some(START_MAX))
        .and_then(|()| ours.read_exact(&mut answer));
    match ready {
        Ok(()) if answer == [READY] => Ok((ours, child.id())),
        Ok(()) => Err(failed(std::io::Error::other("it is another program"))),
        Err(err) => {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            Err(failed(err))
        }
    }
}

/// Returns whether a guard holds its log locked, and so waits for the deadline.
pub(crate) fn is_guarded(folder: &Folder) -> Result<bool, Error> {
    let path = folder.guard_log();
    let failed =
        |err: std::io::Error| Error::host(format!("tune: cannot read {}: {err}", path.display()));
    let log = match File::open(&path) {
        Ok(log) => log,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(err) => return Err(failed(err)),
    };
    match flock(&log, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(err) => Err(failed(err.into())),
    }
}
