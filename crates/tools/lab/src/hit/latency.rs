//! Latency of hits while conversions use every core. Requests are sent at fixed times, regardless
//! of the responses (an open loop), so that a stall delays all requests that become due during it.

#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use crate::scratch::Scratch;
use crate::server::Server;
use crate::stats::{self, Spread};
use crate::{SharedFlags, client, table, usage};

#[derive(Deserialize)]
pub(super) struct Definition {
    /// Name of the photograph from which all variants are made: the variant that is requested as a
    /// hit, and the variants that are converted at the same time.
    photograph: String,
    hit_query: String,
    rounds: usize,
    seconds: u32,
    /// Number of requests per second, over all connections.
    rate: u32,
    connections: u32,
    client_cpu: u32,
    /// Number of clients that request conversions. Each client sends its next request as soon as it
    /// has the response to the previous one.
    converting: u32,
}

/// Latencies of one round, in microseconds from the moment when a request was due.
#[derive(Serialize)]
pub(super) struct Latency {
    loaded: bool,
    round: usize,
    requests: usize,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
    conversions: u32,
}

pub(super) fn run(given: &SharedFlags, definition: &Definition) -> Result<Vec<Latency>, Stop> {
    let data = Scratch::new("data")?;
    let server = Server::pelton(&[], given, data.path(), &["--improve", "false"])?;
    let target = format!("/{}?{}", definition.photograph, definition.hit_query);
    server.get(&target, "*/*")?;
    let requested = AtomicU32::new(0);
    let mut latencies = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        eprintln!("lab: latency: round {}", round + 1);
        for state in stats::order(2, round) {
            let loaded = state == 1;
            server.wait_idle()?;
            let before = requested.load(Ordering::Relaxed);
            let stop = AtomicBool::new(false);
            let samples = thread::scope(|scope| {
                if loaded {
                    for _ in 0..definition.converting {
                        scope.spawn(|| convert(&server, definition, &requested, &stop));
                    }
                }
                let samples = run_knock(definition, server.address, &target);
                stop.store(true, Ordering::Relaxed);
                samples
            })?;
            let sorted = stats::sorted(&samples);
            latencies.push(Latency {
                loaded,
                round,
                requests: sorted.len(),
                p50_us: stats::quantile(&sorted, 0.5),
                p99_us: stats::quantile(&sorted, 0.99),
                p999_us: stats::quantile(&sorted, 0.999),
                max_us: sorted[sorted.len() - 1],
                conversions: requested.load(Ordering::Relaxed) - before,
            });
        }
    }
    print(&latencies);
    Ok(latencies)
}

/// Requests variants that are not in the cache, one after the other, until `stop` is set.
fn convert(server: &Server, definition: &Definition, requested: &AtomicU32, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let number = requested.fetch_add(1, Ordering::Relaxed);
        // Each request asks for a different size, so that it is a cache miss. There are more sizes
        // than a benchmark can request.
        let (width, height) = (1024 + number % 512, 640 + number / 512);
        let target = format!(
            "/{}?w={width}&h={height}&fit=fill&format=avif",
            definition.photograph
        );
        match client::get(server.address, &target, "*/*") {
            Ok(response) if response.status == 200 => {}
            Ok(response) => eprintln!("lab: GET {target}: {}", response.status),
            Err(stop) => eprintln!("{stop}"),
        }
    }
}

/// Runs [`knock`] as a process with real-time priority on the client's core. Without this priority,
/// other processes could delay `knock`, and the delays would count as latency of the server.
/// Real-time priority requires root.
fn run_knock(definition: &Definition, server: SocketAddr, target: &str) -> Result<Vec<f64>, Stop> {
    let own = std::env::current_exe().map_err(|err| {
        Stop::host(format!(
            "cannot find the path of the lab's own program: {err}"
        ))
    })?;
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &definition.client_cpu.to_string()]);
    command.args(["chrt", "--fifo", "10"]).arg(own).arg("knock");
    command.args([server.to_string(), target.to_owned()]);
    for (flag, value) in [
        ("--rate", definition.rate),
        ("--connections", definition.connections),
        ("--seconds", definition.seconds),
    ] {
        command.args([flag, &value.to_string()]);
    }
    let (stdout, _) = usage::run(&mut command)?;
    let stdout_text = String::from_utf8_lossy(&stdout);
    let samples: Option<Vec<f64>> = stdout_text.lines().map(|line| line.parse().ok()).collect();
    samples
        .filter(|samples| !samples.is_empty())
        .ok_or_else(|| Stop::findings("the command `lab knock` printed no samples"))
}

