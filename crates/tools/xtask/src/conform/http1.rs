//! `conform http1`: compares our parsing of requests with that of hyper and h11. It runs the crate
//! `conform`, with a Python interpreter that has h11.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::{succeed, timed};
use toolkit::stop::Stop;
use toolkit::tools;

/// Number of mutations that the gate compares. Outside the gate, the default is higher.
const GATE_MUTATIONS: &str = "5000";

/// Runs the comparison, with `arguments` passed on to it.
///
/// # Errors
/// When the comparison cannot be built or run, or finds a difference.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    compare(&Build::open(root)?, arguments)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a short comparison for the gate.
///
/// # Errors
/// As for [`run`].
pub(crate) fn gate(build: &Build) -> Result<(), Stop> {
    compare(build, &["--mutations".into(), GATE_MUTATIONS.into()])
}

fn compare(build: &Build, arguments: &[OsString]) -> Result<(), Stop> {
    let python = tools::h11(build.cache())?;
    let mut conform = Command::new(build.program("conform")?);
    conform.arg("http1").arg("--python").arg(&python);
    conform.args(arguments);
    timed("conform http1", || succeed(&mut conform))
}
