//! Tools written by others that our commands run: each installed on first use, in one version, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build;
use crate::command::{succeed, timed};
use crate::debian;
use crate::stop::Stop;

const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
const H11: &str = "0.16.0";

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

/// A Python that has h11.
///
/// # Errors
/// When it cannot be installed.
pub(crate) fn h11(cache: &Path) -> Result<PathBuf, Stop> {
    let folder = cache.join(format!("h11-{H11}"));
    let python = folder.join("bin/python");
    if has(&python, "h11") {
        return Ok(python);
    }
    if !has(Path::new("python3"), "ensurepip, venv") {
        debian::ensure(&["python3-venv"])?;
    }
    timed("install h11", || {
        let mut venv = Command::new("python3");
        succeed(venv.args(["-m", "venv", "--clear"]).arg(&folder)).map_err(Stop::on_host)?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
            .arg("--disable-pip-version-check")
            .arg(format!("h11=={H11}"));
        succeed(&mut pip).map_err(Stop::on_host)
    })?;
    Ok(python)
}

/// Whether a Python is there and imports these modules.
fn has(python: &Path, modules: &str) -> bool {
    let mut command = Command::new(python);
    let import = command.arg("-c").arg(format!("import {modules}")).output();
    import.is_ok_and(|import| import.status.success())
}
