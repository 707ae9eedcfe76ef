//! Process that takes unconfirmed changes back. It belongs to a session of its own, so that the end
//! of the operator's terminal or connection does not end it.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use host::Roots;
use report::{EXIT_FINDINGS, EXIT_OK, Error};
use rustix::fs::{FlockOperation, flock};
use rustix::time::{ClockId, clock_gettime};

use crate::journal::{Folder, Phase};
use crate::revert::{OnConflict, take_back};

/// Byte with which the guard reports that it is ready.
pub(crate) const READY: u8 = b'R';
/// Time within which the guard must be ready.
const START_MAX: Duration = Duration::from_secs(5);
/// Time between two looks at the journal.
const LOOK: Duration = Duration::from_millis(250);
/// Pause before another try to take back what the kernel or the disk refused, and the number of
/// such tries. A busy card is free again within seconds; a full disk may take minutes.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
const RETRIES: u32 = 150;

/// Runs the guard of an apply. Standard input is the connection to the apply.
///
/// # Errors
/// The connection or the journal cannot be used.
pub fn guard(roots: &Roots, data: &Path, session: u32) -> Result<u8, Error> {
    let failed = |err: io::Error| Error::host(format!("tune guard: {err}"));
    rustix::process::setsid().map_err(|err| failed(err.into()))?;
    let connection = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut connection = UnixStream::from(connection);
    connection.write_all(&[READY]).map_err(failed)?;
    // The kernel ends the connection when the apply ends in whichever way.
    connection.read_to_end(&mut Vec::new()).map_err(failed)?;
    let mut retries_left = RETRIES;
    loop {
        match look(roots, data, session) {
            Ok(Look::Ended(code)) => return Ok(code),
            Ok(Look::Again(pause)) => thread::sleep(pause),
            Err(err) if 0 < retries_left => {
                report::line(&err);
                retries_left -= 1;
                thread::sleep(RETRY_PAUSE);
            }
            Err(err) => return Err(err),
        }
    }
}

/// Result of a look at the journal.
enum Look {
    /// Nothing is left to wait for; the guard ends with this exit code.
    Ended(u8),
    /// Another look is necessary after this pause.
    Again(Duration),
}

/// Takes the changes back if their time is over, unless they were confirmed meanwhile. Waits while
/// another command holds the lock.
fn look(roots: &Roots, data: &Path, session: u32) -> Result<Look, Error> {
    let ours = |folder: Option<&Folder>| {
        let state = folder.map_or(Ok(None), Folder::state)?;
        let ours = state.filter(|state| state.session == session && state.is_unconfirmed());
        Ok::<_, Error>(ours)
    };
    let Some(state) = ours(Folder::unlocked(data)?.as_ref())? else {
        return Ok(Look::Ended(EXIT_OK));
    };
    if let Phase::Waiting { deadline_ms } = state.phase {
        let left = Duration::from_millis(deadline_ms.saturating_sub(now_ms()));
        if !left.is_zero() {
            return Ok(Look::Again(left.min(LOOK)));
        }
    }
    let Some(folder) = Folder::lock_if_free(data)? else {
        return Ok(Look::Again(LOOK));
    };
    if ours(Some(&folder))?.is_none() {
        return Ok(Look::Ended(EXIT_OK));
    }
    // The operator may be cut off: a setting that another program changed must not keep the others.
    let outcome = take_back(roots, &folder, Some(session), OnConflict::Skip)?;
    report::line(format_args!(
        "{} changes were reverted, because they were not confirmed in time",
        outcome.restored
    ));
    for conflict in &outcome.conflicts {
        report::line(format_args!("not reverted: {}", conflict.text));
    }
    match outcome {
        outcome if outcome.is_worth_another_try() => Err(Error::host(format!(
            "tune guard: {} changes were not reverted, or were reverted without a record in the \
             journal",
            outcome.left
        ))),
        outcome if outcome.conflicts.is_empty() => Ok(Look::Ended(EXIT_OK)),
        _ => Ok(Look::Ended(EXIT_FINDINGS)),
    }
}

/// Returns the time since boot in milliseconds, including times of suspension.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // The clock starts at 0.
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Starts the process that takes the changes back, and waits until it is ready. The guard learns
/// from the end of the connection that this process has ended or finished.
pub(crate) fn start(
    folder: &Folder,
    data: &Path,
    session: u32,
) -> Result<(UnixStream, u32), Error> {
    let failed = |err: io::Error| {
        Error::host(format!(
            "tune apply: cannot start the process that reverts unconfirmed changes: {err}"
        ))
    };
    let data = data.canonicalize().map_err(failed)?;
    let log = folder.guard_log().map_err(failed)?;
    // An earlier guard has nothing to wait for any more, and ends within its next look.
    flock(&log, FlockOperation::LockExclusive).map_err(|err| failed(err.into()))?;
    log.set_len(0).map_err(failed)?;
    let (mut ours, theirs) = UnixStream::pair().map_err(failed)?;
    // The link leads to this program also after an upgrade has replaced its file.
    let mut child = Command::new("/proc/self/exe")
        .arg0("pelton")
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
        Ok(()) => Err(failed(io::Error::other(
            "pelton tune started a process that reverts unconfirmed changes, but another program answered in its place",
        ))),
        Err(err) => {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            Err(failed(err))
        }
    }
}

/// Returns whether a guard holds its log locked, and so waits for the deadline.
pub(crate) fn is_guarded(folder: &Folder) -> Result<bool, Error> {
    let failed = |err: io::Error| {
        Error::host(format!(
            "tune: cannot read guard.log, the log of tune guard: {err}"
        ))
    };
    let log = match folder.existing_guard_log() {
        Ok(log) => log,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(err) => return Err(failed(err)),
    };
    match flock(&log, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(err) => Err(failed(err.into())),
    }
}
