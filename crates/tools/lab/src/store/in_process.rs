//! Number of values per second that one thread reads from the keyspace directly, without any
//! protocol.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use bytes::Bytes;
use keyspace::{Keyspace, Lifetime, Limits};
use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use super::cpus::Cpus;
use super::memory::key;
use crate::stats::Spread;
use crate::{SharedFlags, table, usage};

const NOW_MS: u64 = 1_000;
const UNTIL: Lifetime = Lifetime {
    now_ms: NOW_MS,
    deadline_ms: None,
};

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    gets: usize,
    value_bytes: Vec<usize>,
    keys: usize,
}

/// Duration of the reads with one value length in one round.
#[derive(Serialize)]
pub(super) struct InProcess {
    value_bytes: usize,
    round: usize,
    gets: usize,
    wall_us: u64,
    /// Total length of all values read, which shows that no read was optimised away.
    bytes: u64,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    cpus: Cpus,
) -> Result<Vec<InProcess>, Stop> {
    // Pin this thread, because it reads the values itself.
    let mut pin = Command::new("taskset");
    pin.args(["--pid", "--cpu-list", &cpus.server.to_string()]);
    usage::run(pin.arg(std::process::id().to_string()))?;
    let keys: Vec<_> = (0..definition.keys).map(key).collect();
    let mut samples = Vec::new();
    for &value_bytes in &definition.value_bytes {
        // All keys share one value, because the reads return handles to values and do not touch the
        // content.
        let value = Bytes::from(vec![b'x'; value_bytes]);
        let mut keyspace = Keyspace::new(Limits::default(), 7);
        for key in &keys {
            keyspace.set(0, key.as_bytes(), &value, UNTIL);
        }
        for round in 0..given.rounds.unwrap_or(definition.rounds) {
            let started = Instant::now();
            let mut bytes = 0;
            for get in 0..definition.gets {
                let key = keys[get % keys.len()].as_bytes();
                let taken = keyspace.get(0, black_box(key), NOW_MS);
                bytes += taken.map_or(0, |value| black_box(value).len() as u64);
            }
            samples.push(InProcess {
                value_bytes,
                round,
                gets: definition.gets,
                wall_us: started.elapsed().as_micros() as u64,
                bytes,
            });
        }
    }
    print(definition, &samples);
    Ok(samples)
}

fn print(definition: &Definition, samples: &[InProcess]) {
    let rows = definition.value_bytes.iter().map(|value_bytes| {
        let own = samples
            .iter()
            .filter(|sample| sample.value_bytes == *value_bytes);
        let millions: Vec<f64> = own
            .map(|sample| sample.gets as f64 / sample.wall_us as f64)
            .collect();
        let Spread { median, min, max } = Spread::of(&millions);
        vec![
            value_bytes.to_string(),
            format!("{median:.1}"),
            format!("{min:.1}…{max:.1}"),
        ]
    });
    let head = ["value bytes", "million/s", "range"];
    table::print("GET in the same process", &head, &rows.collect::<Vec<_>>());
}
