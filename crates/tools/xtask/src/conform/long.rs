//! Tests of the gate against the real server, repeated far more often.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use super::opens;
use crate::command::{succeed, timed};
use crate::stop::Stop;

/// A test that can be made longer.
struct Long {
    name: &'static str,
    /// In `pelton`'s integration tests.
    tests: &'static [&'static str],
    repetitions: &'static str,
}

/// Scans that are killed.
const SCAN: Long = Long {
    name: "conform scan",
    tests: &["scan::killed_anywhere_it_leaves_a_whole_index_and_the_next_comes_to_the_same"],
    repetitions: "100",
};

/// Answers of all sizes, ranges and rows, with resets in between.
const SOAK: Long = Long {
    name: "conform soak",
    tests: &["soak::no_byte_is_wrong"],
    repetitions: "10000000",
};

/// New processes that take over under load.
const UPGRADE: Long = Long {
    name: "conform upgrade",
    tests: &["life::new_processes_take_over_and_no_request_fails"],
    repetitions: "100",
};

/// Kills scans, as often as the first argument says if there is one; then sees by strace which files scans open.
///
/// # Errors
/// When they cannot be built, an index is not whole, or a file was opened that did not change.
pub(super) fn scan(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root.clone(), &SCAN, arguments)?;
    opens::run(&mut crate::ready(root)?)?;
    Ok(ExitCode::SUCCESS)
}

/// A store that is killed while clients write and its journal is written anew.
const STORE_KILL: Long = Long {
    name: "conform store-kill",
    tests: &[
        "store::kill_loses_no_acknowledged_write",
        "store::kill_loses_a_second_at_most_where_that_was_chosen",
    ],
    repetitions: "500",
};

/// Runs the soak, as often as the first argument says if there is one.
///
/// # Errors
/// When it cannot be built, or a byte is wrong.
pub(super) fn soak(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root, &SOAK, arguments)
}

/// Runs the upgrades, as often as the first argument says if there is one.
///
/// # Errors
/// When they cannot be built, or a request fails.
pub(super) fn upgrade(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root, &UPGRADE, arguments)
}

/// Kills the store, as often as the first argument says if there is one.
///
/// # Errors
/// When it cannot be built, or an acknowledged write is lost.
pub(super) fn store_kill(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root, &STORE_KILL, arguments)
}

fn run(root: PathBuf, long: &Long, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let mut build = crate::ready(root)?;
    build.worker()?;
    let repetitions = arguments.first().map(OsString::as_os_str);
    let mut cargo = build.cargo("test");
    cargo.args(["--package", "pelton", "--test", "it", "--", "--exact"]);
    cargo.arg("--nocapture").args(long.tests).env(
        "CONFORM_REPETITIONS",
        repetitions.unwrap_or(OsStr::new(long.repetitions)),
    );
    timed(long.name, || succeed(&mut cargo))?;
    Ok(ExitCode::SUCCESS)
}
