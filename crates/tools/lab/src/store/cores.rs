//! Gain from a second core. Compares the same operations on a server with one core and on a server
//! with two cores. The server shares the second core with the clients.

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use super::contender::{Contender, start_on};
use super::cpus::Cpus;
use super::ops;
use crate::meter::{self, Sample};
use crate::stats::Spread;
use crate::{SharedFlags, table};

/// Programs that are measured. Each row has the program's name, its name in the tables when it runs
/// on two cores, and the directives that it needs to use both cores. Pelton needs none: one thread
/// owns the data, and other threads only write files.
const PROGRAMS: [(&str, &str, &[&str]); 2] = [
    ("pelton", "pelton, two", &[]),
    ("redis", "redis, two", &["--io-threads", "2"]),
];

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    /// Names of rows of the part `ops`.
    rows: Vec<String>,
    /// Directives for all contenders, in the syntax of redis.conf.
    directives: Vec<String>,
}

/// Samples for one row of the benchmark's table, from all rounds.
#[derive(Serialize)]
pub(super) struct Cores {
    row: String,
    samples: Vec<Sample>,
}

pub(super) fn run(
    given: &SharedFlags,
    (definition, ops): (&Definition, &ops::Definition),
    cpus: Cpus,
) -> Result<Vec<Cores>, Stop> {
    let rounds = given.rounds.unwrap_or(definition.rounds);
    let mut all = Vec::new();
    for name in &definition.rows {
        let contenders = start(given, definition, cpus)?;
        let samples = ops::sample(ops.row(name)?, cpus, rounds, &contenders)?;
        let row = name.clone();
        all.push(Cores { row, samples });
    }
    print(&all);
    Ok(all)
}

/// Starts each program twice: on one core, and on two cores.
fn start(given: &SharedFlags, definition: &Definition, cpus: Cpus) -> Result<Vec<Contender>, Stop> {
    let one = cpus.server.to_string();
    let two = format!("{},{}", cpus.server, cpus.client);
    let mut contenders = Vec::new();
    for (name, name_of_two, label) in PROGRAMS {
        let mut directives: Vec<_> = definition.directives.iter().map(String::as_str).collect();
        contenders.push(start_on(given, &one, (name, name), &directives)?);
        directives.extend(label);
        contenders.push(start_on(given, &two, (name, name_of_two), &directives)?);
    }
    Ok(contenders)
}

fn print(all: &[Cores]) {
    let rows = all.iter().map(|Cores { row, samples }| {
        let mut cells = vec![row.clone()];
        for (one, two, _) in PROGRAMS {
            let cpu_us = |name| Spread::of(&meter::us_a_request(samples, name)).median;
            let (rate, rate_of_two) = (meter::rate(samples, one), meter::rate(samples, two));
            cells.push(format!("{rate:.0}"));
            cells.push(format!("{:.2}", rate_of_two / rate));
            cells.push(format!("{:.2}", cpu_us(two) / cpu_us(one)));
        }
        cells
    });
    let head = [
        "operation",
        "pelton, one core, ops/s",
        "two/one",
        "CPU two/one",
        "redis, one core, ops/s",
        "two/one",
        "CPU two/one",
    ];
    let title = "Effect of a second core, on which the clients run too";
    table::print(title, &head, &rows.collect::<Vec<_>>());
}
