//! Notifications to a service manager by sd_notify(3): datagrams to the socket that `NOTIFY_SOCKET`
//! names. The crate `sd-notify` (0.5.0) does the same, but takes the name of an abstract socket,
//! which begins with `@`, for the path of a file.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// Reports to the service manager that this process serves clients. The report includes the process
/// id, because after an upgrade the manager must watch the new process.
pub fn ready() {
    send_or_warn(&format!("MAINPID={}\nREADY=1", std::process::id()));
}

/// Reports to the service manager that the configuration is being reloaded. After the reload, call
/// [`ready`].
pub fn reloading() {
    let now = clock_gettime(ClockId::Monotonic);
    let micros = now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1_000;
    send_or_warn(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
}

/// Reports to the service manager that this process is about to end.
pub fn stopping() {
    send_or_warn("STOPPING=1");
}

fn send_or_warn(state: &str) {
    if let Err(err) = send(state) {
        tracing::warn!(%err, state, "cannot notify the service manager");
    }
}

fn send(state: &str) -> io::Result<()> {
    let Some(name) = env::var_os("NOTIFY_SOCKET") else {
        return Ok(());
    };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&name)?,
    };
    let sent = UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    if sent == state.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}
