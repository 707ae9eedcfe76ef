//! Private loopback: a network namespace without other traffic or packet filters. Client and server
//! use the same congestion control without pacing: cubic, or reno if the kernel does not permit
//! cubic in a namespace.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::Uid;
use toolkit::stop::Stop;

/// Environment variable that marks a process inside the namespace. It is not named `PELTON_…`,
/// because the server rejects unknown variables with that prefix.
const MARK: &str = "LAB_LOOPBACK";
/// Shell script that runs in the namespace. `$0` is the path of this program, and `$@` are this
/// program's arguments.
const PREPARE: &str = "ip link set lo up && control=/proc/sys/net/ipv4/tcp_congestion_control && \
    { echo cubic > $control || echo reno > $control; } 2>/dev/null && exec \"$0\" \"$@\"";

/// Restarts this program in a network namespace, unless it already runs in one.
///
/// # Errors
/// Returns an error if the host does not allow the namespace.
pub(crate) fn enter() -> Result<(), Stop> {
    if std::env::var_os(MARK).is_some() {
        return Ok(());
    }
    let failed = |err: std::io::Error| Stop::host(format!("unshare: {err}"));
    let mut unshare = Command::new("unshare");
    unshare.arg("--net");
    if !Uid::effective().is_root() {
        unshare.arg("--map-root-user");
    }
    unshare
        .args(["sh", "-c", PREPARE])
        .arg(std::env::current_exe().map_err(failed)?);
    let err = unshare
        .args(std::env::args_os().skip(1))
        .env(MARK, "1")
        .exec();
    Err(failed(err).hint("run apt-get install iproute2 util-linux, and run the lab as root"))
}
