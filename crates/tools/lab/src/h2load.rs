//! Load by the program h2load: HTTP/2 requests at the highest rate that a server sustains, with
//! several streams per connection.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::process::Command;

use toolkit::stop::Stop;

use crate::usage;
use crate::wrk::Load;

/// Requests `target` over cleartext HTTP/2 with `streams` concurrent streams per connection;
/// returns the number of answered requests.
///
/// # Errors
/// Returns an error if any request failed or got a status other than 2xx.
pub(crate) fn run(load: Load, streams: u32, server: SocketAddr, target: &str) -> Result<u64, Stop> {
    let mut h2load = Command::new("taskset");
    h2load.args(["--cpu-list", &load.cpu.to_string(), "h2load"]);
    h2load.args(["--clients", &load.connections.to_string()]);
    h2load.args(["--max-concurrent-streams", &streams.to_string()]);
    h2load.args(["--duration", &load.seconds.to_string()]);
    let (stdout, _) = usage::run(h2load.arg(format!("http://{server}{target}")))?;
    let stdout_text = String::from_utf8_lossy(&stdout);
    answered(&stdout_text).ok_or_else(|| Stop::findings(format!("h2load: {stdout_text}")))
}

/// Parses the number of requests from h2load's output; `None` if h2load reports errors. Requests
/// cut off by the end of the test count as neither done nor failed.
fn answered(stdout_text: &str) -> Option<u64> {
    let numbers = |label: &str| -> Option<Vec<u64>> {
        let line = stdout_text
            .lines()
            .find_map(|line| line.strip_prefix(label))?;
        let parts = line.split(',').map(str::trim);
        parts
            .map(|part| part.split(' ').next()?.parse().ok())
            .collect()
    };
    // The numbers are: total, started, done, succeeded, failed, errored, timeout.
    let [_, _, done, succeeded, failed, errored, timeout] = numbers("requests:")?[..] else {
        return None;
    };
    (done > 0 && done == succeeded && failed + errored + timeout == 0).then_some(done)
}
