//! Latency of the store while a million keys expire within one second, and the time until all these
//! keys are removed.

use std::thread;
use std::time::{Duration, Instant};

use resp::Reply;
use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;
use wall_clock::unix_ms;

use super::contender::{self, Contender, NAMES};
use super::cpus::Cpus;
use super::memory::key;
use super::probe::{Latency, Probing};
use crate::stats::{self, Spread};
use crate::{SharedFlags, table};

/// Time in seconds for loading the keys and starting the probe before the first key is due.
const LOADING_S: u64 = 12;
/// Duration of the probe in seconds: from before the first key is due until all keys should be
/// removed.
const ASKING_S: u32 = 6;
/// Maximum time to wait for the removal of all keys, counted from the moment when the last key is
/// due.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    keys: usize,
    /// Number of requests per second that the probe sends.
    rate: u32,
}

/// Latency of one contender in one round, and the time until its keys were removed.
#[derive(Serialize)]
pub(super) struct Expiry {
    contender: &'static str,
    round: usize,
    latency: Latency,
    /// Time from the moment when the last key was due until DBSIZE counted none of the keys.
    gone_after_ms: u64,
    /// CPU time of the server from the start of the probe, after the keys were loaded, until the
    /// end of the probe.
    cpu_us: u64,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    cpus: Cpus,
) -> Result<Vec<Expiry>, Stop> {
    let contenders = contender::start(given, cpus, &NAMES, &[])?;
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        eprintln!("lab: expiry: round {}", round + 1);
        for index in stats::order(contenders.len(), round) {
            samples.push(measure(definition, cpus, &contenders[index], round)?);
        }
    }
    print(&samples);
    Ok(samples)
}

fn measure(
    definition: &Definition,
    cpus: Cpus,
    contender: &Contender,
    round: usize,
) -> Result<Expiry, Stop> {
    let mut client = contender.client()?;
    client.ask(&["SET", "probe", "value"])?;
    let first_ms = unix_ms() + LOADING_S * 1000;
    client.fill(definition.keys, |number| {
        let due_ms = first_ms + (number % 1000) as u64;
        let words = ["SET", &key(number), "v", "PXAT", &due_ms.to_string()];
        words.map(str::to_owned).to_vec()
    })?;
    let Some(left_ms) = first_ms.checked_sub(unix_ms() + 1_000) else {
        return Err(Stop::findings(format!(
            "{}: loading the keys took longer than {LOADING_S} s",
            contender.name
        )));
    };
    thread::sleep(Duration::from_millis(left_ms));
    let before_us = contender.server.cpu_us()?;
    let address = contender.server.address;
    let probing = Probing::start(cpus, address, "probe", (definition.rate, ASKING_S))?;
    let last_ms = first_ms + 999;
    thread::sleep(Duration::from_millis(last_ms.saturating_sub(unix_ms())));
    let deadline = Instant::now() + PATIENCE;
    while client.ask(&["DBSIZE"])? != Reply::Int(1) {
        if deadline < Instant::now() {
            return Err(Stop::findings(format!(
                "{}: the store did not remove all expired keys within the time limit",
                contender.name
            )));
        }
        thread::sleep(POLL_INTERVAL);
    }
    let gone_after_ms = unix_ms().saturating_sub(last_ms);
    Ok(Expiry {
        contender: contender.name,
        round,
        latency: probing.end()?,
        gone_after_ms,
        cpu_us: contender.server.cpu_us()? - before_us,
    })
}

/// Function that selects one number of a sample.
type Number = fn(&Expiry) -> f64;

fn print(samples: &[Expiry]) {
    let values: [Number; 5] = [
        |sample| sample.latency.p50_us,
        |sample| sample.latency.p999_us,
        |sample| sample.latency.max_us,
        |sample| sample.gone_after_ms as f64,
        |sample| sample.cpu_us as f64 / 1e3,
    ];
    let rows = NAMES.map(|name| {
        let median = |value: Number| {
            let own = samples.iter().filter(|sample| sample.contender == name);
            Spread::of(&own.map(value).collect::<Vec<_>>()).median
        };
        let cells = values.iter().map(|value| format!("{:.0}", median(*value)));
        std::iter::once(name.to_owned()).chain(cells).collect()
    });
    let head = [
        "contender",
        "p50 µs",
        "p99.9 µs",
        "max µs",
        "ms until all keys expired",
        "CPU ms",
    ];
    table::print(
        "Latency and CPU time of the store while keys expire",
        &head,
        &rows,
    );
}
