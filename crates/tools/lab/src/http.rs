//! `lab http`: CPU time per request, for each kind of request. Pelton is compared with nginx, h2o
//! and a minimal hyper server, which send the same bytes, and for small responses with libreactor.
//! The server runs on one core and the client on another, on a loopback without other traffic.

mod contender;
mod hyper;

pub(crate) use hyper::{Hyper, serve as hyper};

use std::fs;

use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::meter::{self, Sample};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::stats::{self, Ratio, Spread};
use crate::wrk::{self, Load};
use crate::{SharedFlags, client, h2load, loopback, table};
use contender::Contender;

/// Content of `lab/definitions/http.toml`.
#[derive(Deserialize)]
struct Definition {
    rounds: usize,
    seconds: u32,
    server_cpu: u32,
    client_cpu: u32,
    rows: Vec<Row>,
}

/// Kind of request: a row of the definition, and a table of the output.
#[derive(Deserialize)]
struct Row {
    name: String,
    /// Size of the requested file.
    file_bytes: usize,
    connections: u32,
    #[serde(default)]
    transport: Transport,
    /// Field to send in addition to `Host`, as `Name: value`. `{etag}` stands for the contender's
    /// entity tag of the file.
    field: Option<String>,
    /// Status with which every contender must respond.
    status: u16,
    /// Length of the response body.
    body_bytes: usize,
    /// For HTTP/1.1, the number of pipelined requests, which are sent together. For HTTP/2, the
    /// number of concurrent streams per connection.
    #[serde(default = "one")]
    at_once: u32,
    requests_a_connection: Option<u32>,
}

fn one() -> u32 {
    1
}

/// Protocol that carries the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    /// HTTP/1.1 in cleartext
    #[default]
    Plain,
    /// HTTP/1.1 over TLS 1.3
    Tls,
    /// HTTP/2 in cleartext, by prior knowledge
    H2,
}

/// Results of one row over all rounds.
#[derive(Serialize)]
struct Cost {
    row: String,
    /// Pelton's CPU time per request divided by that of each other contender.
    ours_over: Vec<Over>,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct Over {
    contender: &'static str,
    ratio: Ratio,
}

pub(crate) fn run(given: &SharedFlags, only: Option<&str>) -> Result<(), Stop> {
    loopback::enter()?;
    let (definition, raw): (Definition, _) = given.definition("http")?;
    let peers: [&[&str]; 5] = [
        &["nginx", "-v"],
        &["h2o", "--version"],
        &["wrk", "-v"],
        &["h2load", "--version"],
        &["openssl", "version"],
    ];
    let mut record = Record::begin("http", &raw, &peers, &[]);
    record.add_versions(&given.peers);
    let files = Scratch::new("http")?;
    let wanted = |row: &&Row| only.is_none_or(|only| only == row.name);
    let rows: Vec<&Row> = definition.rows.iter().filter(wanted).collect();
    if rows.is_empty() {
        let names: Vec<_> = definition
            .rows
            .iter()
            .map(|row| row.name.as_str())
            .collect();
        return Err(Stop::usage(format!(
            "the benchmark has no row of this name; its rows are: {}",
            names.join(", ")
        )));
    }
    for row in &rows {
        write_file(&files, row.file_bytes)?;
    }
    let contenders = contender::start_all(given, &files, definition.server_cpu)?;
    let mut costs = Vec::new();
    for row in rows {
        let rounds = given.rounds.unwrap_or(definition.rounds);
        let cost = measure(&definition, row, &contenders, rounds)?;
        print(&cost, &contenders);
        costs.push(cost);
    }
    record.add("costs", &costs);
    record.write(&given.record)
}

/// Returns the request target of the file that is `bytes` long.
fn target(bytes: usize) -> String {
    format!("/{bytes}.json")
}

/// Writes a JSON file of exactly `bytes` bytes, under the name that [`target`] returns.
fn write_file(folder: &Scratch, bytes: usize) -> Result<(), Stop> {
    const FRAME: &str = "{\"message\":\"\"}";
    let filling = "Hello, World! ".chars().cycle();
    let message: String = filling.take(bytes.saturating_sub(FRAME.len())).collect();
    let files = folder.join("files");
    fs::create_dir_all(&files).map_err(at(&files))?;
    let path = files.join(&target(bytes)[1..]);
    fs::write(&path, format!("{{\"message\":\"{message}\"}}")).map_err(at(&path))
}

fn measure(
    definition: &Definition,
    row: &Row,
    contenders: &[Contender],
    rounds: usize,
) -> Result<Cost, Stop> {
    // Contenders that do not support the requests are left out of the row.
    let taking_part: Vec<_> = contenders
        .iter()
        .filter(|contender| contender.takes_part(row))
        .collect();
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("lab: {}: round {} of {rounds}", row.name, round + 1);
        for index in stats::order(taking_part.len(), round) {
            let contender = taking_part[index];
            let fields = verify(row, contender)?;
            let metered = (contender.server.as_ref(), definition.server_cpu);
            samples.push(Sample::take(
                contender.name,
                round,
                metered,
                definition.seconds,
                || load(definition, row, contender, &fields),
            )?);
        }
    }
    let ours = meter::us_a_request(&samples, contenders[0].name);
    let others = taking_part.iter().skip(1).map(|contender| Over {
        contender: contender.name,
        ratio: Ratio::of(&ours, &meter::us_a_request(&samples, contender.name)),
    });
    Ok(Cost {
        row: row.name.clone(),
        ours_over: others.collect(),
        samples,
    })
}

