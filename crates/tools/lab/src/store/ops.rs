//! CPU time of the server per operation, under the load of redis-benchmark. Each kind of operation
//! is a row of the table.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Instant;

use resp::Reply;
use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use super::contender::{self, Contender, NAMES, VALKEY};
use super::cpus::Cpus;
use crate::meter::{self, Sample};
use crate::stats::{self, Ratio, Spread};
use crate::{SharedFlags, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    rows: Vec<Row>,
}

/// Kind of operation. In its arguments, `__rand_int__` stands for a random number below `keys`.
#[derive(Deserialize)]
pub(super) struct Row {
    name: String,
    /// Command that fills the store before the measurement. It runs `10 * keys` times with random
    /// keys, so that nearly all keys exist.
    prepare: Option<Vec<String>>,
    command: Vec<String>,
    /// Length of the value that is appended as the last argument; 0 if there is no value.
    #[serde(default)]
    data_bytes: usize,
    #[serde(default = "one")]
    pipeline: u32,
    requests: u64,
    keys: u64,
    #[serde(default = "fifty")]
    connections: u32,
}

fn one() -> u32 {
    1
}

fn fifty() -> u32 {
    50
}

/// Results of one row over all rounds.
#[derive(Serialize)]
pub(super) struct Cost {
    row: String,
    ours_over_redis: Ratio,
    ours_over_valkey: Option<Ratio>,
    samples: Vec<Sample>,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    cpus: Cpus,
    only: Option<&str>,
) -> Result<Vec<Cost>, Stop> {
    let rounds = given.rounds.unwrap_or(definition.rounds);
    let wanted = |row: &&Row| only.is_none_or(|only| only == row.name);
    let rows: Vec<_> = definition.rows.iter().filter(wanted).collect();
    if rows.is_empty() {
        let names = definition.rows.iter().map(|row| &*row.name);
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Stop::usage(format!(
            "--row: there is no such row; the rows are {names}"
        )));
    }
    let mut costs = Vec::new();
    for row in rows {
        costs.push(measure(given, row, cpus, rounds)?);
    }
    print(&costs);
    Ok(costs)
}

fn measure(given: &SharedFlags, row: &Row, cpus: Cpus, rounds: usize) -> Result<Cost, Stop> {
    let contenders = contender::start(given, cpus, &contender::all_names(given), &[])?;
    let samples = sample(row, cpus, rounds, &contenders)?;
    let of = |name| meter::us_a_request(&samples, name);
    let valkey = given.valkey.is_some();
    Ok(Cost {
        row: row.name.clone(),
        ours_over_redis: Ratio::of(&of(NAMES[0]), &of(NAMES[1])),
        ours_over_valkey: valkey.then(|| Ratio::of(&of(NAMES[0]), &of(VALKEY))),
        samples,
    })
}

/// Fills each contender with the row's data. Then, in each round, puts the row's load on one
/// contender after the other.
pub(super) fn sample(
    row: &Row,
    cpus: Cpus,
    rounds: usize,
    contenders: &[Contender],
) -> Result<Vec<Sample>, Stop> {
    for contender in contenders {
        verify(row, contender)?;
        if let Some(words) = &row.prepare {
            let filling = Row {
                requests: row.keys * 10,
                pipeline: 16,
                connections: row.connections,
                ..row.asking(words)
            };
            load(&filling, cpus, contender.server.address)?;
        }
    }
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("lab: {}: round {} of {rounds}", row.name, round + 1);
        for index in stats::order(contenders.len(), round) {
            let contender = &contenders[index];
            let metered = (&contender.server, cpus.server);
            samples.push(Sample::timed(contender.name, round, metered, || {
                let started = Instant::now();
                load(row, cpus, contender.server.address)?;
                Ok((row.requests, started.elapsed().as_secs_f64()))
            })?);
        }
    }
    Ok(samples)
}

impl Definition {
    /// Returns the row with this name.
    pub(super) fn row(&self, name: &str) -> Result<&Row, Stop> {
        let found = self.rows.iter().find(|row| row.name == name);
        found.ok_or_else(|| {
            Stop::usage(format!(
                "the definition of the benchmark has no row {name:?}"
            ))
        })
    }
}

