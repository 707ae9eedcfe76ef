//! CPU time a hit costs the server, beside nginx with the same bytes in a file.

use std::fs;

use serde::{Deserialize, Serialize};

use super::nginx;
use super::wrk::{self, Load};
use crate::scratch::Scratch;
use crate::server::Server;
use crate::stats::{self, Ratio, Spread};
use crate::stop::Stop;
use crate::{Given, client, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    /// The original of all variants.
    photograph: String,
    /// About how large the variants are.
    bodies_bytes: Vec<usize>,
    rounds: usize,
    seconds: u32,
    connections: u32,
    server_cpu: u32,
    client_cpu: u32,
}

const CONTENDERS: [&str; 3] = ["pelton", "nginx", "pelton again"];
const ACCEPT: &str = "image/webp";

/// One size, all rounds.
#[derive(Serialize)]
pub(super) struct Cost {
    body_bytes: usize,
    ours_over_nginx: Ratio,
    ours_over_ours: Ratio,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct Sample {
    contender: &'static str,
    round: usize,
    requests: u64,
    cpu_us: u64,
    /// The kernel's own work on the server's core that it bills to nobody.
    softirq_us: u64,
}

impl Sample {
    fn us_a_request(&self) -> f64 {
        self.cpu_us as f64 / self.requests as f64
    }
}

pub(super) fn run(given: &Given, definition: &Definition) -> Result<Vec<Cost>, Stop> {
    let data = Scratch::new("data")?;
    let folder = Scratch::new("nginx")?;
    let ours = ours(given, &data, definition.server_cpu)?;
    let mut bodies = Vec::new();
    for bytes in &definition.bodies_bytes {
        bodies.push(body(&ours, &definition.photograph, *bytes)?);
    }
    ours.wait_idle()?;
    for body in &mut bodies {
        // The better version has come meanwhile.
        body.bytes = ours.get(&body.target, ACCEPT)?.body;
        nginx::add_file(&folder, &body.file, &body.bytes)?;
    }
    let theirs = nginx::start(
        &folder,
        definition.server_cpu,
        &format!("/{}", bodies[0].file),
    )?;
    let track = Track {
        ours: &ours,
        theirs: &theirs,
        definition,
    };
    let rounds = given.rounds.unwrap_or(definition.rounds);
    let mut costs = Vec::new();
    for body in &bodies {
        costs.push(track.run(body, rounds)?);
    }
    print(&costs);
    Ok(costs)
}

fn ours(given: &Given, data: &Scratch, cpu: u32) -> Result<Server, Stop> {
    let cores = cpu.to_string();
    Server::pelton(
        &["taskset", "--cpu-list", &cores],
        given,
        data.path(),
        &["--cores", "1"],
    )
}

/// A variant of about the size that is wanted.
struct Body {
    target: String,
    file: String,
    bytes: Vec<u8>,
}

fn body(server: &Server, photograph: &str, wanted_bytes: usize) -> Result<Body, Stop> {
    let (mut narrow, mut wide) = (16, 4096);
    let mut nearest: Option<Body> = None;
    while narrow <= wide {
        let width = (narrow + wide) / 2;
        let target = format!("/{photograph}?w={width}");
        let bytes = server.get(&target, ACCEPT)?.body;
        if bytes.len() < wanted_bytes {
            narrow = width + 1;
        } else {
            wide = width - 1;
        }
        let off = |bytes: &[u8]| bytes.len().abs_diff(wanted_bytes);
        if nearest
            .as_ref()
            .is_none_or(|body| off(&bytes) < off(&body.bytes))
        {
            let file = format!("{wanted_bytes}.webp");
            nearest = Some(Body {
                target,
                file,
                bytes,
            });
        }
    }
    nearest.ok_or_else(|| Stop::finding("no width was tried"))
}

struct Track<'a> {
    ours: &'a Server,
    theirs: &'a Server,
    definition: &'a Definition,
}

impl Track<'_> {
    fn run(&self, body: &Body, rounds: usize) -> Result<Cost, Stop> {
        let static_target = format!("/{}", body.file);
        let sides = [
            (self.ours, body.target.as_str()),
            (self.theirs, static_target.as_str()),
            (self.ours, body.target.as_str()),
        ];
        let mut samples = Vec::new();
        for round in 0..rounds {
            eprintln!(
                "lab: {} bytes: round {} of {rounds}",
                body.bytes.len(),
                round + 1
            );
            for index in stats::order(CONTENDERS.len(), round) {
                let (server, target) = sides[index];
                let found = client::get(server.address, target, ACCEPT)?;
                if found.status != 200 || found.body != body.bytes {
                    return Err(Stop::finding(format!(
                        "{}: another body",
                        CONTENDERS[index]
                    )));
                }
                samples.push(self.sample(index, round, server, target)?);
            }
        }
        let of = |name: &str| -> Vec<f64> {
            let mut own: Vec<_> = samples
                .iter()
                .filter(|sample| sample.contender == name)
                .collect();
            own.sort_by_key(|sample| sample.round);
            own.into_iter().map(Sample::us_a_request).collect()
        };
        let [ours, theirs, again] = CONTENDERS.map(of);
        Ok(Cost {
            body_bytes: body.bytes.len(),
            ours_over_nginx: Ratio::of(&ours, &theirs),
            ours_over_ours: Ratio::of(&again, &ours),
            samples,
        })
    }

    fn sample(
        &self,
        index: usize,
        round: usize,
        server: &Server,
        target: &str,
    ) -> Result<Sample, Stop> {
        let load = Load {
            cpu: self.definition.client_cpu,
            connections: self.definition.connections,
            seconds: self.definition.seconds,
        };
        let cpu = self.definition.server_cpu;
        let (before_us, softirq_before_us) = (server.cpu_us()?, softirq_us(cpu)?);
        let requests = wrk::run(load, server.address, target, ACCEPT)?;
        Ok(Sample {
            contender: CONTENDERS[index],
            round,
            requests,
            cpu_us: server.cpu_us()? - before_us,
            softirq_us: softirq_us(cpu)? - softirq_before_us,
        })
    }
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

fn print(costs: &[Cost]) {
    let mut rows = Vec::new();
    for cost in costs {
        for name in CONTENDERS {
            let own = cost
                .samples
                .iter()
                .filter(|sample| sample.contender == name);
            let us: Vec<f64> = own.clone().map(Sample::us_a_request).collect();
            let rate: Vec<f64> = own
                .map(|sample| sample.requests as f64 / (sample.cpu_us as f64 / 1e6))
                .collect();
            let Spread { median, min, max } = Spread::of(&us);
            let ratio = match name {
                "nginx" => cost.ours_over_nginx,
                _ => cost.ours_over_ours,
            };
            let ratio = format!("{:.3} ({:.3}…{:.3})", ratio.median, ratio.low, ratio.high);
            rows.push(vec![
                format!("{} bytes, {name}", cost.body_bytes),
                format!("{median:.2}"),
                format!("{min:.2}…{max:.2}"),
                format!("{:.0}", Spread::of(&rate).median),
                if name == CONTENDERS[0] {
                    String::new()
                } else {
                    ratio
                },
            ]);
        }
    }
    let head = [
        "body",
        "CPU µs/request",
        "range",
        "requests/CPU s",
        "pelton/this (95 %)",
    ];
    table::print("Hits", &head, &rows);
}
