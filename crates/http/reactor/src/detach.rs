//! A process that goes on without whoever started it.

use std::fs::{self, File};
use std::io;

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::Error;

/// Which of the two processes this is, see [`detach`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that was started. It has nothing left to do but to end.
    Starter,
    /// The one that goes on: it leads a session of its own, without a terminal.
    Detached,
}

/// Makes a copy of this process that goes on without its terminal, as `daemon(3)` does, but where it stands in the file
/// system. What the copy writes to stdout and stderr is lost, and what is open stays open.
///
/// # Errors
/// There are threads already, which the copy would lack, or the host gives no process.
pub fn detach() -> Result<Side, Error> {
    let failed = |source| Error::host("detach from the terminal", source);
    let threads = fs::read_dir("/proc/self/task").map_err(failed)?.count();
    if threads != 1 {
        let text = format!("{threads} threads run already");
        return Err(failed(io::Error::other(text)));
    }
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(failed)?;
    // SAFETY: a copy of a process with threads would lack all but one, and find their locks held; the count above says
    //         that there is this one alone. Breaks if a thread could be started by anything but this one.
    match unsafe { libc::fork() } {
        -1 => return Err(failed(io::Error::last_os_error())),
        0 => {}
        _ => return Ok(Side::Starter),
    }
    let moved = setsid()
        .and_then(|_| dup2_stdin(&null))
        .and_then(|()| dup2_stdout(&null))
        .and_then(|()| dup2_stderr(&null));
    moved.map_err(|errno| failed(errno.into()))?;
    Ok(Side::Detached)
}
