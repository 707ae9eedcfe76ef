//! `cargo xtask conform`: proofs that the gate runs a smoke of, whole.

use std::process::ExitCode;

use crate::build::Build;
use crate::command::{succeed, timed};
use crate::stop::Stop;

/// Jobs that hide a secret, and as many that look for it, in each backend.
const CELL_ROUNDS: &str = "10000";

/// Runs the proof of this name.
///
/// # Errors
/// When there is no such proof, or it fails.
pub(crate) fn run(build: &Build, name: &str) -> Result<ExitCode, Stop> {
    match name {
        "cells" => timed("conform cells", || cells(build)),
        _ => Err(Stop::usage(format!("no proof is called {name}")).hint("there is: cells")),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Secrets in memory and registers, and system calls with any arguments. The tests say which backends they proved.
fn cells(build: &Build) -> Result<(), Stop> {
    let mut cargo = build.cargo("test");
    cargo.args(["--package", "cell", "--test", "it", "--", "--nocapture"]);
    cargo.args(["p1_", "n3_", "n11_"]);
    cargo.env("CELL_IT_ROUNDS", CELL_ROUNDS);
    succeed(&mut cargo)
}
