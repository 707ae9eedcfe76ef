//! Counters of a running server, from its metrics.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use host_checks::{Fact, Metrics, Steering, Unread};

use crate::files::{self, fact};

/// Path of the metrics.
const PATH: &str = "/-/metrics";
/// Maximum length of the metrics.
const METRICS_BYTES_MAX: usize = 4 << 20;
/// Maximum number of addresses that are tried. A server listens on few.
const ADDRESSES_MAX: usize = 6;
/// Maximum time for one address.
const WAIT_MAX: Duration = Duration::from_millis(200);

/// Reads the metrics of the server that listens on `addresses`. Tries one address after the other,
/// because some of them may have another protocol, such as that of the store.
pub(crate) fn read(
    addresses: &BTreeSet<SocketAddr>,
    token: Option<&str>,
    deadline: Instant,
) -> Fact<Metrics> {
    let mut why = Unread::NoServer;
    for address in addresses.iter().take(ADDRESSES_MAX) {
        match fetch(*address, token, deadline).and_then(|text| parse(&text)) {
            Ok(metrics) => {
                return Fact::known(
                    format!("http://{address}{PATH}"),
                    described(&metrics),
                    metrics,
                );
            }
            // Keep the status of a refusal. It says more than a later error from an address at
            // which another protocol is spoken.
            Err(_) if matches!(why, Unread::Refused(_)) => {}
            Err(new) => why = new,
        }
    }
    Fact::unknown(format!("the server's {PATH}"), why)
}

/// Returns the metrics that the calling process, which is the server, has written.
pub(crate) fn own(text: &str) -> Fact<Metrics> {
    fact(format!("the server's {PATH}"), parse(text), described)
}

/// Returns the counters as evidence for people.
fn described(metrics: &Metrics) -> String {
    format!(
        "{} requests, {} system calls, {} connections, imbalance of the cores {:.2}; {} of {} \
         sampled connections are on the processor of their packets",
        metrics.requests,
        metrics.system_calls,
        metrics.accepted,
        metrics.imbalance,
        metrics.local,
        metrics.located
    )
}

fn fetch(address: SocketAddr, token: Option<&str>, deadline: Instant) -> Result<String, Unread> {
    let deadline = deadline.min(Instant::now() + WAIT_MAX);
    let failed = |err: std::io::Error| files::unread(&err);
    let mut stream = TcpStream::connect_timeout(&address, left(deadline)?).map_err(failed)?;
    let timeout = Some(left(deadline)?);
    stream.set_write_timeout(timeout).map_err(failed)?;
    let token = token.map_or(String::new(), |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let request =
        format!("GET {PATH} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{token}\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let bytes = read_until(&mut stream, deadline)?;
    let text = String::from_utf8(bytes).map_err(|_| Unread::Malformed)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(Unread::Malformed)?;
    let status = head
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3)?.parse().ok());
    match status.ok_or(Unread::Malformed)? {
        200 => Ok(body.to_owned()),
        status => Err(Unread::Refused(status)),
    }
}

/// Returns the time until `deadline`.
fn left(deadline: Instant) -> Result<Duration, Unread> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(Unread::TimedOut),
        false => Ok(left),
    }
}

/// Reads to the end of a stream. Fails if the end does not come before `deadline`, even if bytes
/// keep arriving.
pub(crate) fn read_until(stream: &mut TcpStream, deadline: Instant) -> Result<Vec<u8>, Unread> {
    let failed = |err: std::io::Error| files::unread(&err);
    let (mut bytes, mut part) = (Vec::new(), vec![0; 16 << 10]);
    while bytes.len() <= METRICS_BYTES_MAX {
        let timeout = Some(left(deadline)?);
        stream.set_read_timeout(timeout).map_err(failed)?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) => return Err(failed(err)),
        }
    }
    Err(Unread::TooLong)
}

/// Parses the samples that the rows need. The text ends with the end mark of OpenMetrics.
pub(crate) fn parse(text: &str) -> Result<Metrics, Unread> {
    if text.trim_end().lines().next_back() != Some("# EOF") {
        return Err(Unread::Malformed);
    }
    let samples = || text.lines().filter_map(|line| line.rsplit_once(' '));
    let sum = |name: &str| -> Result<u64, Unread> {
        let mut found = samples()
            .filter(|(series, _)| series.split('{').next() == Some(name))
            .map(|(_, value)| value.parse::<u64>().map_err(|_| Unread::Malformed))
            .peekable();
        // If there is no sample, the server has another version, without this family.
        found.peek().ok_or(Unread::Unsupported)?;
        found.sum()
    };
    let one = |series: &str| {
        let value = samples()
            .find(|(found, _)| *found == series)
            .map(|(_, value)| value);
        value.ok_or(Unread::Unsupported)
    };
    let steered = |mode: &str| {
        let value = one(&format!("pelton_core_steering{{mode=\"{mode}\"}}"))?;
        value.parse().map_err(|_| Unread::Malformed)
    };
    Ok(Metrics {
        requests: match sum("http_server_request_duration_seconds_count") {
            // The histogram has no sample before the first request.
            Err(Unread::Unsupported) => 0,
            found => found?,
        },
        system_calls: sum("pelton_syscalls_total")?,
        accepted: sum("pelton_connections_accepted_total")?,
        imbalance: one("pelton_core_imbalance_ratio")?
            .parse()
            .map_err(|_| Unread::Malformed)?,
        located: sum("pelton_connections_located_total")?,
        local: sum("pelton_connections_local_total")?,
        steering: Steering {
            hash: steered("hash")?,
            incoming_cpu: steered("incoming-cpu")?,
            cbpf: steered("cbpf")?,
        },
    })
}
