//! Upgrade on SIGUSR2: a new process takes over the listening sockets, so that no connection is
//! refused meanwhile.
//!
//! ```text
//! old ── starts its own program again ────► new: reads the configuration, as at any start
//!     ── the listening sockets ───────────►      opens its other resources, serves
//!     ◄─────────────────── "ready" ────────
//!     drains, ends
//! ```
//!
//! The processes communicate over a socket, which is the standard input of the new process. So
//! there is no path that another process could open, and no descriptor that another child inherits.
//! If the new process ends or stays silent, the old process continues unchanged. The new process is
//! started from the path of the running program, so an upgrade runs the version that is now
//! installed there.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Error;
use crate::handover::{receive_listeners, send_listeners};

/// Environment variable that is set if standard input is the socket to the process to be replaced.
const VARIABLE: &str = "PELTON_UPGRADE";
const READY: u8 = b'R';

/// Path of the running program, from which an upgrade starts the program again.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

impl Program {
    /// Returns the path of the running program. Must be called at the start, before the program's
    /// file is replaced.
    pub fn own() -> Result<Program, Error> {
        let path = std::fs::read_link("/proc/self/exe");
        path.map(Program)
            .map_err(|err| Error::host("find the path of this program", err))
    }

    /// Starts the program again and sends it `sockets`. Returns the id of the new process once it
    /// serves, or an error if the new process does not serve within `patience`.
    pub fn take_over(&self, sockets: &[TcpListener], patience: Duration) -> io::Result<u32> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = self.start(theirs)?;
        let readiness = send_listeners(sockets, &ours)
            .and_then(|()| ours.set_read_timeout(Some(patience)))
            .and_then(|()| (&ours).read_exact(&mut [0]));
        match readiness {
            Ok(()) => Ok(child.id()),
            Err(err) => {
                // If the new process has already ended, `kill` has no effect. Its log lines then
                // state why it ended.
                child.kill()?;
                let status = child.wait()?;
                Err(io::Error::other(format!(
                    "the new process ended with {status}: {err}"
                )))
            }
        }
    }

    /// Starts the child with `stdin`, the child's end of the socket. The copy of `stdin` in this
    /// process is closed; otherwise this process would not notice when the child ends.
    fn start(&self, stdin: UnixStream) -> io::Result<Child> {
        Command::new(&self.0)
            .args(env::args_os().skip(1))
            .env(VARIABLE, "1")
            .stdin(Stdio::from(OwnedFd::from(stdin)))
            .spawn()
    }
}

/// Connection to the process that this process replaces.
#[derive(Debug)]
pub struct Predecessor(UnixStream);

/// Returns the connection to the process that this process replaces, and the listening sockets of
/// that process. Returns `None` if this process was not started by an upgrade.
pub fn predecessor() -> Result<Option<(Predecessor, Vec<TcpListener>)>, Error> {
    if env::var_os(VARIABLE).is_none() {
        return Ok(None);
    }
    let failed = |err: io::Error| {
        Error::host("take over the sockets of the old process", err).with_hint(format!(
            "Pelton itself sets {VARIABLE} for an upgrade; unset it to start normally"
        ))
    };
    let stream = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let stream = UnixStream::from(stream);
    let sockets = receive_listeners(&stream).map_err(failed)?;
    Ok(Some((Predecessor(stream), sockets)))
}

impl Predecessor {
    /// Notifies the predecessor that this process now accepts connections. The predecessor then
    /// finishes its open requests and ends.
    pub fn dismiss(&self) {
        if let Err(err) = (&self.0).write_all(&[READY]) {
            tracing::warn!(%err, "the old process has already ended");
        }
    }
}
