//! C libraries inside the worker, and their functions with known flaws, which must not be linked.
//!
//! RustSec knows crates, and little of the C that some of them bundle. `docs/THREATS.md` lists those libraries by hand:
//! a test here holds the versions in that list to `Cargo.lock`, and [`check`] holds what the list says about unlinked
//! functions to the worker's symbols.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;

use crate::command::output;
use crate::stop::Stop;

/// A function of a bundled library that has a known flaw in the bundled version.
struct Flawed {
    symbol: &'static str,
    /// The flaw's name.
    flaw: &'static str,
}

const FLAWED: &[Flawed] = &[Flawed {
    symbol: "avifImageRGBToYUV",
    flaw: "CVE-2025-48175",
}];

/// A function that every worker links, by which a list of symbols is known to be one.
const LINKED: &str = "avifEncoderFinish";

/// Checks that no function with a known flaw is linked into `worker`, which must still have its symbols.
///
/// # Errors
/// When one is linked, or when the symbols cannot be listed.
pub(crate) fn check(worker: &Path) -> Result<(), Stop> {
    let symbols = output(Command::new("nm").arg("--defined-only").arg(worker))?;
    match first_flaw(&symbols)? {
        None => Ok(()),
        Some(Flawed { symbol, flaw }) => Err(Stop::findings(format!(
            "the worker links {symbol}, which has {flaw}"
        ))
        .hint("convert without that function, or take a version of the library without the flaw")),
    }
}

/// Returns the first flawed function among `symbols`, as `nm` prints them.
fn first_flaw(symbols: &str) -> Result<Option<&'static Flawed>, Stop> {
    let has = |symbol| {
        let mut names = symbols
            .lines()
            .filter_map(|line| line.split_whitespace().last());
        names.any(|name| name == symbol)
    };
    if !has(LINKED) {
        return Err(Stop::host(format!(
            "nm lists no {LINKED}: was the worker stripped?"
        )));
    }
    Ok(FLAWED.iter().find(|flawed| has(flawed.symbol)))
}