/// Arguments of `lab knock`: a load at a steady rate, independent of the responses.
#[derive(clap::Args)]
pub(crate) struct Knock {
    server: SocketAddr,
    target: String,
    #[arg(long)]
    rate: u32,
    #[arg(long)]
    connections: u32,
    #[arg(long)]
    seconds: u32,
}

/// Sends requests at a steady rate, and prints the latency of each response in microseconds,
/// counted from the moment when its request was due.
///
/// # Errors
/// Returns an error if a status is not 200.
pub(crate) fn knock(knock: &Knock) -> Result<(), Stop> {
    let start = Instant::now() + Duration::from_millis(50);
    let lanes = 0..knock.connections;
    let samples = thread::scope(|scope| {
        let lanes: Vec<_> = lanes
            .map(|lane| scope.spawn(move || send_on_connection(knock, lane, start)))
            .collect();
        let lanes = lanes
            .into_iter()
            .map(|lane| lane.join().expect("lanes do not panic"));
        lanes.collect::<io::Result<Vec<_>>>()
    });
    let samples = samples.map_err(|err| Stop::findings(format!("knock: {err}")))?;
    let mut text = String::new();
    for took in samples.iter().flatten() {
        text.push_str(&format!("{:.1}\n", took.as_secs_f64() * 1e6));
    }
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|err| Stop::host(format!("stdout: {err}")))
}

fn send_on_connection(knock: &Knock, lane: u32, start: Instant) -> io::Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(knock.server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
        knock.target, knock.server
    );
    let mut buffer = Vec::new();
    let total = knock.rate * knock.seconds;
    let own = (lane..total).step_by(knock.connections as usize);
    let mut samples = Vec::with_capacity(own.len());
    for number in own {
        let due = start + Duration::from_secs(1) * number / knock.rate;
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        stream.write_all(request.as_bytes())?;
        read_answer(&mut stream, &mut buffer)?;
        samples.push(due.elapsed());
    }
    Ok(samples)
}

/// Reads one response, which must have status 200 and a stated length.
fn read_answer(stream: &mut impl io::Read, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    let mut chunk = [0; 16 << 10];
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&chunk[..read]);
        if let Some(whole) = whole_bytes(buffer)? {
            if whole < buffer.len() {
                return Err(io::Error::other(
                    "the server sent more bytes than one response",
                ));
            }
            if whole == buffer.len() {
                return Ok(());
            }
        }
    }
}

/// Returns the length of head and body together; `None` if the head is not complete yet.
fn whole_bytes(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse::<usize>().ok());
    match length {
        Some(length) if head.starts_with("http/1.1 200") => Ok(Some(end + 4 + length)),
        _ => Err(io::Error::other(
            "the response is not a 200 with Content-Length",
        )),
    }
}

/// Function that selects one number of a round's results.
type Number = fn(&Latency) -> f64;

fn print(latencies: &[Latency]) {
    let median = |loaded: bool, value: Number| {
        let own = latencies.iter().filter(|latency| latency.loaded == loaded);
        Spread::of(&own.map(value).collect::<Vec<_>>()).median
    };
    let values: [(&str, Number); 4] = [
        ("p50", |latency| latency.p50_us),
        ("p99", |latency| latency.p99_us),
        ("p99.9", |latency| latency.p999_us),
        ("max", |latency| latency.max_us),
    ];
    let rows = values.map(|(name, value)| {
        let (idle, loaded) = (median(false, value), median(true, value));
        vec![
            name.to_owned(),
            format!("{idle:.0}"),
            format!("{loaded:.0}"),
            format!("{:.2}", loaded / idle),
        ]
    });
    let head = ["latency", "idle µs", "converting µs", "ratio"];
    table::print("Latency of hits (medians of rounds)", &head, &rows);
}
