//! `cargo xtask conform`: builds the crate `conform`, and replaces this process with its program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::{succeed, timed};
use toolkit::stop::Stop;

/// Number of mutated test cases that the suite `http1` reads in `cargo xtask test`. The suite's
/// default is higher.
const GATE_MUTATIONS: &str = "5000";

/// Runs the suite called `name` with `arguments`.
///
/// # Errors
/// When `conform` cannot be built or started.
pub(crate) fn run(root: PathBuf, name: &str, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let build = Build::open(root)?;
    let program = build.program("conform")?;
    // Unlock the build folder, because a suite that needs the folder locks it itself.
    drop(build);
    let failed = Command::new(&program).arg(name).args(arguments).exec();
    Err(Stop::host(format!("exec {}: {failed}", program.display())))
}

/// Runs the suites `http1`, with fewer mutations than by default, and `iiif` for `cargo xtask
/// test`. The build folder can stay locked while the suites run, because they do not use it.
///
/// # Errors
/// When the server or `conform` cannot be built, or a suite cannot be run or finds a difference.
pub(crate) fn gate(build: &Build) -> Result<(), Stop> {
    let (server, program) = (build.program("pelton")?, build.program("conform")?);
    let mut http1 = Command::new(&program);
    http1.args(["http1", "--mutations", GATE_MUTATIONS]);
    timed("conform http1", || succeed(&mut http1))?;
    let mut iiif = Command::new(&program);
    iiif.args(["iiif", "--program"]).arg(server);
    timed("conform iiif", || succeed(&mut iiif))
}

/// Returns the command that runs the suite `page` for `cargo xtask test`, with the server of
/// `build`. The command runs only a few journeys (sequences of a user's actions). The build folder
/// can stay locked meanwhile, because the suite does not lock it.
///
/// # Errors
/// When the server or `conform` cannot be built.
pub(crate) fn page(build: &Build) -> Result<Command, Stop> {
    let server = build.program("pelton")?;
    let mut conform = Command::new(build.program("conform")?);
    conform.args(["page", "--smoke", "--program"]).arg(server);
    Ok(conform)
}
