//! Detaching a process from its terminal and from the process that started it.

use std::fs::{self, File};
use std::io;

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::Error;

/// One of the two processes in which a call of [`detach`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that called [`detach`], which should exit now.
    Starter,
    /// The forked copy of the process, which continues to run in a session of its own, without a
    /// terminal.
    Detached,
}

/// Forks a copy of this process. Like a process after `daemon(3)`, the copy continues without a
/// terminal, but it keeps the working directory. Its stdin, stdout and stderr are `/dev/null`; all
/// its other descriptors stay open.
///
/// # Errors
/// If the process has several threads, because the copy would lack the other threads, or if the
/// host cannot create a process.
pub fn detach() -> Result<Side, Error> {
    let failed = |source| Error::host("detach from the terminal", source);
    let threads = fs::read_dir("/proc/self/task").map_err(failed)?.count();
    if threads != 1 {
        let text =
            format!("the process already has {threads} threads, and can detach only with one");
        return Err(failed(io::Error::other(text)));
    }
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(failed)?;
    // SAFETY: in a forked child, only the thread that called `fork` exists. A lock that another
    // thread held would never be released in the child. The count above found no other thread, so
    // no other thread holds a lock. Breaks if a thread is started between the count and this call.
    match unsafe { libc::fork() } {
        -1 => return Err(failed(io::Error::last_os_error())),
        0 => {}
        _ => return Ok(Side::Starter),
    }
    let redirected = setsid()
        .and_then(|_| dup2_stdin(&null))
        .and_then(|()| dup2_stdout(&null))
        .and_then(|()| dup2_stderr(&null));
    redirected.map_err(|errno| failed(errno.into()))?;
    Ok(Side::Detached)
}
