//! `cargo xtask lab`: installs the programs with which Pelton is compared, builds our programs, and
//! replaces this process with the benchmark.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::stop::Stop;
use toolkit::{debian, tools};

use crate::{demo, report};

/// Number of tracks in the music library that the benchmark `scan` reads.
const LIBRARY_TRACKS: u32 = 16_000;
const LIBRARY_SEED: u64 = 1;

/// Name in place of that of a benchmark, which stands for the report of all benchmarks.
const REPORT: &str = "report";

/// Runs the benchmark called `name`, or writes the report of all benchmarks. The program `lab` gets
/// the paths of the server and the worker as flags, because environment variables that begin with
/// `PELTON_` would configure the servers that `lab` starts.
///
/// # Errors
/// When a package cannot be installed, a library of test files cannot be prepared, or a program
/// cannot be built or started.
pub(crate) fn run(root: PathBuf, name: &str, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    if name == REPORT {
        report::write(&root)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut build = Build::open(root)?;
    debian::ensure(debian::peers(name))?;
    demo::prepare(build.root())?;
    let worker = build.worker()?;
    let server = build.server()?;
    let lab = build.program("lab")?;
    let mut command = Command::new(&lab);
    command
        .arg("--pelton")
        .arg(&server)
        .arg("--worker")
        .arg(&worker);
    if name == "store" {
        match tools::valkey(build.cache()) {
            Ok(valkey) => _ = command.arg("--valkey").arg(valkey),
            Err(stop) => eprintln!("{stop}\nxtask: lab: continuing without Valkey"),
        }
    }
    command.arg(name);
    if name == "scan" {
        command
            .arg("--library")
            .arg(mediagen::prepared(LIBRARY_TRACKS, LIBRARY_SEED)?);
    }
    command.args(arguments).current_dir(build.root());
    let failed = command.exec();
    Err(Stop::host(format!("exec {}: {failed}", lab.display())))
}
