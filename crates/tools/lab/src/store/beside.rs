//! Latency of replies with small values while another client requests large values.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use super::client::Client;
use super::contender::{self, Contender, NAMES};
use super::cpus::Cpus;
use super::probe::{Latency, Probing};
use crate::stats::{self, Spread};
use crate::{SharedFlags, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    seconds: u32,
    /// Number of requests for small values per second.
    rate: u32,
    small_bytes: usize,
    large_bytes: usize,
    /// Number of requests for large values per second.
    large_rate: u32,
}

/// Latency of one contender in one round, with or without requests for large values.
#[derive(Serialize)]
pub(super) struct Beside {
    contender: &'static str,
    round: usize,
    large: bool,
    large_answered: u32,
    latency: Latency,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    cpus: Cpus,
) -> Result<Vec<Beside>, Stop> {
    let contenders = contender::start(given, cpus, &NAMES, &[])?;
    for contender in &contenders {
        let mut client = contender.client()?;
        for (key, bytes) in [
            ("small", definition.small_bytes),
            ("large", definition.large_bytes),
        ] {
            client.ask(&[b"SET".as_slice(), key.as_bytes(), &vec![b'x'; bytes]])?;
        }
    }
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        eprintln!("lab: small values beside large ones: round {}", round + 1);
        for index in stats::order(contenders.len(), round) {
            for large in [false, true] {
                let contender = &contenders[index];
                samples.push(measure(definition, cpus, contender, (round, large))?);
            }
        }
    }
    print(&samples);
    Ok(samples)
}

fn measure(
    definition: &Definition,
    cpus: Cpus,
    contender: &Contender,
    (round, large): (usize, bool),
) -> Result<Beside, Stop> {
    let (address, pace) = (
        contender.server.address,
        (definition.rate, definition.seconds),
    );
    let stop = AtomicBool::new(!large);
    let (latency, large_answered) = thread::scope(|scope| {
        let asking = scope.spawn(|| ask(definition, address, &stop));
        let latency = Probing::start(cpus, address, "small", pace).and_then(Probing::end);
        stop.store(true, Ordering::Relaxed);
        let answered = asking.join().expect("the client does not panic");
        Ok::<_, Stop>((latency?, answered?))
    })?;
    Ok(Beside {
        contender: contender.name,
        round,
        large,
        large_answered,
        latency,
    })
}

/// Requests the large value at the definition's rate until `stop` is set. Returns the number of
/// replies.
fn ask(definition: &Definition, server: SocketAddr, stop: &AtomicBool) -> Result<u32, Stop> {
    let mut client = Client::connect(server)?;
    let started = Instant::now();
    let mut answered = 0;
    while !stop.load(Ordering::Relaxed) {
        client.ask(&["GET", "large"])?;
        answered += 1;
        let due = started + Duration::from_secs(1) * answered / definition.large_rate;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(answered)
}

fn print(samples: &[Beside]) {
    let median = |name: &str, large: bool, value: fn(&Latency) -> f64| {
        let own = samples
            .iter()
            .filter(|sample| sample.contender == name && sample.large == large);
        Spread::of(&own.map(|sample| value(&sample.latency)).collect::<Vec<_>>()).median
    };
    let rows = NAMES.map(|name| {
        let alone = median(name, false, |latency| latency.p999_us);
        let beside = median(name, true, |latency| latency.p999_us);
        vec![
            name.to_owned(),
            format!("{:.0}", median(name, false, |latency| latency.p50_us)),
            format!("{:.0}", median(name, true, |latency| latency.p50_us)),
            format!("{alone:.0}"),
            format!("{beside:.0}"),
            format!("{:.2}", beside / alone),
            format!("{:.0}", median(name, true, |latency| latency.max_us)),
        ]
    });
    let head = [
        "contender",
        "p50 alone µs",
        "beside",
        "p99.9 alone µs",
        "beside",
        "ratio",
        "max µs",
    ];
    table::print("Small values beside large ones", &head, &rows);
}
