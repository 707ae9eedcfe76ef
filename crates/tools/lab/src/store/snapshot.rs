//! Latency of other clients while a snapshot is written, and the memory that the snapshot needs.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use resp::Reply;
use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use super::client::Client;
use super::contender::{self, Contender, NAMES};
use super::cpus::Cpus;
use super::memory::key;
use super::probe::{Latency, Probing};
use crate::stats::{self, Spread};
use crate::usage::Tree;
use crate::{SharedFlags, table};

/// Duration of the probe in seconds. A snapshot of a million small keys needs less time.
const ASKING_S: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Number of writes per pipelined batch.
const WRITES: usize = 100;

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    keys: usize,
    value_bytes: usize,
    /// Number of requests per second that the probe sends.
    rate: u32,
}

/// Latency, memory and CPU time of one contender in one round.
#[derive(Serialize)]
pub(super) struct Snapshot {
    contender: &'static str,
    round: usize,
    latency: Latency,
    took_ms: u64,
    /// Proportional set size of the server and its children before a snapshot. `peak_bytes` is the
    /// largest value measured while that snapshot was written.
    before_bytes: u64,
    peak_bytes: u64,
    /// CPU time of the server and its children while the probe ran. It includes the commands that
    /// overwrite keys.
    cpu_us: u64,
    writes: usize,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    cpus: Cpus,
) -> Result<Vec<Snapshot>, Stop> {
    let contenders = contender::start(given, cpus, &NAMES, &[])?;
    let value = vec![b'x'; definition.value_bytes];
    for contender in &contenders {
        let mut client = contender.client()?;
        client.fill(definition.keys, |number| {
            vec![b"SET".to_vec(), key(number).into_bytes(), value.clone()]
        })?;
        client.ask(&["SET", "probe", "value"])?;
    }
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        eprintln!("lab: snapshot: round {}", round + 1);
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
) -> Result<Snapshot, Stop> {
    let address = contender.server.address;
    let before_us = contender.server.cpu_us()?;
    let (writes, (latency, took_ms)) = while_written(definition, address, || {
        let probing = Probing::start(cpus, address, "probe", (definition.rate, ASKING_S))?;
        let (took_ms, _) = save(contender, Measuring::Never)?;
        Ok((probing.end()?, took_ms))
    })?;
    let cpu_us = contender.server.cpu_us()? - before_us;
    let before = Tree::read(contender.server.pid())?;
    // Memory is measured during a second snapshot, in which latency is not measured. Reading the
    // memory use of a process blocks changes of the process's mappings, which increases latency.
    let (_, (_, peak_bytes)) =
        while_written(definition, address, || save(contender, Measuring::Always))?;
    Ok(Snapshot {
        contender: contender.name,
        round,
        latency,
        took_ms,
        before_bytes: before.memory_bytes,
        peak_bytes,
        cpu_us,
        writes,
    })
}

/// Overwrites keys while `work` runs. Returns the number of writes and the result of `work`.
fn while_written<T>(
    definition: &Definition,
    server: SocketAddr,
    work: impl FnOnce() -> Result<T, Stop>,
) -> Result<(usize, T), Stop> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writing = scope.spawn(|| write(definition, server, &stop));
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let writes = writing.join().expect("the client does not panic");
        Ok((writes?, done?))
    })
}

/// Mode of [`save`]: with or without measurements of the server's memory use.
#[derive(Clone, Copy, PartialEq)]
enum Measuring {
    Never,
    Always,
}

/// Makes the server write a snapshot. Returns the snapshot's duration in milliseconds and the
/// largest amount of memory measured during it.
fn save(contender: &Contender, measuring: Measuring) -> Result<(u64, u64), Stop> {
    let mut client = contender.client()?;
    let started = Instant::now();
    if let Reply::Error(text) = client.ask(&["BGSAVE"])? {
        return Err(Stop::findings(String::from_utf8_lossy(&text).into_owned()));
    }
    let mut peak_bytes = 0;
    loop {
        if measuring == Measuring::Always {
            let seen = Tree::read(contender.server.pid())?;
            peak_bytes = seen.memory_bytes.max(peak_bytes);
        }
        let Reply::Bulk(info) = client.ask(&["INFO", "persistence"])? else {
            return Err(Stop::findings("the reply to INFO is not a bulk string"));
        };
        if String::from_utf8_lossy(&info).contains("rdb_bgsave_in_progress:0") {
            return Ok((started.elapsed().as_millis() as u64, peak_bytes));
        }
        if PATIENCE < started.elapsed() {
            return Err(Stop::findings("the snapshot did not finish in time"));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Overwrites keys spread over the whole keyspace until `stop` is set. Returns the number of
/// writes.
fn write(definition: &Definition, server: SocketAddr, stop: &AtomicBool) -> Result<usize, Stop> {
    /// Stride between overwritten keys. It is coprime to every number of keys that is a power of
    /// ten, so that all keys are reached.
    const STRIDE: usize = 7_919;
    let mut client = Client::connect(server)?;
    let value = vec![b'y'; definition.value_bytes];
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        client.fill(WRITES, |number| {
            let number = (written + number) * STRIDE % definition.keys;
            vec![b"SET".to_vec(), key(number).into_bytes(), value.clone()]
        })?;
        written += WRITES;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(written)
}

/// Function that selects one number of a sample.
type Number = fn(&Snapshot) -> f64;

fn print(samples: &[Snapshot]) {
    let values: [Number; 6] = [
        |sample| sample.latency.p50_us,
        |sample| sample.latency.p999_us,
        |sample| sample.latency.max_us,
        |sample| sample.took_ms as f64,
        |sample| 100.0 * (sample.peak_bytes as f64 / sample.before_bytes as f64 - 1.0),
        |sample| sample.cpu_us as f64 / 1e3,
    ];
    let rows = NAMES.map(|name| {
        let median = |value: Number| {
            let own = samples.iter().filter(|sample| sample.contender == name);
            Spread::of(&own.map(value).collect::<Vec<_>>()).median
        };
        let cells = values.iter().map(|value| format!("{:.1}", median(*value)));
        std::iter::once(name.to_owned()).chain(cells).collect()
    });
    let head = [
        "contender",
        "p50 µs",
        "p99.9 µs",
        "max µs",
        "duration ms",
        "extra memory %",
        "CPU ms",
    ];
    table::print(
        "Latency of the store while a snapshot is written",
        &head,
        &rows,
    );
}
