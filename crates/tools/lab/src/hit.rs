//! `lab hit` measures four properties of Pelton's cache: CPU time of hits, compared with nginx;
//! latency of hits while conversions use every core; memory while many clients miss at once; and
//! the time from the start of the process to the first hit.
//!
//! All parts run on a private loopback, in a network namespace without other traffic.

mod cost;
mod latency;
mod pressure;
mod start;

pub(crate) use latency::{Knock, knock};

use serde::Deserialize;
use toolkit::stop::Stop;

use crate::record::Record;
use crate::{SharedFlags, loopback};

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// CPU time per hit, compared with nginx and WebP Server Go
    Cost,
    /// Latency of hits while conversions use every core
    Latency,
    /// Memory during 64 concurrent cache misses
    Pressure,
    /// Time from the start of the process to the first hit
    Start,
}

/// Content of `lab/definitions/hit.toml`.
#[derive(Deserialize)]
struct Definition {
    cost: cost::Definition,
    latency: latency::Definition,
    pressure: pressure::Definition,
    start: start::Definition,
}

pub(crate) fn run(given: &SharedFlags, only: Option<Part>) -> Result<(), Stop> {
    loopback::enter()?;
    let (definition, raw): (Definition, _) = given.definition("hit")?;
    let peers: [&[&str]; 2] = [&["nginx", "-v"], &["wrk", "-v"]];
    let mut record = Record::begin("hit", &raw, &peers, &[]);
    record.add_versions(&given.peers);
    let wanted = |part| only.is_none_or(|only| only == part);
    if wanted(Part::Cost) {
        record.add("cost", &cost::run(given, &definition.cost)?);
    }
    if wanted(Part::Latency) {
        record.add("latency", &latency::run(given, &definition.latency)?);
    }
    if wanted(Part::Pressure) {
        record.add("pressure", &pressure::run(given, &definition.pressure)?);
    }
    if wanted(Part::Start) {
        record.add("start", &start::run(given, &definition.start)?);
    }
    record.write(&given.record)
}
