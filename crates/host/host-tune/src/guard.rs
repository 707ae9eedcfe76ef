//! Process that takes unconfirmed changes back. It belongs to a session of its own, so that the end
//! of the operator's terminal or connection does not end it.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use host::Roots;
use report::{EXIT_FINDINGS, EXIT_OK, Error};

use crate::apply::now_ms;
use crate::journal::{Folder, Phase};
use crate::revert::{OnConflict, take_back};

/// Byte with which the guard reports that it is ready.
pub(crate) const READY: u8 = b'R';
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
        "without a confirmation in time, {} changes were taken back",
        outcome.restored
    ));
    for conflict in outcome.conflicts {
        report::line(format_args!("left as it is: {conflict}"));
    }
    Ok(true)
}
