//! Differential test of our HTTP/1.1 parser against those of hyper and h11.
//!
//! Principal type: [`reading::Reading`], a server's interpretation of the bytes of one connection.
//! We and each oracle read every case. A case that we accept and an oracle refuses or frames
//! differently is a finding, unless it is on the list of reviewed differences, whose every line
//! gives a reason. Cases that we refuse and an oracle accepts are only counted: a stricter reader
//! does not enable request smuggling.
//!
//! ```text
//! http1's tables ─► cases ─► mutations ─┬─► ours ──────────┐
//!                                       ├─► oracle::hyper ─┼─► differences − reviewed = findings
//!                                       └─► oracle::h11 ───┘
//! ```
//!
//! hyper runs in this process, and h11 in a Python that has it installed (`--python`); `cargo xtask
//! conform http1` installs it. Exit codes: 0 ok, 1 findings, 2 usage, 3 host.

#![forbid(unsafe_code)]

mod cases;
mod oracle;
mod ours;
mod reading;
mod reviewed;
mod run;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser as _;

/// Command line.
#[derive(clap::Parser)]
#[command(
    name = "conform",
    about = "Compare Pelton's HTTP parser with hyper's and h11's"
)]
enum Typed {
    /// Compare requests: the tables of http1, and mutations of them
    Http1 {
        /// Python interpreter that has h11 installed
        #[arg(long)]
        python: PathBuf,
        /// Number of mutations to read in addition to the tables
        #[arg(long, default_value_t = 200_000)]
        mutations: u64,
        /// Seed of the mutations
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

const EXIT_FINDINGS: u8 = 1;
const EXIT_HOST: u8 = 3;

fn main() -> ExitCode {
    let Typed::Http1 {
        python,
        mutations,
        seed,
    } = Typed::parse();
    match run::run(&python, mutations, seed) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(EXIT_FINDINGS),
        Err(err) => {
            eprintln!("conform: h11 in {}: {err}", python.display());
            ExitCode::from(EXIT_HOST)
        }
    }
}
