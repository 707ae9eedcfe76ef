//! `lab store`: CPU time of commands compared with Debian's redis-server; latency of small replies
//! while large replies are sent, while a million keys expire, and while a snapshot is written;
//! memory per key; and throughput of a caller in the same process.
//!
//! All parts run on a private loopback, in a network namespace without other traffic.

mod beside;
mod client;
mod contender;
mod cores;
mod cpus;
mod expiry;
mod in_process;
mod memory;
mod ops;
mod probe;
mod snapshot;

pub(crate) use probe::{Probe, probe};

use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use self::cpus::Cpus;
use crate::record::Record;
use crate::{SharedFlags, loopback};

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// CPU time per operation, and operations per second
    Ops,
    /// Operations per second with a second core for the server
    Cores,
    /// Latency of small replies while another client gets large ones
    Beside,
    /// Memory per key
    Memory,
    /// Latency while a million keys expire
    Expiry,
    /// Latency and memory while a snapshot is written
    Snapshot,
    /// Values that a caller in the same process reads per second
    InProcess,
}

/// Content of `lab/definitions/store.toml`.
#[derive(Deserialize)]
struct Definition {
    server_cpu: u32,
    client_cpu: u32,
    ops: ops::Definition,
    cores: cores::Definition,
    beside: beside::Definition,
    memory: memory::Definition,
    expiry: expiry::Definition,
    snapshot: snapshot::Definition,
    in_process: in_process::Definition,
}

/// Runs the part `only`, or all parts if `only` is `None`. The part `ops` measures several
/// commands, called rows. If `row` is given, the part measures only that row.
pub(crate) fn run(given: &SharedFlags, only: Option<Part>, row: Option<&str>) -> Result<(), Stop> {
    loopback::enter()?;
    let (definition, raw): (Definition, _) = given.definition("store")?;
    let cpus = Cpus {
        server: definition.server_cpu,
        client: definition.client_cpu,
    };
    let peers: [&[&str]; 2] = [
        &["redis-server", "--version"],
        &["redis-benchmark", "--version"],
    ];
    let mut record = Record::begin("store", &raw, &peers, &[]);
    let wanted = |part| only.is_none_or(|only| only == part);
    let mut failed = Vec::new();
    if wanted(Part::Ops) {
        let measured = ops::run(given, &definition.ops, cpus, row);
        failed.extend(add(&mut record, "ops", measured));
    }
    if wanted(Part::Cores) {
        let measured = cores::run(given, (&definition.cores, &definition.ops), cpus);
        failed.extend(add(&mut record, "cores", measured));
    }
    if wanted(Part::Beside) {
        let measured = beside::run(given, &definition.beside, cpus);
        failed.extend(add(&mut record, "beside", measured));
    }
    if wanted(Part::Memory) {
        let measured = memory::run(given, &definition.memory, cpus);
        failed.extend(add(&mut record, "memory", measured));
    }
    if wanted(Part::Expiry) {
        let measured = expiry::run(given, &definition.expiry, cpus);
        failed.extend(add(&mut record, "expiry", measured));
    }
    if wanted(Part::Snapshot) {
        let measured = snapshot::run(given, &definition.snapshot, cpus);
        failed.extend(add(&mut record, "snapshot", measured));
    }
    if wanted(Part::InProcess) {
        let measured = in_process::run(given, &definition.in_process, cpus);
        failed.extend(add(&mut record, "in_process", measured));
    }
    record.write(&given.record)?;
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Adds the samples of a part to the record. If the part failed, prints the error and returns it,
/// so that the caller can run the other parts before it fails.
fn add<T: Serialize>(
    record: &mut Record,
    name: &str,
    measured: Result<Vec<T>, Stop>,
) -> Option<Stop> {
    match measured {
        Ok(samples) => record.add(name, &samples),
        Err(stop) => {
            eprintln!("{stop}\nlab: {name} is left out of the record");
            return Some(stop);
        }
    }
    None
}
