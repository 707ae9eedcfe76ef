//! CPU time of the server per hit, compared with nginx, which serves the same bytes from a file,
//! and with WebP Server Go, which serves a converted picture of about the same size.

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use crate::meter::{self, Sample};
use crate::nginx;
use crate::peer::{PeerName, PictureServer};
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

/// Names of the contenders, Pelton first.
const PELTON: &str = "pelton";
const NGINX: &str = "nginx";
const WEBP_SERVER_GO: &str = PeerName::WebpServerGo.name();
const AGAIN: &str = "pelton again";
const ACCEPT: &str = "image/webp";
/// Format and quality of WebP Server Go, whose bodies are compared by size only. Its WebPs of this
/// photograph keep 36 KB of EXIF, so they are never as small as Pelton's.
const GO_FORMAT: &str = "avif";
const GO_ACCEPT: &str = "image/avif";
const GO_QUALITY: u8 = 80;

/// Results for one body size over all rounds.
#[derive(Serialize)]
pub(super) struct Cost {
    body_bytes: usize,
    ours_over_nginx: Ratio,
    /// Absent if WebP Server Go is not given.
    ours_over_webp_server_go: Option<Ratio>,
    ours_over_ours: Ratio,
    /// Size of the body that WebP Server Go sends: a variant of about the same size, by its own
    /// encoder.
    webp_server_go_bytes: Option<usize>,
    samples: Vec<Sample>,
}

pub(super) fn run(given: &SharedFlags, definition: &Definition) -> Result<Vec<Cost>, Stop> {
    let data = Scratch::new("data")?;
    let folder = Scratch::new("nginx")?;
    let ours = ours(given, &data, definition.server_cpu)?;
    let mut bodies = Vec::new();
    for bytes in &definition.bodies_bytes {
        bodies.push(body(&ours, (&definition.photograph, "w", ACCEPT), *bytes)?);
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
    let go_folder = Scratch::new("webp-server-go")?;
    let go = webp_server_go(given, &go_folder, definition.server_cpu)?;
    let rounds = given.rounds.unwrap_or(definition.rounds);
    let mut costs = Vec::new();
    for body in bodies {
        let file = Body {
            target: format!("/{}", body.file),
            ..body.clone()
        };
        let mut sides = vec![(PELTON, &ours, body.clone()), (NGINX, &theirs, file)];
        if let Some(go) = &go {
            let near = body_near(go, definition, body.bytes.len())?;
            sides.push((WEBP_SERVER_GO, go, near));
        }
        sides.push((AGAIN, &ours, body));
        costs.push(Comparison { sides, definition }.run(rounds)?);
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

/// Starts WebP Server Go on the core `cpu`, if it is given.
fn webp_server_go(given: &SharedFlags, folder: &Scratch, cpu: u32) -> Result<Option<Server>, Stop> {
    let Some(program) = given.peer(PeerName::WebpServerGo) else {
        eprintln!(
            "lab: hits: {WEBP_SERVER_GO} is left out, because no option --peer gives its path"
        );
        return Ok(None);
    };
    let server = PictureServer {
        given,
        program,
        folder: folder.path(),
        cpu: Some(cpu),
        quality: GO_QUALITY,
        format: GO_FORMAT,
    };
    server.start().map(Some)
}

/// Returns a variant of WebP Server Go with a body of about `wanted_bytes`.
fn body_near(go: &Server, definition: &Definition, wanted_bytes: usize) -> Result<Body, Stop> {
    let near = body(
        go,
        (&definition.photograph, "width", GO_ACCEPT),
        wanted_bytes,
    )?;
    if near.bytes.len().abs_diff(wanted_bytes) * 10 > wanted_bytes {
        eprintln!(
            "lab: hits: the variant of {WEBP_SERVER_GO} that is nearest in size has {} bytes \
             instead of {wanted_bytes}",
            near.bytes.len()
        );
    }
    Ok(near)
}

/// Variant with a body of about the size that one entry of `bodies_bytes` states.
#[derive(Clone)]
struct Body {
    target: String,
    /// Value of the request's `Accept` field.
    accept: &'static str,
    file: String,
    bytes: Vec<u8>,
}

/// Finds the width, which the query sends as `parameter`, at which the variant of `photograph` has
/// a body of about `wanted_bytes`.
fn body(
    server: &Server,
    (photograph, parameter, accept): (&str, &str, &'static str),
    wanted_bytes: usize,
) -> Result<Body, Stop> {
    let (mut narrow, mut wide) = (16, 4096);
    let mut nearest: Option<Body> = None;
    while narrow <= wide {
        let width = (narrow + wide) / 2;
        let target = format!("/{photograph}?{parameter}={width}");
        let bytes = server.get(&target, accept)?.body;
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
                accept,
                file,
                bytes,
            });
        }
    }
    nearest.ok_or_else(|| {
        Stop::findings(
            "the server must compare at least one width to find a variant of the wanted size",
        )
    })
}

/// Comparison for one body size.
struct Comparison<'a> {
    /// Contenders by name, with their servers and bodies.
    sides: Vec<(&'static str, &'a Server, Body)>,
    definition: &'a Definition,
}

