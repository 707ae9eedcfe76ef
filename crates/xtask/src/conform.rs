//! Suites that are too long for the gate.

mod grammar;
mod oracle;
mod store;
mod store_diff;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::debian;
use crate::stop::{EXIT_FINDINGS, Stop};

/// What is compared with what.
#[derive(clap::Subcommand)]
pub(crate) enum Suite {
    /// Random commands to the keyspace and to Debian's redis-server, in both protocols, reply by reply
    StoreDiff {
        /// Commands in each protocol
        #[arg(long, default_value_t = 100_000)]
        commands: u64,
        /// Where the random numbers begin; a difference prints the one to use again
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// The tests that Redis 7.0 brings, against the server
    Store {
        /// Units, such as type/list; all that are built when none is named
        units: Vec<String>,
    },
}

/// Runs a suite; findings are on stdout.
///
/// # Errors
/// When the other program cannot be had or does not run: the host's fault.
pub(crate) fn run(root: PathBuf, suite: &Suite) -> Result<ExitCode, Stop> {
    match suite {
        Suite::Store { units } => store::run(&mut crate::ready(root)?, units),
        Suite::StoreDiff { commands, seed } => {
            debian::ensure(&["redis-server"])?;
            Ok(match store_diff::run(*commands, *seed)? {
                0 => ExitCode::SUCCESS,
                _ => ExitCode::from(EXIT_FINDINGS),
            })
        }
    }
}
