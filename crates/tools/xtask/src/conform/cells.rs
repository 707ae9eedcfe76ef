//! Secrets in memory and registers, and system calls with any arguments: the proofs of which the gate runs a smoke.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::command::{succeed, timed};
use crate::stop::Stop;

/// Jobs that hide a secret, and as many that look for it, in each backend.
const ROUNDS: &str = "10000";

/// How long a hostile program may run; it must be over 50 ms later.
const HOSTILE_MS: &str = "8000";

/// Runs them whole, then those that show that a wipe which forgets is found out. The tests say which backends they proved.
///
/// # Errors
/// When they cannot be built, or one fails.
pub(super) fn run(root: PathBuf, _arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let build = crate::ready(root)?;
    let mut cargo = build.cargo("test");
    cargo.args(["--package", "sandbox", "--test", "it", "--", "--nocapture"]);
    cargo.args(["p1_", "n3_", "n11_"]);
    cargo.env("CELL_IT_ROUNDS", ROUNDS);
    timed("conform cells", || succeed(&mut cargo))?;
    // The same tests would prove nothing if they could not fail: here wipes forget.
    let mut forgetful = build.cargo("test");
    forgetful.args(["--package", "sandbox", "--features", "fault"]);
    forgetful.args(["--test", "it", "--", "--nocapture", "fault::"]);
    timed("conform cells, wipes that forget", || {
        succeed(&mut forgetful)
    })?;
    // One after the other: each wants all cores for itself.
    let mut hostile = build.cargo("test");
    hostile.args(["--package", "sandbox", "--test", "it", "--", "--nocapture"]);
    hostile.args(["--test-threads=1", "hostile::"]);
    hostile.env("CELL_IT_HOSTILE_MS", HOSTILE_MS);
    // Alone already, so that it need not run itself again.
    hostile.env("CELL_IT_CHILD", "1");
    timed("conform cells, hostile programs", || succeed(&mut hostile))?;
    Ok(ExitCode::SUCCESS)
}
