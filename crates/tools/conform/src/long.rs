//! Tests against the real server, with far more repetitions than in the checks before a merge.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use toolkit::build::Build;
use toolkit::command::{succeed, timed};
use toolkit::stop::Stop;

use crate::opens;

/// Group of tests whose number of repetitions can be set.
struct Long {
    name: &'static str,
    /// Names of integration tests of `pelton`.
    tests: &'static [&'static str],
    repetitions: &'static str,
}

/// Tests that kill scans at random moments.
const SCAN: Long = Long {
    name: "conform scan",
    tests: &["scan::killed_anywhere_it_leaves_a_whole_index_and_the_next_comes_to_the_same"],
    repetitions: "100",
};

/// Soak test: responses of all sizes, ranges and pipelines, with connection resets in between.
const SOAK: Long = Long {
    name: "conform soak",
    tests: &["soak::no_byte_is_wrong"],
    repetitions: "10000000",
};

/// Test of new processes that take over the listening sockets from old ones under load.
const UPGRADE: Long = Long {
    name: "conform upgrade",
    tests: &["life::new_processes_take_over_and_no_request_fails"],
    repetitions: "100",
};

/// Runs the test that kills scans, then checks with strace which files a scan opens. The first
/// argument, if any, is the number of repetitions.
///
/// # Errors
/// When the tests cannot be built, an index is incomplete, or a scan opened an unchanged file.
pub(crate) fn scan(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root.clone(), &SCAN, arguments)?;
    opens::run(&mut Build::open(root)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Tests that kill the store while clients write, and while it rewrites its append-only file.
const STORE_KILL: Long = Long {
    name: "conform store-kill",
    tests: &[
        "store::kill_loses_no_acknowledged_write",
        "store::kill_loses_a_second_at_most_where_that_was_chosen",
    ],
    repetitions: "500",
};

/// Runs the soak test. The first argument, if any, is the number of repetitions.
///
/// # Errors
/// When the test cannot be built, or a byte of a response is wrong.
pub(crate) fn soak(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root, &SOAK, arguments)
}

/// Runs the test of handovers between processes. The first argument, if any, is the number of
/// repetitions.
///
/// # Errors
/// When the test cannot be built, or a request fails.
pub(crate) fn upgrade(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root, &UPGRADE, arguments)
}

/// Runs the tests that kill the store. The first argument, if any, is the number of repetitions.
///
/// # Errors
/// When the tests cannot be built, or an acknowledged write is lost.
pub(crate) fn store_kill(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    run(root, &STORE_KILL, arguments)
}

fn run(root: PathBuf, long: &Long, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let mut build = Build::open(root)?;
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
