//! `cargo xtask conform NAME`: runs outside conformance suites and oracles in full, which is too
//! long for the gate.

mod cells;
mod grammar;
mod h2;
pub(crate) mod http1;
mod long;
mod opens;
mod oracle;
mod pictures;
mod served;
mod slow;
mod store;
mod store_clients;
mod store_diff;
mod store_table;
mod subsonic;
mod tags;
mod tls;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use toolkit::stop::Stop;

/// One suite.
struct Suite {
    name: &'static str,
    run: fn(PathBuf, &[OsString]) -> Result<ExitCode, Stop>,
}

const SUITES: &[Suite] = &[
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

/// Runs the suite called `name`.
///
/// # Errors
/// When there is no suite of that name, or when it cannot be run.
pub(crate) fn run(root: PathBuf, name: &str, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(Stop::usage(format!("no suite is called {name}"))
            .hint(format!("the suites are {}", names.join(", "))));
    };
    (suite.run)(root, arguments)
}
