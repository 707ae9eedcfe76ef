//! Tools written by others that our commands run: each installed on first use, in one version, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build;
use crate::command::{succeed, timed};
use crate::stop::Stop;

const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";

/// The program that checks licences.
///
/// # Errors
/// When it cannot be installed.
pub(crate) fn cargo_deny(cache: &Path) -> Result<PathBuf, Stop> {
    cargo_tool(cache, "cargo-deny", CARGO_DENY)
}

/// The program that builds and runs fuzz targets.
///
/// # Errors
/// When it cannot be installed.
pub(crate) fn cargo_fuzz(cache: &Path) -> Result<PathBuf, Stop> {
    cargo_tool(cache, "cargo-fuzz", CARGO_FUZZ)
}

fn cargo_tool(cache: &Path, name: &str, version: &str) -> Result<PathBuf, Stop> {
    let folder = cache.join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        let mut install = Command::new(build::cargo());
        install
            .args(["install", "--quiet", "--locked", name])
            .args(["--version", version, "--root"])
            .arg(&folder)
            .env_remove("CARGO_TARGET_DIR");
        timed(&format!("install {name}"), || succeed(&mut install))?;
    }
    Ok(program)
}
