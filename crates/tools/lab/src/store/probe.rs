//! Latency of GET requests, counted from the moment when each is due. Requests are due at fixed
//! times, regardless of the replies (an open loop), so that a stall delays all requests that become
//! due during it.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use resp::Reply;
use serde::Serialize;
use toolkit::stop::Stop;

use super::client::Client;
use super::cpus::Cpus;
use crate::stats;

/// Arguments of `lab probe`, which requests a key at a steady rate, independent of the replies.
#[derive(clap::Args)]
pub(crate) struct Probe {
    server: SocketAddr,
    key: String,
    #[arg(long)]
    rate: u32,
    #[arg(long)]
    seconds: u32,
}

/// Requests the key at a steady rate, and prints the latency of each reply in microseconds.
///
/// # Errors
/// Returns an error if the key does not exist, or if the store does not reply.
pub(crate) fn probe(probe: &Probe) -> Result<(), Stop> {
    let mut client = Client::connect(probe.server)?;
    let start = Instant::now() + Duration::from_millis(50);
    let mut text = String::new();
    for number in 0..probe.rate * probe.seconds {
        let due = start + Duration::from_secs(1) * number / probe.rate;
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        match client.ask(&["GET", &probe.key])? {
            Reply::Bulk(_) => {}
            other => return Err(Stop::findings(format!("probe: unexpected reply {other:?}"))),
        }
        text.push_str(&format!("{:.1}\n", due.elapsed().as_secs_f64() * 1e6));
    }
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|err| Stop::host(format!("stdout: {err}")))
}

/// Process that runs [`probe`] with real-time priority on the client's core. Without this priority,
/// other processes could delay `probe`, and the delays would count as latency of the server.
/// Real-time priority requires root.
pub(super) struct Probing(Child);

impl Probing {
    pub(super) fn start(
        cpus: Cpus,
        server: SocketAddr,
        key: &str,
        (rate, seconds): (u32, u32),
    ) -> Result<Probing, Stop> {
        let failed = |err: std::io::Error| Stop::host(format!("probe: {err}"));
        let own = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpus.client.to_string()]);
        command.args(["chrt", "--fifo", "10"]).arg(own).arg("probe");
        command.args([server.to_string(), key.to_owned()]);
        command.args(["--rate", &rate.to_string()]);
        command.args(["--seconds", &seconds.to_string()]);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        Ok(Probing(child))
    }

    /// Waits until the process exits, and returns the latencies that it measured.
    pub(super) fn end(self) -> Result<Latency, Stop> {
        let output = self.0.wait_with_output();
        let output = output.map_err(|err| Stop::host(format!("probe: {err}")))?;
        let stdout_text = String::from_utf8_lossy(&output.stdout);
        let samples: Option<Vec<f64>> = stdout_text.lines().map(|line| line.parse().ok()).collect();
        match samples {
            Some(samples) if output.status.success() && !samples.is_empty() => {
                Ok(Latency::of(&samples))
            }
            _ => Err(Stop::findings(
                "probe: the client failed or printed no samples",
            )),
        }
    }
}

/// Distribution of latencies, in microseconds from the moment a request was due.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Latency {
    requests: usize,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
    pub(super) max_us: f64,
}

impl Latency {
    fn of(samples: &[f64]) -> Latency {
        let sorted = stats::sorted(samples);
        Latency {
            requests: sorted.len(),
            p50_us: stats::quantile(&sorted, 0.5),
            p99_us: stats::quantile(&sorted, 0.99),
            p999_us: stats::quantile(&sorted, 0.999),
            max_us: sorted[sorted.len() - 1],
        }
    }
}
