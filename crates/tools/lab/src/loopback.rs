//! A loopback of our own: a network namespace in which nothing else talks, no filter is set, and both sides use the same
//! congestion control that paces nothing: cubic, or reno where a namespace may not choose cubic.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::Uid;

use crate::stop::Stop;

/// Set in the namespace. Not `PELTON_…`: the server refuses variables it does not know.
const MARK: &str = "LAB_LOOPBACK";
/// The name and words of this program follow as `$0` and `$@`.
const PREPARE: &str = "ip link set lo up && control=/proc/sys/net/ipv4/tcp_congestion_control && \
    { echo cubic > $control || echo reno > $control; } 2>/dev/null && exec \"$0\" \"$@\"";

/// Starts this program again in a network namespace, unless it is in one already.
///
/// # Errors
/// When the host allows no namespace.
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
    Err(failed(err).hint("apt-get install iproute2 util-linux, and run it as root"))
}
