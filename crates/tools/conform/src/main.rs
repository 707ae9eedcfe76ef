//! Third-party conformance suites, comparisons with oracles, and long-running tests. This program
//! runs all of them in full; the checks before a merge run short versions of some of them.
//!
//! `cargo xtask conform NAME ARGS` builds and starts this program. A suite is a row of a table: a
//! name, and a function that gets the path of the checkout and the arguments. Suites that need the
//! server build it through [`toolkit::build::Build`], as `xtask` does.
//!
//! Results go to stdout, progress to stderr. Exit codes: 0 ok, 1 findings, 2 wrong usage,
//! 3 a failure of the machine, such as a program that cannot be installed or started.

#![forbid(unsafe_code)]

mod aarch64;
mod cells;
mod grammar;
mod h2;
mod http1;
mod iiif;
mod long;
mod miri;
mod opens;
mod oracle;
mod page;
mod pictures;
mod served;
mod slow;
mod store;
mod store_clients;
mod store_diff;
mod store_scripts;
mod store_table;
mod subsonic;
mod tags;
mod tls;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser as _;
use toolkit::build;
use toolkit::stop::Stop;

/// Command line of `cargo xtask conform`.
#[derive(clap::Parser)]
#[command(
    name = "cargo xtask conform",
    about = "Run all tests of one external conformance suite, or one comparison with another program"
)]
struct Typed {
    /// Name of the suite or comparison; for an unknown name, the error lists all names
    name: String,
    /// Arguments for the suite
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Suite, with the function that runs it. The function gets the path of the checkout, and the
/// arguments after the suite's name.
struct Suite {
    name: &'static str,
    run: fn(PathBuf, &[OsString]) -> Result<ExitCode, Stop>,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "aarch64",
        run: aarch64::run,
    },
    Suite {
        name: "cells",
        run: cells::run,
    },
    Suite {
        name: "http1",
        run: http1::run,
    },
    Suite {
        name: "h2",
        run: h2::run,
    },
    Suite {
        name: "iiif",
        run: iiif::run,
    },
    Suite {
        name: "miri",
        run: miri::run,
    },
    Suite {
        name: "page",
        run: page::run,
    },
    Suite {
        name: "pictures",
        run: pictures::run,
    },
    Suite {
        name: "scan",
        run: long::scan,
    },
    Suite {
        name: "slow",
        run: slow::run,
    },
    Suite {
        name: "soak",
        run: long::soak,
    },
    Suite {
        name: "store",
        run: store::run,
    },
    Suite {
        name: "store-clients",
        run: store_clients::run,
    },
    Suite {
        name: "store-diff",
        run: store_diff::run,
    },
    Suite {
        name: "store-kill",
        run: long::store_kill,
    },
    Suite {
        name: "store-scripts",
        run: store_scripts::run,
    },
    Suite {
        name: "subsonic",
        run: subsonic::run,
    },
    Suite {
        name: "tags",
        run: tags::run,
    },
    Suite {
        name: "tls",
        run: tls::run,
    },
    Suite {
        name: "upgrade",
        run: long::upgrade,
    },
];

fn main() -> ExitCode {
    match run(&Typed::parse()) {
        Ok(code) => code,
        Err(stop) => {
            eprintln!("{stop}");
            ExitCode::from(stop.exit)
        }
    }
}

fn run(Typed { name, args }: &Typed) -> Result<ExitCode, Stop> {
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(Stop::usage(format!("no suite is called {name}"))
            .hint(format!("the suites are {}", names.join(", "))));
    };
    (suite.run)(build::checkout()?, args)
}
