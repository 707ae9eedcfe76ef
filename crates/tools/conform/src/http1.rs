//! `conform http1`: differential test of our HTTP/1.1 parser against those of hyper and h11.
//!
//! Principal type: [`reading::Reading`], a server's interpretation of the bytes of one connection.
//! Our parser and each oracle (another parser) parse every case. A case is a finding if we accept
//! it, and an oracle refuses it or frames it differently. Differences on the list of reviewed
//! differences, which gives the reason for each, are not findings. Cases that we refuse and an
//! oracle accepts are only counted, because a stricter parser does not enable request smuggling.
//!
//! ```text
//! http1's tables ─► cases ─► mutations ─┬─► ours ──────────┐
//!                                       ├─► oracle::hyper ─┼─► differences − reviewed = findings
//!                                       └─► oracle::h11 ───┘
//! ```
//!
//! hyper runs in this process, and h11 in a Python that has it installed.

mod cases;
mod oracle;
mod ours;
mod reading;
mod reviewed;
mod run;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser as _;
use toolkit::command::timed;
use toolkit::stop::{EXIT_FINDINGS, Stop};
use toolkit::{cache, tools};

/// Arguments after the suite's name.
#[derive(clap::Parser)]
#[command(name = "cargo xtask conform http1")]
struct Typed {
    /// Number of mutations to read in addition to the tables
    #[arg(long, default_value_t = 200_000)]
    mutations: u64,
    /// Seed of the mutations
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Installs h11 if it is missing, and runs the comparison.
///
/// # Errors
/// When h11 cannot be installed or run.
pub(crate) fn run(_root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let words = [OsString::from("conform http1")].into_iter();
    let typed = Typed::parse_from(words.chain(arguments.iter().cloned()));
    let python = tools::h11(&cache::folder()?)?;
    let findings = timed("http1", || {
        run::run(&python, typed.mutations, typed.seed)
            .map_err(|err| Stop::host(format!("h11 in {}: {err}", python.display())))
    })?;
    Ok(match findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    })
}
