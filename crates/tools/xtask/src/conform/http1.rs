//! Our reading of requests against hyper's and h11's: crate `conform`, with a Python that has h11.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::build::Build;
use crate::command::{succeed, timed};
use crate::stop::Stop;
use crate::tools;

/// Mutations that the gate compares; a run of its own takes more.
const GATE_MUTATIONS: &str = "5000";

/// Runs it with these arguments.
///
/// # Errors
/// When it cannot be built or run, or finds something.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    compare(&crate::ready(root)?, arguments)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs it as long as the gate can wait.
///
/// # Errors
/// As [`run`].
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
