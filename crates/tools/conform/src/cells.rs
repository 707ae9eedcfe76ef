//! `conform cells`: the complete sandbox tests, which the checks before a merge run with fewer
//! repetitions. They search memory and registers for secrets of earlier jobs, and make system calls
//! with arbitrary arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use toolkit::build::Build;
use toolkit::command::{succeed, timed};
use toolkit::stop::Stop;

/// Number of jobs per backend that hide a secret. After each of them, another job searches for the
/// secret.
const ROUNDS: &str = "10000";

/// Time limit of a hostile program, in milliseconds. A test fails if the program has not ended 50
/// ms after the limit.
const HOSTILE_MS: &str = "8000";

/// Runs three groups of tests: the complete tests, then tests with incomplete wipes, which must be
/// detected, then tests with hostile programs. The tests print the backends that they covered.
///
/// # Errors
/// When the tests cannot be built, or when a test fails.
pub(crate) fn run(root: PathBuf, _arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let build = Build::open(root)?;
    let mut cargo = build.cargo("test");
    cargo.args(["--package", "sandbox", "--test", "it", "--", "--nocapture"]);
    cargo.args(["p1_", "n3_", "n11_"]);
    cargo.env("CELL_IT_ROUNDS", ROUNDS);
    timed("conform cells", || succeed(&mut cargo))?;
    // The tests above would prove nothing if they could not fail. The feature `fault` makes wipes
    // incomplete, and the tests named `fault::` check that incomplete wipes are detected.
    let mut incomplete = build.cargo("test");
    incomplete.args(["--package", "sandbox", "--features", "fault"]);
    incomplete.args(["--test", "it", "--", "--nocapture", "fault::"]);
    timed("conform cells: tests with incomplete wipes", || {
        succeed(&mut incomplete)
    })?;
    // The tests run one after the other, because each needs all cores.
    let mut hostile = build.cargo("test");
    hostile.args(["--package", "sandbox", "--test", "it", "--", "--nocapture"]);
    hostile.args(["--test-threads=1", "hostile::"]);
    hostile.env("CELL_IT_HOSTILE_MS", HOSTILE_MS);
    // Without this variable, each test would start itself again in a process of its own. That is
    // not needed here, because the test process runs only one test at a time.
    hostile.env("CELL_IT_CHILD", "1");
    timed("conform cells: tests with hostile programs", || {
        succeed(&mut hostile)
    })?;
    Ok(ExitCode::SUCCESS)
}