impl Row {
    /// Returns a copy of this row that runs the command `words` with the same keys and values. The
    /// copy does not fill the store.
    fn asking(&self, words: &[String]) -> Row {
        Row {
            name: self.name.clone(),
            prepare: None,
            command: words.to_vec(),
            data_bytes: self.data_bytes,
            pipeline: self.pipeline,
            requests: self.requests,
            keys: self.keys,
            connections: self.connections,
        }
    }

    /// Returns true if the value is appended to the command as its last argument. Only SET gets the
    /// value.
    fn takes_data(&self) -> bool {
        self.data_bytes != 0 && self.command[0] == "SET"
    }
}

/// Checks that the contender returns a value of the row's length unchanged, and that it does not
/// reply to the row's command with an error.
fn verify(row: &Row, contender: &Contender) -> Result<(), Stop> {
    let mut client = contender.client()?;
    let value = vec![b'x'; row.data_bytes.max(1)];
    client.ask(&[b"SET".as_slice(), b"verify", &value])?;
    let same = client.ask(&["GET", "verify"])? == Reply::Bulk(value.clone().into());
    let words = row.command.iter();
    let mut words: Vec<Vec<u8>> = words
        .map(|word| word.replace("__rand_int__", "000000000000").into_bytes())
        .collect();
    if row.takes_data() {
        words.push(value);
    }
    let taken = !matches!(client.ask(&words)?, Reply::Error(_));
    match same && taken {
        true => Ok(()),
        false => Err(Stop::findings(format!(
            "{}: {}: wrong reply",
            contender.name, row.name
        ))),
    }
}

/// Runs redis-benchmark and waits until it exits. redis-benchmark reads the value from its standard
/// input, because a long value does not fit on a command line.
fn load(row: &Row, cpus: Cpus, server: SocketAddr) -> Result<(), Stop> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &cpus.client.to_string(), "redis-benchmark"]);
    for (flag, value) in [
        ("-p", u64::from(server.port())),
        ("-n", row.requests),
        ("-r", row.keys),
        ("-c", u64::from(row.connections)),
        ("-P", u64::from(row.pipeline)),
    ] {
        command.args([flag, &value.to_string()]);
    }
    command.arg("-q");
    if row.takes_data() {
        command.arg("-x");
    }
    command.args(&row.command);
    let failed = |err: std::io::Error| Stop::host(format!("redis-benchmark: {err}"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|err| failed(err).hint("run cargo xtask lab, which installs redis-tools"))?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    if row.takes_data() {
        let data = vec![b'x'; row.data_bytes];
        stdin.write_all(&data).map_err(failed)?;
    }
    drop(stdin);
    let status = child.wait().map_err(failed)?;
    match status.success() {
        true => Ok(()),
        false => Err(Stop::findings(format!("redis-benchmark: {status}"))),
    }
}

fn print(costs: &[Cost]) {
    let rows = costs.iter().map(|cost| {
        let of = |name| {
            let Spread { median, .. } = Spread::of(&meter::us_a_request(&cost.samples, name));
            [
                format!("{median:.3}"),
                format!("{:.0}", meter::rate(&cost.samples, name)),
            ]
        };
        let ratio = |ratio: &Ratio| {
            let Ratio { median, low, high } = ratio;
            format!("{median:.3} ({low:.3}…{high:.3})")
        };
        let mut cells = vec![cost.row.clone()];
        cells.extend(NAMES.into_iter().flat_map(of));
        cells.push(ratio(&cost.ours_over_redis));
        cells.push(cost.ours_over_valkey.as_ref().map_or(String::new(), ratio));
        cells
    });
    let head = [
        "operation",
        "ours µs",
        "ops/s",
        "redis µs",
        "ops/s",
        "ours/redis CPU (95 %)",
        "ours/valkey CPU",
    ];
    table::print(
        "CPU time per operation (medians of rounds)",
        &head,
        &rows.collect::<Vec<_>>(),
    );
}
