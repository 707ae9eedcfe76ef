//! What a server pinned to one core takes for a stretch of load.

use std::fs;

use serde::Serialize;

use crate::server::Server;
use crate::stats::Spread;
use crate::stop::Stop;

/// One stretch of load on one contender.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) contender: &'static str,
    pub(crate) round: usize,
    pub(crate) requests: u64,
    cpu_us: u64,
    /// The kernel's own work on the server's core that it bills to nobody.
    softirq_us: u64,
    /// Requests a second by the clock.
    rate: f64,
}

impl Sample {
    /// Runs `load`, which returns how many requests were answered within `seconds`, and looks at what it took.
    ///
    /// # Errors
    /// When the load fails, answers nothing, or the server is gone.
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

    /// The same for a load that tells how many seconds it took beside how many requests were answered.
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
            return Err(Stop::finding(format!("{contender}: nothing was answered")));
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

/// CPU time a request of one contender, round by round.
pub(crate) fn us_a_request(samples: &[Sample], contender: &str) -> Vec<f64> {
    let mut own: Vec<_> = samples
        .iter()
        .filter(|sample| sample.contender == contender)
        .collect();
    own.sort_by_key(|sample| sample.round);
    own.into_iter().map(Sample::us_a_request).collect()
}

/// Requests a second of one contender: the median of its rounds.
pub(crate) fn rate(samples: &[Sample], contender: &str) -> f64 {
    let own = samples
        .iter()
        .filter(|sample| sample.contender == contender);
    Spread::of(&own.map(|sample| sample.rate).collect::<Vec<_>>()).median
}

/// The time a core spent in interrupts, of proc_stat(5): irq and softirq, in ticks of 10 ms.
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
