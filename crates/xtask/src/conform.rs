//! `cargo xtask conform`: outside suites and other people's implementations, where they take too long for the gate.

mod long;

use std::ffi::OsString;
use std::process::Command;

use crate::build::Build;
use crate::command::{succeed, timed};
use crate::stop::Stop;
use crate::tools;

/// Mutations that the gate compares; a run of its own takes more.
const GATE_MUTATIONS: &str = "5000";

/// The suites there are.
const SUITES: &[&str] = &["http1", "soak", "upgrade"];

/// Runs the suite of this name, whole.
///
/// # Errors
/// When there is no such suite, when it cannot be run, or when it finds something.
pub(crate) fn run(build: &mut Build, name: &str, arguments: &[OsString]) -> Result<(), Stop> {
    if !SUITES.contains(&name) {
        return Err(Stop::usage(format!("no suite is called {name}"))
            .hint(format!("the suites are {}", SUITES.join(", "))));
    }
    match name {
        "soak" => long::run(build, &long::SOAK, arguments),
        "upgrade" => long::run(build, &long::UPGRADE, arguments),
        _ => http1(build, arguments),
    }
}

/// What the gate runs of all suites.
///
/// # Errors
/// As [`run`].
pub(crate) fn gate(build: &Build) -> Result<(), Stop> {
    http1(build, &["--mutations".into(), GATE_MUTATIONS.into()])
}

/// Our reading of requests against hyper's and h11's.
fn http1(build: &Build, arguments: &[OsString]) -> Result<(), Stop> {
    let python = tools::h11(build.cache())?;
    let program = build.program("conform")?;
    let mut conform = Command::new(program);
    conform.arg("http1").arg("--python").arg(&python);
    conform.args(arguments);
    timed("conform http1", || succeed(&mut conform))
}
