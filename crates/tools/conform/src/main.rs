//! Where others read the same bytes differently: our reading of HTTP/1.1 against hyper's and h11's.
//!
//! Principal type: [`reading::Reading`], what a server makes of the bytes of one connection. Every case is read by us and
//! by each oracle; what is accepted here and refused there, or framed differently, is a finding unless it is on the list
//! of reviewed differences, whose every line gives a reason. What is refused here and accepted there is only counted:
//! to be stricter smuggles nothing.
//!
//! ```text
//! tables of http1 ─► cases ─► mutations ─┬─► ours ──────────┐
//!                                        ├─► oracle::hyper ─┼─► differences − reviewed.txt = findings
//!                                        └─► oracle::h11 ───┘
//! ```
//!
//! The oracles run in this process (hyper) and in a Python that has h11 (`--python`); `cargo xtask conform http1` installs
//! it. Exit codes: 0 ok, 1 findings, 2 usage, 3 host.

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

/// What was typed.
#[derive(clap::Parser)]
#[command(name = "conform", about = "Compares our reading of HTTP with others'")]
enum Typed {
    /// Requests: the tables of http1, and mutations of them
    Http1 {
        /// A Python that has h11
        #[arg(long)]
        python: PathBuf,
        /// Mutations to read beside the tables
        #[arg(long, default_value_t = 200_000)]
        mutations: u64,
        /// Which mutations
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
