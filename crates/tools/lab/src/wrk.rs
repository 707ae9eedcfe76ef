//! Load by the program wrk: HTTP/1.1 requests at the highest rate that a server sustains.

#[cfg(test)]
mod tests;

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use toolkit::stop::{Stop, at};

use crate::scratch::Scratch;
use crate::usage;

/// Load on a server: the client's core, connections and duration.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) cpu: u32,
    pub(crate) connections: u32,
    pub(crate) seconds: u32,
}

/// Description of the requests that wrk sends.
pub(crate) struct Requests<'a> {
    /// URL scheme: `http` or `https`.
    pub(crate) scheme: &'a str,
    pub(crate) server: SocketAddr,
    pub(crate) target: &'a str,
    /// Fields to send in addition to `Host`, each as `Name: value`.
    pub(crate) fields: &'a [String],
    /// Number of requests that are sent together before their responses are read.
    pub(crate) pipelined: u32,
    /// Number of requests after which a connection is closed and replaced; `None` for no limit.
    pub(crate) requests_a_connection: Option<u32>,
}

/// Runs wrk and returns the number of answered requests.
///
/// # Errors
/// Returns an error if any request failed or got an error status.
pub(crate) fn run(load: Load, requests: &Requests<'_>) -> Result<u64, Stop> {
    let scratch = Scratch::new("wrk")?;
    let mut wrk = Command::new("taskset");
    wrk.args(["--cpu-list", &load.cpu.to_string(), "wrk", "--threads", "1"]);
    wrk.args(["--connections", &load.connections.to_string()]);
    wrk.args(["--duration", &format!("{}s", load.seconds)]);
    for field in requests.fields {
        wrk.args(["--header", field]);
    }
    if let Some(script) = script(requests) {
        let path = scratch.join("requests.lua");
        fs::write(&path, script).map_err(at(&path))?;
        wrk.arg("--script").arg(path);
    }
    let Requests {
        scheme,
        server,
        target,
        ..
    } = requests;
    let (stdout, _) = usage::run(wrk.arg(format!("{scheme}://{server}{target}")))?;
    let stdout_text = String::from_utf8_lossy(&stdout);
    answered(&stdout_text).ok_or_else(|| Stop::findings(format!("wrk: {stdout_text}")))
}

/// Returns the Lua script for requests that wrk's flags cannot express, if a script is needed.
fn script(requests: &Requests<'_>) -> Option<String> {
    match (requests.pipelined, requests.requests_a_connection) {
        (0 | 1, None) => None,
        (pipelined, None) => Some(format!(
            "local batch\n\
             init = function() batch = string.rep(wrk.format(), {pipelined}) end\n\
             request = function() return batch end\n"
        )),
        (_, Some(count)) => Some(format!(
            "local number, stay, last = 0\n\
             init = function()\n\
               stay = wrk.format()\n\
               wrk.headers['Connection'] = 'close'\n\
               last = wrk.format()\n\
             end\n\
             request = function()\n\
               number = number + 1\n\
               return number % {count} == 0 and last or stay\n\
             end\n"
        )),
    }
}

/// Parses the number of requests from wrk's output; `None` if wrk reports errors.
fn answered(stdout_text: &str) -> Option<u64> {
    if stdout_text.contains("Non-2xx") || stdout_text.contains("Socket errors") {
        return None;
    }
    let line = stdout_text
        .lines()
        .find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}
