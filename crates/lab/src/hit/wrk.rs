//! wrk: as many requests as a server takes, over connections that stay open.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::process::Command;

use crate::stop::Stop;
use crate::usage;

/// How to load a server.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) cpu: u32,
    pub(super) connections: u32,
    pub(super) seconds: u32,
}

/// Runs it; returns how many requests were answered.
///
/// # Errors
/// When one was answered by an error, or not at all.
pub(super) fn run(load: Load, server: SocketAddr, target: &str, accept: &str) -> Result<u64, Stop> {
    let mut wrk = Command::new("taskset");
    wrk.args(["--cpu-list", &load.cpu.to_string(), "wrk", "--threads", "1"]);
    wrk.args(["--connections", &load.connections.to_string()]);
    wrk.args(["--duration", &format!("{}s", load.seconds)]);
    wrk.args(["--header", &format!("Accept: {accept}")]);
    let (stdout, _) = usage::run(wrk.arg(format!("http://{server}{target}")))?;
    let said = String::from_utf8_lossy(&stdout);
    answered(&said).ok_or_else(|| Stop::finding(format!("wrk: {said}")))
}

/// `None` when something went wrong.
fn answered(said: &str) -> Option<u64> {
    if said.contains("Non-2xx") || said.contains("Socket errors") {
        return None;
    }
    let line = said.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}
