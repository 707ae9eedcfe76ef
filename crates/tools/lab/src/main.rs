//! `cargo xtask lab`: Pelton measured against its peers, which run as processes from Debian's packages.
//!
//! Each benchmark is a module that reads its definition under `lab/definitions`, verifies every answer before it is
//! timed, prints its tables, and leaves a record of raw samples under `lab/record`. How and with which bias is told in
//! `lab/METHOD.md` and `lab/BIAS.md`.
//!
//! ```text
//! definition ─┐
//! corpus ─────┼─► benchmark ─► verified answers ─► interleaved rounds ─► samples ─► tables, record
//! peers ──────┘
//! ```
//!
//! Units: CPU time in microseconds of user and system time, with all children; bytes; SSIMULACRA2. Errors: a host that
//! lacks something, or an answer that is not what was asked. Data goes to stdout, everything else to stderr.

#![forbid(unsafe_code)]

mod cells;
mod hit;
mod http;
mod image;
mod quality;
mod scan;
mod store;

mod client;
mod converter;
mod corpus;
mod given;
mod h2load;
mod host;
mod judge;
mod lanczos;
mod loopback;
mod meter;
mod netpbm;
mod nginx;
mod record;
mod scratch;
mod server;
mod stats;
mod stop;
mod table;
mod usage;
mod wrk;

use std::process::ExitCode;

use clap::Parser as _;
use given::Given;
use stop::EXIT_USAGE;

/// What was typed.
#[derive(clap::Parser)]
#[command(
    name = "lab",
    about = "Measures Pelton against its peers; cargo xtask lab builds both and runs this"
)]
struct Typed {
    #[command(subcommand)]
    benchmark: Benchmark,
    #[command(flatten)]
    given: Given,
}

/// Which benchmark.
#[derive(clap::Subcommand)]
enum Benchmark {
    /// Settings of each encoder that look like a JPEG of each quality
    Quality,
    /// CPU time, bytes and quality of conversions, beside vips, cwebp and avifenc
    Image {
        /// This part alone
        #[arg(long)]
        only: Option<image::Part>,
    },
    /// CPU time of hits beside nginx, their latency under conversions, and memory under pressure
    Hit {
        /// This part alone
        #[arg(long)]
        only: Option<hit::Part>,
    },
    /// CPU time of requests of every kind beside nginx, h2o and hyper: pipelined, ranges, 304, churn, TLS, HTTP/2
    Http {
        /// The row of this name alone
        #[arg(long)]
        only: Option<String>,
    },
    /// What a cell costs around one small job: throughput over HTTP by backend and pages, waits, wipes
    Cells,
    /// CPU time of the store's commands, latencies, memory and expiry beside redis-server
    Store {
        /// This part alone
        #[arg(long)]
        only: Option<store::Part>,
        /// Of the operations the one of this name alone
        #[arg(long)]
        row: Option<String>,
    },
    /// Asks a store for a key at a steady rate; part of `store`
    #[command(hide = true)]
    Probe(store::Probe),
    /// A music library: scans beside Musium's read pattern and lofty, rescans, search and covers
    Scan(scan::Typed),
    /// Reads a library in one way; part of `scan`
    #[command(hide = true)]
    Read(scan::Arms),
    /// A minimal hyper server; part of `http`
    #[command(hide = true)]
    Hyper(http::Hyper),
    /// Asks a server at a steady rate; part of `hit`
    #[command(hide = true)]
    Knock(hit::Knock),
}

fn main() -> ExitCode {
    let typed = match Typed::try_parse() {
        Ok(typed) => typed,
        Err(err) => {
            let code = if err.use_stderr() { EXIT_USAGE } else { 0 };
            return match err.print() {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::from(stop::EXIT_HOST),
            };
        }
    };
    let ended = match typed.benchmark {
        Benchmark::Quality => quality::run(&typed.given),
        Benchmark::Image { only } => image::run(&typed.given, only),
        Benchmark::Hit { only } => hit::run(&typed.given, only),
        Benchmark::Http { only } => http::run(&typed.given, only.as_deref()),
        Benchmark::Cells => cells::run(&typed.given),
        Benchmark::Store { only, row } => store::run(&typed.given, only, row.as_deref()),
        Benchmark::Probe(probe) => store::probe(&probe),
        Benchmark::Scan(asked) => scan::run(&typed.given, &asked),
        Benchmark::Read(arms) => scan::read(&arms),
        Benchmark::Hyper(hyper) => http::hyper(&hyper),
        Benchmark::Knock(knock) => hit::knock(&knock),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            eprintln!("{stop}");
            ExitCode::from(stop.exit)
        }
    }
}
