//! SIGUSR2: a new process takes over without a moment in which nobody listens.
//!
//! ```text
//! old ── starts its own program anew ─────► new: reads the configuration, as at any start
//!     ── the listening sockets ───────────►      opens what else it needs, serves
//!     ◄─────────────────── "ready" ─────────
//!     drains, ends
//! ```
//!
//! What passes between them is a socket that the new process finds as its standard input: no path that anybody could
//! take, no descriptor that another child inherits. A new process that ends or stays silent leaves the old one as it
//! was. The program is found under the path it was started from, so that a new version put there is what starts.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::report::Error;

/// Tells a process that its standard input is a predecessor.
const VARIABLE: &str = "PELTON_UPGRADE";
const READY: u8 = b'R';

/// What this process was started as, to start it again.
#[derive(Clone, Debug)]
pub(crate) struct Program(PathBuf);

impl Program {
    /// The running program. Asked at the start, while its file is still the one that runs.
    pub(crate) fn own() -> Result<Program, Error> {
        let path = std::fs::read_link("/proc/self/exe");
        path.map(Program)
            .map_err(|err| Error::host(format!("find the program's own path: {err}")))
    }

    /// Starts it, and hands it `sockets`. Returns the new process's number once it serves.
    pub(crate) fn take_over(&self, sockets: &[TcpListener], patience: Duration) -> io::Result<u32> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = self.start(theirs)?;
        let told = reactor::send_listeners(sockets, &ours)
            .and_then(|()| ours.set_read_timeout(Some(patience)))
            .and_then(|()| (&ours).read_exact(&mut [0]));
        match told {
            Ok(()) => Ok(child.id()),
            Err(err) => {
                // It may have ended by itself, which its own lines explain.
                child.kill()?;
                let status = child.wait()?;
                Err(io::Error::other(format!(
                    "the new process: {status}: {err}"
                )))
            }
        }
    }

    /// `stdin` is closed here once the child has it, so that the child's end is seen.
    fn start(&self, stdin: UnixStream) -> io::Result<Child> {
        Command::new(&self.0)
            .args(env::args_os().skip(1))
            .env(VARIABLE, "1")
            .stdin(Stdio::from(OwnedFd::from(stdin)))
            .spawn()
    }
}

/// The process that this one replaces.
#[derive(Debug)]
pub(crate) struct Predecessor(UnixStream);

/// The process that this one replaces, and its sockets; `None` at a start of its own.
pub(crate) fn predecessor() -> Result<Option<(Predecessor, Vec<TcpListener>)>, Error> {
    if env::var_os(VARIABLE).is_none() {
        return Ok(None);
    }
    let failed = |err: io::Error| {
        Error::host(format!("take over from the old process: {err}")).hint(format!(
            "{VARIABLE} is set by Pelton itself; unset it to start on its own"
        ))
    };
    let stream = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let stream = UnixStream::from(stream);
    let sockets = reactor::receive_listeners(&stream).map_err(failed)?;
    Ok(Some((Predecessor(stream), sockets)))
}

impl Predecessor {
    /// Tells it to go.
    pub(crate) fn dismiss(&self) {
        if let Err(err) = (&self.0).write_all(&[READY]) {
            tracing::warn!(%err, "old process is gone already");
        }
    }
}