/// Checks status and body length of a contender's response. Returns the fields to send with each
/// request.
fn verify(row: &Row, contender: &Contender) -> Result<Vec<String>, Stop> {
    let target = target(row.file_bytes);
    let server = contender.server.address;
    let wrong = |what: &str| Stop::findings(format!("{}: {target}: {what}", contender.name));
    let mut fields = Vec::new();
    if let Some(field) = &row.field {
        let whole = client::ask(server, &target, &[])?;
        let tag = match field.contains("{etag}") {
            true => whole
                .field("etag")
                .ok_or_else(|| wrong("the response has no ETag"))?,
            false => "",
        };
        fields.push(field.replace("{etag}", tag));
    }
    let response = client::ask(server, &target, &fields)?;
    if response.status != row.status {
        return Err(wrong(&format!(
            "the response has the status {} instead of {}",
            response.status, row.status
        )));
    }
    if response.body.len() != row.body_bytes {
        return Err(wrong(&format!("unexpected length {}", response.body.len())));
    }
    Ok(fields)
}

fn load(
    definition: &Definition,
    row: &Row,
    contender: &Contender,
    fields: &[String],
) -> Result<u64, Stop> {
    let load = Load {
        cpu: definition.client_cpu,
        connections: row.connections,
        seconds: definition.seconds,
    };
    let server = contender.address(row.transport);
    let server = server.expect("contenders without the transport were left out");
    let target = target(row.file_bytes);
    match row.transport {
        Transport::H2 => h2load::run(load, row.at_once, server, &target),
        Transport::Plain | Transport::Tls => wrk::run(
            load,
            &wrk::Requests {
                scheme: if row.transport == Transport::Tls {
                    "https"
                } else {
                    "http"
                },
                server,
                target: &target,
                fields,
                pipelined: row.at_once,
                requests_a_connection: row.requests_a_connection,
            },
        ),
    }
}

fn print(cost: &Cost, contenders: &[Contender]) {
    let mut rows = Vec::new();
    for Contender { name, .. } in contenders {
        let us = meter::us_a_request(&cost.samples, name);
        if us.is_empty() {
            continue;
        }
        let Spread { median, min, max } = Spread::of(&us);
        let over = cost.ours_over.iter().find(|over| over.contender == *name);
        rows.push(vec![
            (*name).to_owned(),
            format!("{median:.2}"),
            format!("{min:.2}…{max:.2}"),
            format!("{:.0}", meter::rate(&cost.samples, name)),
            over.map_or_else(String::new, |Over { ratio, .. }| {
                format!("{:.3} ({:.3}…{:.3})", ratio.median, ratio.low, ratio.high)
            }),
        ]);
    }
    let head = [
        "contender",
        "CPU µs/request",
        "range",
        "requests/s",
        "pelton/this (95 %)",
    ];
    table::print(&cost.row, &head, &rows);
}
