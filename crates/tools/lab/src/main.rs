//! `cargo xtask lab`: benchmarks of Pelton against comparable programs (peers) from Debian's
//! packages, and against peers that are built elsewhere.
//!
//! Each benchmark is a module. A benchmark reads its definition under `lab/definitions`, and
//! verifies the responses before it measures time. Then it prints its tables, and writes a record
//! of raw samples under `lab/record`. `lab/METHOD.md` describes the method, `lab/BIAS.md` the known
//! bias.
//!
//! ```text
//! definition ─┐
//! corpus ─────┼─► benchmark ─► verification ─► interleaved rounds ─► samples ─► tables, record
//! peers ──────┘
//! ```
//!
//! Units: microseconds of CPU time (user plus system, children included), bytes, and SSIMULACRA2
//! scores. Errors: a wrong command line or definition; a fault of the host, such as a missing
//! program; or a wrong response of a program. Data goes to stdout, everything else to stderr.

#![forbid(unsafe_code)]

mod cells;
mod hit;
mod http;
mod image;
mod profile;
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
mod peer;
mod record;
mod scratch;
mod server;
mod stats;
mod table;
mod timeline;
mod usage;
mod wrk;

use std::process::ExitCode;

use clap::Parser as _;
use toolkit::stop::{EXIT_HOST, EXIT_USAGE};

use given::SharedFlags;

/// Command line of `lab`.
#[derive(clap::Parser)]
#[command(
    name = "lab",
    about = "Measure Pelton and comparable programs; cargo xtask lab builds what is needed, and starts this program"
)]
struct Typed {
    #[command(subcommand)]
    benchmark: Benchmark,
    #[command(flatten)]
    given: SharedFlags,
}

/// Subcommands: one per benchmark, and hidden ones for the processes that benchmarks start.
#[derive(clap::Subcommand)]
enum Benchmark {
    /// Find the settings of the WebP and AVIF encoders that give the same quality as a JPEG
    Quality,
    /// Measure CPU time, bytes and quality of conversions, compared with vips, cwebp and avifenc
    Image {
        /// Run only this part
        #[arg(long)]
        only: Option<image::Part>,
    },
    /// Measure CPU time of cache hits compared with nginx, latency of hits during conversions,
    /// memory during many cache misses, and start time
    Hit {
        /// Run only this part
        #[arg(long)]
        only: Option<hit::Part>,
    },
    /// Measure CPU time of HTTP requests (pipelined, for ranges, answered with 304, on short
    /// connections, over TLS, over HTTP/2), compared with nginx, h2o and hyper
    Http {
        /// Run only the measurement with this name in the first column of the results
        #[arg(long)]
        only: Option<String>,
    },
    /// Measure the cost of the sandboxes (cells) for small conversions: throughput over HTTP with
    /// processes and microVMs, the wait for a sandbox, and the time to erase a sandbox
    Cells,
    /// Measure CPU time of the store's commands, latency, memory and expiry, compared with
    /// redis-server
    Store {
        /// Run only this part
        #[arg(long)]
        only: Option<store::Part>,
        /// Run only the operation with this name, in the part `ops`
        #[arg(long)]
        row: Option<String>,
    },
    /// Request a key from a store at a steady rate (started by `store`)
    #[command(hide = true)]
    Probe(store::Probe),
    /// Measure the first scan of a music library, compared with the Rust crate lofty and with the
    /// way in which the music server Musium reads files; also measure later scans, searches and the
    /// conversion of covers
    Scan(scan::Typed),
    /// Read a library as one contender does (started by `scan`)
    #[command(hide = true)]
    Read(scan::ReadArguments),
    /// Measure the CPU time that a CPU profile adds to cache hits and conversions
    Profile,
    /// Run a minimal hyper server (started by `http`)
    #[command(hide = true)]
    Hyper(http::Hyper),
    /// Send requests to a server at a steady rate (started by `hit`)
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
                Err(_) => ExitCode::from(EXIT_HOST),
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
        Benchmark::Profile => profile::run(&typed.given),
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
