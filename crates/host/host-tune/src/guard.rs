//! Process that takes unconfirmed changes back. It belongs to a session of its own, so that the end
//! of the operator's terminal or connection does not end it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
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
    let folder = Folder::unlocked(data);
    loop {
        let state = folder.state()?;
        let Some(state) = state.filter(|state| state.session == session && state.is_unconfirmed())
        else {
            return Ok(EXIT_OK);
        };
        let left_ms = match state.phase {
            Phase::Waiting { deadline_ms } => deadline_ms.saturating_sub(now_ms()),
            Phase::Incomplete | Phase::Confirmed => 0,
        };
        if left_ms == 0 && has_ended(roots, data, session)? {
            let open = folder.state()?.is_some_and(|state| state.is_unconfirmed());
            return Ok(if open { EXIT_FINDINGS } else { EXIT_OK });
        }
        thread::sleep(LOOK.min(Duration::from_millis(left_ms.max(10))));
    }
}

/// Takes the changes back, unless another tune holds the lock or they were confirmed meanwhile.
/// Returns whether there is nothing more to wait for.
fn has_ended(roots: &Roots, data: &Path, session: u32) -> Result<bool, Error> {
    let Some(folder) = Folder::lock_if_free(data)? else {
        return Ok(false);
    };
    let state = folder.state()?;
    if !state.is_some_and(|state| state.session == session && state.is_unconfirmed()) {
        return Ok(true);
    }
    // The operator may be cut off: a setting that another program changed must not keep the others.
    let outcome = take_back(roots, &folder, Some(session), OnConflict::Skip)?;
    report::line(format_args!(
        "{} changes were reverted, because they were not confirmed in time",
        outcome.restored
    ));
    for conflict in outcome.conflicts {
        report::line(format_args!("not reverted: {conflict}"));
    }
    Ok(true)
}

/// Returns the time since boot in milliseconds, including times of suspension.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // The clock starts at 0.
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Starts the guard, the process that takes the changes back, and waits until it is ready. When the
/// returned connection closes, the guard knows that the calling process has finished or has died.
pub(crate) fn start(
    folder: &Folder,
    data: &Path,
    session: u32,
) -> Result<(UnixStream, u32), Error> {
    let failed = |err: io::Error| Error::host(format!("tune apply: cannot start the guard: {err}"));
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
        Ok(()) => Err(failed(io::Error::other(
            "an unexpected program was started",
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
    let path = folder.guard_log();
    let failed =
        |err: io::Error| Error::host(format!("tune: cannot read {}: {err}", path.display()));
    let log = match File::open(&path) {
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
