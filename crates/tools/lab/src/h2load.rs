//! h2load: as many HTTP/2 requests as a server takes, many at a time on each connection.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::process::Command;

use crate::stop::Stop;
use crate::usage;
use crate::wrk::Load;

/// Asks for `target` over cleartext HTTP/2, `streams` at a time on each connection; returns how many were answered.
///
/// # Errors
/// When one was answered by anything but 2xx, or not at all.
pub(crate) fn run(load: Load, streams: u32, server: SocketAddr, target: &str) -> Result<u64, Stop> {
    let mut h2load = Command::new("taskset");
    h2load.args(["--cpu-list", &load.cpu.to_string(), "h2load"]);
    h2load.args(["--clients", &load.connections.to_string()]);
    h2load.args(["--max-concurrent-streams", &streams.to_string()]);
    h2load.args(["--duration", &load.seconds.to_string()]);
    let (stdout, _) = usage::run(h2load.arg(format!("http://{server}{target}")))?;
    let said = String::from_utf8_lossy(&stdout);
    answered(&said).ok_or_else(|| Stop::finding(format!("h2load: {said}")))
}

/// `None` when something went wrong. Requests that the end of the time cut off are neither done nor failed.
fn answered(said: &str) -> Option<u64> {
    let numbers = |label: &str| -> Option<Vec<u64>> {
        let line = said.lines().find_map(|line| line.strip_prefix(label))?;
        let parts = line.split(',').map(str::trim);
        parts
            .map(|part| part.split(' ').next()?.parse().ok())
            .collect()
    };
    // total, started, done, succeeded, failed, errored, timeout
    let [_, _, done, succeeded, failed, errored, timeout] = numbers("requests:")?[..] else {
        return None;
    };
    (done > 0 && done == succeeded && failed + errored + timeout == 0).then_some(done)
}
