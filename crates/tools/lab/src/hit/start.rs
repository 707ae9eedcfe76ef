//! Time from the start of a server's process to its first hit. The server must read an index of
//! variants first.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use crate::scratch::Scratch;
use crate::server::Server;
use crate::stats::Spread;
use crate::{SharedFlags, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    /// Name of the photograph from which the variants in the index are made.
    photograph: String,
    /// Number of variants in the index, each of a different width.
    variants: u32,
    starts: usize,
}

/// Wall time and CPU time of one start of the server.
#[derive(Serialize)]
pub(super) struct Start {
    /// Time from the start of the process until the response to a hit is complete, in
    /// microseconds.
    wall_us: u64,
    /// CPU time that the server and its cells used from the start of the process until the response
    /// to the first hit was complete, in microseconds.
    cpu_us: u64,
}

pub(super) fn run(given: &SharedFlags, definition: &Definition) -> Result<Vec<Start>, Stop> {
    const NARROWEST_PX: u32 = 64;
    let data = Scratch::new("data")?;
    let target = |width: u32| format!("/{}?w={width}&format=webp", definition.photograph);
    let warm = Server::pelton(&[], given, data.path(), &["--improve", "false"])?;
    for variant in 0..definition.variants {
        warm.get(&target(NARROWEST_PX + variant), "*/*")?;
    }
    drop(warm);
    let mut starts = Vec::new();
    for start in 0..definition.starts {
        eprintln!("lab: server start {} of {}", start + 1, definition.starts);
        let started = Instant::now();
        let server = Server::pelton(&[], given, data.path(), &["--improve", "false"])?;
        server.get(&target(NARROWEST_PX), "*/*")?;
        starts.push(Start {
            wall_us: started.elapsed().as_micros() as u64,
            cpu_us: server.cpu_us()?,
        });
    }
    print(&starts);
    Ok(starts)
}

fn print(starts: &[Start]) {
    let row = |name: &str, value: fn(&Start) -> u64| {
        let values: Vec<f64> = starts
            .iter()
            .map(|start| value(start) as f64 / 1e3)
            .collect();
        Spread::of(&values).row(name)
    };
    let rows = [
        row("wall", |start| start.wall_us),
        row("CPU", |start| start.cpu_us),
    ];
    table::print(
        "Time from the start of the server to the first hit",
        &["time", "ms", "range"],
        &rows,
    );
}
