//! Tests of the gate against the real server, repeated far more often.

use std::ffi::{OsStr, OsString};

use crate::build::Build;
use crate::command::{succeed, timed};
use crate::stop::Stop;

/// A test that can be made longer.
pub(super) struct Long {
    name: &'static str,
    /// In `pelton`'s integration tests.
    test: &'static str,
    repetitions: &'static str,
}

/// Answers of all sizes, ranges and rows, with resets in between.
pub(super) const SOAK: Long = Long {
    name: "conform soak",
    test: "soak::no_byte_is_wrong",
    repetitions: "10000000",
};

/// New processes that take over under load.
pub(super) const UPGRADE: Long = Long {
    name: "conform upgrade",
    test: "life::new_processes_take_over_and_no_request_fails",
    repetitions: "100",
};

/// Runs it, as often as its first argument says if there is one.
pub(super) fn run(build: &mut Build, long: &Long, arguments: &[OsString]) -> Result<(), Stop> {
    build.worker()?;
    let repetitions = arguments.first().map(OsString::as_os_str);
    let mut cargo = build.cargo("test");
    cargo
        .args([
            "--package",
            "pelton",
            "--test",
            "it",
            "--",
            "--exact",
            "--nocapture",
        ])
        .arg(long.test)
        .env(
            "CONFORM_REPETITIONS",
            repetitions.unwrap_or(OsStr::new(long.repetitions)),
        );
    timed(long.name, || succeed(&mut cargo))
}
