//! CPU time of a server that is pinned to one core, over a period of load.

use std::fs;

use serde::Serialize;
use toolkit::stop::Stop;

use crate::server::Server;
use crate::stats::Spread;

/// CPU time and throughput of one contender over one period of load.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) contender: &'static str,
    pub(crate) round: usize,
    pub(crate) requests: u64,
    cpu_us: u64,
    /// Interrupt time (irq and softirq) of the server's core, which the kernel attributes to no
    /// process.
    softirq_us: u64,
    /// Number of answered requests per second of wall time.
    rate: f64,
}

impl Sample {
    /// Runs `load` and measures the server during it. `load` returns the number of requests that
    /// were answered within `seconds`.
    ///
    /// # Errors
    /// Returns an error if the load fails, if no request was answered, or if the server has exited.
    pub(crate) fn take(
        contender: &'static str,
        round: usize,
        metered: (&Server, u32),
        seconds: u32,
        load: impl FnOnce() -> Result<u64, Stop>,
    ) -> Result<Sample, Stop> {
        Sample::timed(contender, round, metered, || {
            Ok((load()?, f64::from(seconds)))
        })
    }

    /// Runs `load` and measures the server during it, as [`Sample::take`] does. `load` returns the
    /// number of answered requests and the duration of the load in seconds.
    ///
    /// # Errors
    /// As [`Sample::take`].
    pub(crate) fn timed(
        contender: &'static str,
        round: usize,
        (server, cpu): (&Server, u32),
        load: impl FnOnce() -> Result<(u64, f64), Stop>,
    ) -> Result<Sample, Stop> {
        let (before_us, softirq_before_us) = (server.cpu_us()?, softirq_us(cpu)?);
        let (requests, seconds) = load()?;
        if requests == 0 {
            return Err(Stop::findings(format!(
                "{contender}: the server responded to no request"
            )));
        }
        Ok(Sample {
            contender,
            round,
            requests,
            cpu_us: server.cpu_us()? - before_us,
            softirq_us: softirq_us(cpu)? - softirq_before_us,
            rate: requests as f64 / seconds,
        })
    }

    pub(crate) fn us_a_request(&self) -> f64 {
        self.cpu_us as f64 / self.requests as f64
    }
}

/// Returns the CPU time per request of one contender, in the order of the rounds.
pub(crate) fn us_a_request(samples: &[Sample], contender: &str) -> Vec<f64> {
    let mut own: Vec<_> = samples
        .iter()
        .filter(|sample| sample.contender == contender)
        .collect();
    own.sort_by_key(|sample| sample.round);
    own.into_iter().map(Sample::us_a_request).collect()
}

/// Returns the requests per second of one contender: the median of its rounds.
pub(crate) fn rate(samples: &[Sample], contender: &str) -> f64 {
    let own = samples
        .iter()
        .filter(|sample| sample.contender == contender);
    Spread::of(&own.map(|sample| sample.rate).collect::<Vec<_>>()).median
}

/// Returns the interrupt time of a core in microseconds: irq plus softirq from /proc/stat
/// (proc_stat(5)), which counts in ticks of 10 ms.
fn softirq_us(cpu: u32) -> Result<u64, Stop> {
    let path = "/proc/stat";
    let text = fs::read_to_string(path).map_err(|err| Stop::host(format!("{path}: {err}")))?;
    let name = format!("cpu{cpu} ");
    let fields = text
        .lines()
        .find_map(|line| line.strip_prefix(name.as_str()));
    let fields = fields.ok_or_else(|| Stop::host(format!("{path}: no core {cpu}")))?;
    let ticks: Vec<u64> = fields
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    Ok(ticks.iter().skip(5).take(2).sum::<u64>() * 10_000)
}
