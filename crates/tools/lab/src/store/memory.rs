//! Memory per key, for small keys with small values.

use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use super::contender::{self, NAMES};
use super::cpus::Cpus;
use crate::stats::Spread;
use crate::usage::Tree;
use crate::{SharedFlags, table};

/// Time that a server gets for cleaning up after it was filled.
const CLEANUP_TIME: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    keys: usize,
    value_bytes: usize,
}

/// Memory of one contender in one round.
#[derive(Serialize)]
pub(super) struct Memory {
    contender: &'static str,
    round: usize,
    /// Proportional set size of the server before the keys were set; `full_bytes` is the size after
    /// the keys were set.
    empty_bytes: u64,
    full_bytes: u64,
    bytes_a_key: f64,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    cpus: Cpus,
) -> Result<Vec<Memory>, Stop> {
    let value = vec![b'x'; definition.value_bytes];
    let mut samples = Vec::new();
    let names = contender::all_names(given);
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        eprintln!("lab: memory: round {}", round + 1);
        for contender in contender::start(given, cpus, &names, &[])? {
            let pid = contender.server.pid();
            let empty_bytes = Tree::read(pid)?.memory_bytes;
            contender.client()?.fill(definition.keys, |number| {
                vec![b"SET".to_vec(), key(number).into_bytes(), value.clone()]
            })?;
            thread::sleep(CLEANUP_TIME);
            let full_bytes = Tree::read(pid)?.memory_bytes;
            samples.push(Memory {
                contender: contender.name,
                round,
                empty_bytes,
                full_bytes,
                bytes_a_key: (full_bytes - empty_bytes) as f64 / definition.keys as f64,
            });
        }
    }
    print(&names, &samples);
    Ok(samples)
}

/// Returns the key for a number. All keys have 16 bytes.
pub(super) fn key(number: usize) -> String {
    format!("key:{number:012}")
}

fn print(names: &[&str], samples: &[Memory]) {
    let median = |name: &str| {
        let own = samples.iter().filter(|sample| sample.contender == name);
        Spread::of(&own.map(|sample| sample.bytes_a_key).collect::<Vec<_>>()).median
    };
    let rows = names.iter().map(|&name| {
        vec![
            name.to_owned(),
            format!("{:.1}", median(name)),
            format!("{:.3}", median(name) / median(NAMES[1])),
        ]
    });
    let head = ["contender", "bytes/key", "this/redis"];
    table::print("Memory", &head, &rows.collect::<Vec<_>>());
}