impl Comparison<'_> {
    fn run(&self, rounds: usize) -> Result<Cost, Stop> {
        let body_bytes = self.sides[0].2.bytes.len();
        let mut samples = Vec::new();
        for round in 0..rounds {
            eprintln!(
                "lab: hits of {body_bytes} bytes: round {} of {rounds}",
                round + 1
            );
            for index in stats::order(self.sides.len(), round) {
                let (name, server, body) = &self.sides[index];
                let found = client::get(server.address, &body.target, body.accept)?;
                if found.status != 200 || found.body != body.bytes {
                    return Err(Stop::findings(format!(
                        "{name}: the response is not a 200 with the expected body"
                    )));
                }
                samples.push(self.sample((name, round), server, body)?);
            }
        }
        let of = |name: &str| meter::us_a_request(&samples, name);
        let go = self.sides.iter().find(|(name, ..)| *name == WEBP_SERVER_GO);
        Ok(Cost {
            body_bytes,
            ours_over_nginx: Ratio::of(&of(PELTON), &of(NGINX)),
            ours_over_webp_server_go: go.map(|(name, ..)| Ratio::of(&of(PELTON), &of(name))),
            ours_over_ours: Ratio::of(&of(AGAIN), &of(PELTON)),
            webp_server_go_bytes: go.map(|(_, _, body)| body.bytes.len()),
            samples,
        })
    }

    fn sample(
        &self,
        (name, round): (&'static str, usize),
        server: &Server,
        body: &Body,
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
            target: &body.target,
            fields: &[format!("Accept: {}", body.accept)],
            pipelined: 1,
            requests_a_connection: None,
        };
        let metered = (server, server_cpu);
        Sample::take(name, round, metered, seconds, || wrk::run(load, &requests))
    }
}

fn print(costs: &[Cost]) {
    let mut rows = Vec::new();
    for cost in costs {
        for name in [PELTON, NGINX, WEBP_SERVER_GO, AGAIN] {
            let us = meter::us_a_request(&cost.samples, name);
            if us.is_empty() {
                continue;
            }
            let Spread { median, min, max } = Spread::of(&us);
            let ratio = match name {
                NGINX => Some(cost.ours_over_nginx),
                WEBP_SERVER_GO => cost.ours_over_webp_server_go,
                AGAIN => Some(cost.ours_over_ours),
                _ => None,
            };
            rows.push(vec![
                format!("{} bytes, {name}", cost.body_bytes),
                format!("{median:.2}"),
                format!("{min:.2}…{max:.2}"),
                format!("{:.0}", meter::rate(&cost.samples, name)),
                ratio.map_or_else(String::new, |ratio| {
                    format!("{:.3} ({:.3}…{:.3})", ratio.median, ratio.low, ratio.high)
                }),
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
