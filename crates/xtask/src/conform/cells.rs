//! Secrets in memory and registers, and system calls with any arguments: the proofs of which the gate runs a smoke.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::command::{succeed, timed};
use crate::stop::Stop;

/// Jobs that hide a secret, and as many that look for it, in each backend.
const ROUNDS: &str = "10000";

/// Runs them whole, then those that show that a wipe which forgets is found out. The tests say which backends they proved.
///
/// # Errors
/// When they cannot be built, or one fails.
pub(super) fn run(root: PathBuf, _arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let build = crate::ready(root)?;
    let mut cargo = build.cargo("test");
    cargo.args(["--package", "cell", "--test", "it", "--", "--nocapture"]);
    cargo.args(["p1_", "n3_", "n11_"]);
    cargo.env("CELL_IT_ROUNDS", ROUNDS);
    timed("conform cells", || succeed(&mut cargo))?;
    // The same tests would prove nothing if they could not fail: here wipes forget.
    let mut forgetful = build.cargo("test");
    forgetful.args(["--package", "cell", "--features", "fault"]);
    forgetful.args(["--test", "it", "--", "--nocapture", "fault::"]);
    timed("conform cells, wipes that forget", || {
        succeed(&mut forgetful)
    })?;
    Ok(ExitCode::SUCCESS)
}
