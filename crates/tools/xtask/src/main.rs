//! `cargo xtask`: commands for developers, such as the checks before a merge, and for users who
//! want to try Pelton.
//!
//! Principal type: [`toolkit::build::Build`], through which all commands call cargo. Every crate,
//! test and lint is built in release mode, for the host's triple, as a static program, into one
//! target directory outside the checkout. So the C codecs are built only once, and all commands
//! share them:
//!
//! ```text
//! debian packages ─► worker (static ELF, stripped) ─► pelton (embeds it) ─► serve, lab
//!                                                 └─► clippy, tests
//! ```
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 ok, 1 findings, 2 usage, 3 host.

#![forbid(unsafe_code)]

mod advisories;
mod codecs;
mod conform;
mod demo;
mod figures;
mod fuzz;
mod gate;
mod instructions;
mod lab;
mod media;
mod numbers;
mod prose;
mod record;
mod report;
mod tidy;
mod web;
mod workspace;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser as _;
use toolkit::build::{self, Build};
use toolkit::stop::{EXIT_FINDINGS, Stop};

/// Command line of `cargo xtask`.
#[derive(clap::Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Build, run and test Pelton"
)]
enum Typed {
    /// Build the server, and serve DIR or, without DIR, a demo library of photographs and music
    Serve {
        /// Folder to serve
        dir: Option<PathBuf>,
        /// Arguments to pass on to `pelton serve`
        #[arg(last = true)]
        pelton: Vec<OsString>,
    },
    /// Build the server and the worker, which converts files in sandboxes; print the server's path
    Build,
    /// Run all checks that must pass before a merge; with a name, one check or the tests of a crate
    Test {
        /// Name of a crate, or of a check: fmt, tidy, typos, advisories, web (build of the web
        /// page), codecs (C code without known flaws), clippy, unit, page (journeys in a browser),
        /// instructions (instruction counts), conform or deny (licences); without it, all checks
        name: Option<String>,
        /// Replace the expected values in the tests by the values that the tests found
        #[arg(long)]
        bless: bool,
    },
    /// Check, test and build the web page into web/dist, with Node
    Web {
        /// Build again after each change. `pelton serve --page-dir web/dist` serves the newest
        /// result
        #[arg(long)]
        watch: bool,
    },
    /// Check rules of this repository that the compiler and clippy do not check
    Tidy,
    /// Check the crates of Cargo.lock against a copy of RustSec's list of vulnerabilities
    Advisories {
        /// Folder with a checkout of RustSec's advisory-db, from which the copy is updated first
        #[arg(long)]
        from: Option<PathBuf>,
    },
    /// Run all tests of one external conformance suite, or one comparison with another program
    Conform {
        /// Name of the suite or comparison; for an unknown name, the error lists all names
        name: String,
        /// Arguments for the suite
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Run fuzz targets, and add to the repository the inputs that reach new code
    Fuzz {
        /// Name of the fuzz target [default: all]; for an unknown name, the error lists all names
        target: Option<String>,
        /// Time in seconds for which each target runs
        #[arg(long, default_value_t = 3_600)]
        seconds: u32,
    },
    /// Generate a music library and print its folder; the same seed and number of tracks give the
    /// same library
    Media {
        /// Number of tracks
        #[arg(long, default_value_t = 16_000)]
        tracks: u32,
        /// Seed of the random choices
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Folder to write to; without it, a folder in the build cache
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Print random comments with the code below them, to review their language
    ProseSample {
        /// Seed of the random choice
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Number of comments
        #[arg(long, default_value_t = 200)]
        count: usize,
    },
    /// Print every string of several words in the source code, except in tests: help, log lines,
    /// errors and the like
    Messages,
    /// Write the newest results of the benchmarks into the tables of docs/FIGURES.md
    Figures,
    /// Benchmark Pelton against comparable programs, or write docs/report from the newest results
    Lab {
        /// Name of the benchmark, or report; for an unknown name, the error lists all names
        name: String,
        /// Arguments for the benchmark, such as --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match run(Typed::parse()) {
        Ok(code) => code,
        Err(stop) => {
            eprintln!("{stop}");
            ExitCode::from(stop.exit)
        }
    }
}

fn run(typed: Typed) -> Result<ExitCode, Stop> {
    let root = build::checkout()?;
    match typed {
        Typed::Serve { dir, pelton } => serve(root, dir, &pelton),
        Typed::Build => {
            let server = Build::open(root)?.server()?;
            println!("{}", server.display());
            Ok(ExitCode::SUCCESS)
        }
        Typed::Test { name, bless } => gate::run(Build::open(root)?, name.as_deref(), bless),
        Typed::Web { watch } => web::run(&root, watch),
        Typed::Tidy => Ok(exit_code(tidy::run(&root)?)),
        Typed::Advisories { from } => {
            if let Some(checkout) = from {
                advisories::renew(&root, &checkout)?;
            }
            Ok(exit_code(advisories::check(&root)?))
        }
        Typed::Conform { name, args } => conform::run(root, &name, &args),
        Typed::Fuzz { target, seconds } => fuzz::run(&root, target.as_deref(), seconds),
        Typed::Media { tracks, seed, out } => media::run(tracks, seed, out),
        Typed::ProseSample { seed, count } => prose::sample(&root, seed, count),
        Typed::Messages => prose::messages(&root),
        Typed::Figures => figures::write(&root).map(|()| ExitCode::SUCCESS),
        Typed::Lab { name, args } => lab::run(root, &name, &args),
    }
}

fn exit_code(findings: usize) -> ExitCode {
    ExitCode::from(if findings == 0 { 0 } else { EXIT_FINDINGS })
}

/// Builds the server, then replaces this process with the server. So signals reach the server, and
/// the command ends with the server's exit code.
fn serve(root: PathBuf, dir: Option<PathBuf>, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let mut build = Build::open(root)?;
    let server = build.server()?;
    let dir = match dir {
        Some(dir) => dir,
        None => demo::with_music(build.root())?,
    };
    drop(build);
    eprintln!("xtask: serving {}", dir.display());
    let failed = Command::new(&server)
        .arg("serve")
        .arg(&dir)
        .args(arguments)
        .exec();
    Err(Stop::host(format!("exec {}: {failed}", server.display())))
}
