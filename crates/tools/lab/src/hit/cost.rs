//! CPU time of the server per hit, compared with nginx, which serves the same bytes from a file.

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use crate::meter::{self, Sample};
use crate::nginx;
use crate::scratch::Scratch;
use crate::server::Server;
use crate::stats::{self, Ratio, Spread};
use crate::wrk::{self, Load};
use crate::{SharedFlags, client, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    /// Name of the photograph from which all variants are made.
    photograph: String,
    /// Approximate sizes, in bytes, of the response bodies.
    bodies_bytes: Vec<usize>,
    rounds: usize,
    seconds: u32,
    connections: u32,
    server_cpu: u32,
    client_cpu: u32,
}

const CONTENDERS: [&str; 3] = ["pelton", "nginx", "pelton again"];
const ACCEPT: &str = "image/webp";

/// Results for one body size over all rounds.
#[derive(Serialize)]
pub(super) struct Cost {
    body_bytes: usize,
    ours_over_nginx: Ratio,
    ours_over_ours: Ratio,
    samples: Vec<Sample>,
}

pub(super) fn run(given: &SharedFlags, definition: &Definition) -> Result<Vec<Cost>, Stop> {
    let data = Scratch::new("data")?;
    let folder = Scratch::new("nginx")?;
    let ours = ours(given, &data, definition.server_cpu)?;
    let mut bodies = Vec::new();
    for bytes in &definition.bodies_bytes {
        bodies.push(body(&ours, &definition.photograph, *bytes)?);
    }
    ours.wait_idle()?;
    for body in &mut bodies {
        // By now, the final variant, which was encoded at higher effort, has replaced the
        // provisional one. nginx must serve the bytes of the final variant.
        body.bytes = ours.get(&body.target, ACCEPT)?.body;
        nginx::add_file(&folder, &body.file, &body.bytes)?;
    }
    let theirs = nginx::start(
        &folder,
        definition.server_cpu,
        "",
        &format!("/{}", bodies[0].file),
    )?;
    let track = Comparison {
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

fn ours(given: &SharedFlags, data: &Scratch, cpu: u32) -> Result<Server, Stop> {
    let cores = cpu.to_string();
    Server::pelton(
        &["taskset", "--cpu-list", &cores],
        given,
        data.path(),
        &["--cores", "1"],
    )
}

/// Variant with a body of about the size that one entry of `bodies_bytes` states.
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
    nearest.ok_or_else(|| Stop::findings("no width was tried"))
}

struct Comparison<'a> {
    ours: &'a Server,
    theirs: &'a Server,
    definition: &'a Definition,
}

impl Comparison<'_> {
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
                    return Err(Stop::findings(format!(
                        "{}: not a 200 with the expected body",
                        CONTENDERS[index]
                    )));
                }
                samples.push(self.sample(index, round, server, target)?);
            }
        }
        let of = |name: &str| meter::us_a_request(&samples, name);
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
        let Definition {
            client_cpu: cpu,
            connections,
            seconds,
            server_cpu,
            ..
        } = *self.definition;
        let load = Load {
            cpu,
            connections,
            seconds,
        };
        let requests = wrk::Requests {
            scheme: "http",
            server: server.address,
            target,
            fields: &[format!("Accept: {ACCEPT}")],
            pipelined: 1,
            requests_a_connection: None,
        };
        let metered = (server, server_cpu);
        Sample::take(CONTENDERS[index], round, metered, seconds, || {
            wrk::run(load, &requests)
        })
    }
}

fn print(costs: &[Cost]) {
    let mut rows = Vec::new();
    for cost in costs {
        for name in CONTENDERS {
            let us = meter::us_a_request(&cost.samples, name);
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
                format!("{:.0}", meter::rate(&cost.samples, name)),
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
        "requests/s",
        "pelton/this (95 %)",
    ];
    table::print("Hits", &head, &rows);
}
