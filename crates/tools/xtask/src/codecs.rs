//! Check that the worker links no C function with a known flaw. The worker contains C libraries,
//! and some of their functions have known flaws.
//!
//! Some crates bundle C libraries, and RustSec's database covers only few of these. So
//! `docs/THREATS.md` has a list, written by hand, of the bundled libraries and of their flawed
//! functions. A test here compares the versions in this list with `Cargo.lock`. [`check`] verifies
//! that the symbols of the worker contain no flawed function.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;

use toolkit::command::output;
use toolkit::stop::Stop;

/// Function of a bundled library that has a known flaw in the bundled version.
struct Flawed {
    symbol: &'static str,
    /// CVE number of the flaw.
    flaw: &'static str,
}

const FLAWED: &[Flawed] = &[Flawed {
    symbol: "avifImageRGBToYUV",
    flaw: "CVE-2025-48175",
}];

/// Function that every worker links. If a list of symbols lacks it, the worker was stripped.
const LINKED: &str = "avifEncoderFinish";

/// Checks that no function with a known flaw is linked into `worker`, which must not be stripped.
///
/// # Errors
/// When a flawed function is linked, or when the symbols cannot be listed.
pub(crate) fn check(worker: &Path) -> Result<(), Stop> {
    let symbols = output(Command::new("nm").arg("--defined-only").arg(worker))?;
    match first_flaw(&symbols)? {
        None => Ok(()),
        Some(Flawed { symbol, flaw }) => Err(Stop::findings(format!(
            "the worker links {symbol}, which has {flaw}"
        ))
        .hint(
            "remove the calls of the flawed function from the worker, or update the C library to \
             a version without the flaw",
        )),
    }
}

/// Returns the first flawed function in `symbols`, the output of `nm`, if any.
fn first_flaw(symbols: &str) -> Result<Option<&'static Flawed>, Stop> {
    let has = |symbol| {
        let mut names = symbols
            .lines()
            .filter_map(|line| line.split_whitespace().last());
        names.any(|name| name == symbol)
    };
    if !has(LINKED) {
        return Err(Stop::host(format!(
            "nm does not list {LINKED} in the worker; perhaps the worker was stripped"
        )));
    }
    Ok(FLAWED.iter().find(|flawed| has(flawed.symbol)))
}
