//! `lab profile` measures what a CPU profile costs: CPU time of the server and its workers per
//! cache hit and per conversion, while a profile is taken and while none is taken.
//!
//! The profile is taken by the server itself, as `/-/profile` does for operators. Its whole cost
//! counts: the samples, the work of the thread that unwinds them, and the names at the end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use crate::meter::{self, Sample};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::server::Server;
use crate::stats::{self, Ratio, Spread};
use crate::wrk::{self, Load};
use crate::{SharedFlags, loopback, table};

/// Content of `lab/definitions/profile.toml`.
#[derive(Deserialize)]
struct Definition {
    /// Photographs that are converted, in turn.
    photographs: Vec<String>,
    accept: String,
    /// Widths of the conversions.
    widths: Vec<u32>,
    /// Number of clients that request conversions.
    clients: usize,
    /// Target of the hits.
    hit: String,
    connections: u32,
    rounds: usize,
    /// Duration of a period, and of the profile in it.
    seconds: u32,
    server_cpu: u32,
    client_cpu: u32,
}

/// Kinds of periods.
const WITHOUT: &str = "no profile";
const WITH: &str = "profile";
const AGAIN: &str = "no profile (control)";
const KINDS: [&str; 3] = [WITHOUT, WITH, AGAIN];

/// Cost of a profile for one kind of request.
#[derive(Serialize)]
struct Overhead {
    request: &'static str,
    with_over_without: Ratio,
    /// Control: two periods without a profile.
    again_over_without: Ratio,
    samples: Vec<Sample>,
}

pub(crate) fn run(given: &SharedFlags) -> Result<(), Stop> {
    loopback::enter()?;
    let (definition, raw): (Definition, _) = given.definition("profile")?;
    let mut record = Record::begin("profile", &raw, &[&["wrk", "-v"]], &[]);
    let overheads = [
        overhead("hit", given, &definition, hits)?,
        overhead("conversion", given, &definition, conversions)?,
    ];
    print(&overheads);
    record.add("overhead", &overheads);
    record.write(&given.record)
}

/// Load on a server for one period. Returns the number of requests.
type RunLoad = fn(&Server, &Definition, Instant) -> Result<u64, Stop>;

fn overhead(
    request: &'static str,
    given: &SharedFlags,
    definition: &Definition,
    load: RunLoad,
) -> Result<Overhead, Stop> {
    let rounds = given.rounds.unwrap_or(definition.rounds);
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("lab: {request}: round {} of {rounds}", round + 1);
        for index in stats::order(KINDS.len(), round) {
            samples.push(period(KINDS[index], round, (given, definition), load)?);
        }
    }
    let of = |kind: &str| meter::us_a_request(&samples, kind);
    Ok(Overhead {
        request,
        with_over_without: Ratio::of(&of(WITH), &of(WITHOUT)),
        again_over_without: Ratio::of(&of(AGAIN), &of(WITHOUT)),
        samples,
    })
}

/// Measures one period, with a server and an empty cache of its own, so that each period converts
/// the same pictures.
fn period(
    kind: &'static str,
    round: usize,
    (given, definition): (&SharedFlags, &Definition),
    load: RunLoad,
) -> Result<Sample, Stop> {
    let data = Scratch::new("data")?;
    let cores = definition.server_cpu.to_string();
    let flags = ["--cores", "1", "--improve", "false"];
    let under = ["taskset", "--cpu-list", cores.as_str()];
    let server = Server::pelton(&under, given, data.path(), &flags)?;
    server.get(&definition.hit, &definition.accept)?;
    server.wait_idle()?;
    let seconds = definition.seconds;
    let metered = (&server, definition.server_cpu);
    Sample::timed(kind, round, metered, || {
        thread::scope(|scope| {
            let profile = (kind == WITH).then(|| scope.spawn(|| profile(&server, seconds)));
            let until = Instant::now() + Duration::from_secs(u64::from(seconds));
            let requests = load(&server, definition, until);
            if let Some(profile) = profile {
                profile.join().expect("the client does not panic")?;
            }
            Ok((requests?, f64::from(seconds)))
        })
    })
}

/// Has the server take a profile.
fn profile(server: &Server, seconds: u32) -> Result<(), Stop> {
    let response = server.get(&format!("/-/profile?seconds={seconds}"), "*/*")?;
    match response.field("pelton-profile-samples") {
        None | Some("0") => Err(Stop::findings("the profile has no samples")),
        Some(_) => Ok(()),
    }
}

/// Requests the same variant, which is in the cache, as fast as the server responds.
fn hits(server: &Server, definition: &Definition, _until: Instant) -> Result<u64, Stop> {
    let load = Load {
        cpu: definition.client_cpu,
        connections: definition.connections,
        seconds: definition.seconds,
    };
    let requests = wrk::Requests {
        scheme: "http",
        server: server.address,
        target: &definition.hit,
        fields: &[format!("Accept: {}", definition.accept)],
        pipelined: 1,
        requests_a_connection: None,
    };
    wrk::run(load, &requests)
}

/// Requests variants that are not in the cache. Each is requested once.
fn conversions(server: &Server, definition: &Definition, until: Instant) -> Result<u64, Stop> {
    let photographs = || definition.photographs.iter();
    let widths = definition.widths.iter();
    let targets = widths.flat_map(|width| photographs().map(move |it| format!("/{it}?w={width}")));
    let targets: Vec<String> = targets.collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while Instant::now() < until {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let sent = match targets.get(number) {
                Some(target) => server.get(target, &definition.accept).map(drop),
                None => Err(Stop::usage("the definition has too few widths")),
            };
            if let Err(stop) = sent {
                failures.lock().expect("no client panics").push(stop);
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..definition.clients {
            scope.spawn(work);
        }
    });
    match failures.into_inner().expect("no client panics").pop() {
        Some(stop) => Err(stop),
        None => Ok(next.into_inner() as u64),
    }
}

fn print(overheads: &[Overhead]) {
    let mut rows = Vec::new();
    for overhead in overheads {
        for kind in KINDS {
            let us = meter::us_a_request(&overhead.samples, kind);
            let Spread { median, min, max } = Spread::of(&us);
            let ratio = match kind {
                WITH => Some(overhead.with_over_without),
                AGAIN => Some(overhead.again_over_without),
                _ => None,
            };
            rows.push(vec![
                format!("{}, {kind}", overhead.request),
                format!("{median:.2}"),
                format!("{min:.2}…{max:.2}"),
                ratio.map_or_else(String::new, |Ratio { median, low, high }| {
                    format!("{median:.3} ({low:.3}…{high:.3})")
                }),
            ]);
        }
    }
    let head = [
        "request",
        "CPU µs/request",
        "range",
        "this/no profile (95 %)",
    ];
    table::print("Cost of a profile", &head, &rows);
}
