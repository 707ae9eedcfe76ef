//! Memory of the server and its cells while many clients request conversions of large originals at
//! once.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use image_plan::{Encoding, Size};
use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::converter::{self, Converter};
use crate::corpus;
use crate::scratch::Scratch;
use crate::server::Server;
use crate::usage::Tree;
use crate::{SharedFlags, client, table};

/// Interval between two measurements of the memory use of the processes.
const MEASURE_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
pub(super) struct Definition {
    photographs: Vec<String>,
    /// Width of the originals in pixels. The originals are enlarged photographs of the corpus.
    width_px: u32,
    height_px: u32,
    quality: u8,
    /// Number of clients, each with its own original.
    clients: usize,
    accepts: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Pressure {
    accept: String,
    idle_bytes: u64,
    peak_bytes: u64,
    peak_processes: u32,
    answered: usize,
    /// Number of responses with status 503 and a `Retry-After` field.
    refused: usize,
    refused_slowest_us: u64,
    answered_slowest_us: u64,
}

pub(super) fn run(given: &SharedFlags, definition: &Definition) -> Result<Vec<Pressure>, Stop> {
    let root = Scratch::new("originals")?;
    originals(given, definition, &root)?;
    let mut pressures = Vec::new();
    for accept in &definition.accepts {
        let data = Scratch::new("data")?;
        let served = SharedFlags {
            corpus: root.path().to_owned(),
            ..given.clone()
        };
        let server = Server::pelton(&[], &served, data.path(), &["--improve", "false"])?;
        pressures.push(press(&server, definition.clients, accept)?);
    }
    print(&pressures);
    Ok(pressures)
}

fn name(client: usize) -> String {
    format!("{client}.jpg")
}

/// Creates one original per client: enlarges each photograph once, and copies the result under
/// other names.
fn originals(given: &SharedFlags, definition: &Definition, root: &Scratch) -> Result<(), Stop> {
    let photographs = corpus::read(&given.corpus, &definition.photographs)?;
    let converter = Converter::new(given.worker()?);
    let size = Size::new(definition.width_px, definition.height_px);
    let quality = definition.quality;
    for client in 0..definition.clients {
        let path = root.join(name(client));
        match photographs.get(client) {
            Some(photograph) => {
                let plan = converter::fit(&photograph.facts, size, Encoding::Jpeg { quality });
                converter.convert(&plan, &photograph.path, &path)?;
            }
            None => {
                let from = root.join(name(client % photographs.len()));
                fs::copy(&from, &path).map_err(at(&from))?;
            }
        }
    }
    Ok(())
}

/// Response as one client received it. `has_retry_after` is true if the response has a
/// `Retry-After` field.
struct Outcome {
    status: u16,
    has_retry_after: bool,
    took_us: u64,
}

fn press(server: &Server, clients: usize, accept: &str) -> Result<Pressure, Stop> {
    server.wait_idle()?;
    let idle = Tree::read(server.pid())?;
    let done = AtomicBool::new(false);
    let outcomes = Mutex::new(Vec::new());
    let ask = |client: usize| -> Result<(), Stop> {
        let started = Instant::now();
        let response = client::get(server.address, &format!("/{}", name(client)), accept)?;
        let outcome = Outcome {
            status: response.status,
            has_retry_after: response.field("retry-after").is_some(),
            took_us: started.elapsed().as_micros() as u64,
        };
        outcomes.lock().expect("no client panics").push(outcome);
        Ok(())
    };
    let peak = thread::scope(|scope| {
        let watch = scope.spawn(|| watch(server, &done));
        let clients: Vec<_> = (0..clients)
            .map(|client| scope.spawn(move || ask(client)))
            .collect();
        let ended: Result<Vec<()>, Stop> = clients
            .into_iter()
            .map(|client| client.join().expect("no client panics"))
            .collect();
        done.store(true, Ordering::Relaxed);
        let peak = watch.join().expect("the watch does not panic");
        ended.and(peak)
    })?;
    let outcomes = outcomes.into_inner().expect("no client panics");
    let slowest = |status: u16| {
        let own = outcomes.iter().filter(|outcome| outcome.status == status);
        own.map(|outcome| outcome.took_us).max().unwrap_or(0)
    };
    let count = |status: u16| {
        outcomes
            .iter()
            .filter(|outcome| outcome.status == status)
            .count()
    };
    let refused = outcomes
        .iter()
        .filter(|outcome| outcome.status == 503 && outcome.has_retry_after)
        .count();
    if count(200) + refused != outcomes.len() {
        return Err(Stop::findings(
            "a response is neither a 200 nor a 503 with Retry-After",
        ));
    }
    Ok(Pressure {
        accept: accept.to_owned(),
        idle_bytes: idle.memory_bytes,
        peak_bytes: peak.memory_bytes,
        peak_processes: peak.processes,
        answered: count(200),
        refused,
        refused_slowest_us: slowest(503),
        answered_slowest_us: slowest(200),
    })
}

/// Measures the memory of the server and its children until `done` is set. Returns the largest
/// measurement.
fn watch(server: &Server, done: &AtomicBool) -> Result<Tree, Stop> {
    let mut peak = Tree::default();
    while !done.load(Ordering::Relaxed) {
        let tree = Tree::read(server.pid())?;
        if peak.memory_bytes < tree.memory_bytes {
            peak = tree;
        }
        thread::sleep(MEASURE_INTERVAL);
    }
    Ok(peak)
}

fn print(pressures: &[Pressure]) {
    let mib = |bytes: u64| format!("{:.0}", bytes as f64 / f64::from(1 << 20));
    let rows = pressures.iter().map(|pressure| {
        vec![
            pressure.accept.clone(),
            mib(pressure.idle_bytes),
            mib(pressure.peak_bytes),
            pressure.peak_processes.to_string(),
            pressure.answered.to_string(),
            format!("{:.1}", pressure.answered_slowest_us as f64 / 1e6),
            pressure.refused.to_string(),
            format!("{:.1}", pressure.refused_slowest_us as f64 / 1e3),
        ]
    });
    let head = [
        "accept",
        "idle MiB",
        "peak MiB",
        "processes",
        "200",
        "slowest s",
        "503",
        "slowest ms",
    ];
    table::print(
        "Memory during cache misses",
        &head,
        &rows.collect::<Vec<_>>(),
    );
}
