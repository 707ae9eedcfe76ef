//! Cargo commands with the same flags and the same build folder for all tools, and the order in
//! which the programs are built.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache;
use crate::command::{output, succeed, timed};
use crate::debian;
use crate::stop::{Stop, at, program};
use crate::target_dir::TargetDir;

/// Compiler flags that make every program static. Only the worker must be static, but one set of
/// flags lets all programs share one target directory.
const RUSTFLAGS: &str = "-C target-feature=+crt-static";

/// Checkout, and the build folder that this process has locked for it.
pub struct Build {
    root: PathBuf,
    triple: String,
    /// Cache folder, which contains all build folders.
    cache: PathBuf,
    /// Build folder of this checkout.
    target_dir: TargetDir,
    /// Path of the worker that the server embeds, once the worker is built.
    worker: Option<PathBuf>,
}

impl Build {
    /// Installs the packages that the build needs. Then locks the build folder for this checkout
    /// and the installed compiler.
    ///
    /// # Errors
    /// When packages cannot be installed, cargo or rustc fails, or the folder cannot be locked.
    pub fn open(root: PathBuf) -> Result<Build, Stop> {
        debian::ensure(debian::BUILD)?;
        let version = output(Command::new("rustc").arg("-vV").current_dir(&root))?;
        let triple = host_triple(&version)?.to_owned();
        let target_dir = TargetDir::lock("build", &root, &version, |folder| {
            cargo_in(&root, &triple, folder, "clean")
        })?;
        Ok(Build {
            root,
            triple,
            cache: cache::folder()?,
            target_dir,
            worker: None,
        })
    }

    /// Returns the root of the checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the cache folder, which contains all build folders.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Returns a cargo command with the same compiler flags and build folder as all other cargo
    /// commands.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = cargo_in(&self.root, &self.triple, self.target_dir.path(), subcommand);
        if let Some(worker) = &self.worker {
            // The server's build script reads the worker's path from this variable.
            cargo.env("PELTON_WORKER", worker);
        }
        cargo
    }

    /// Builds the worker, strips it, and returns its path. The server embeds the worker, so the
    /// worker must be built before every crate that contains the server. The names of
    /// functions, which `strip` removes, are kept in the file `worker.symbols` beside the worker.
    /// The server embeds that file, too, and names functions in CPU profiles by it.
    ///
    /// # Errors
    /// When the worker does not build.
    pub fn worker(&mut self) -> Result<PathBuf, Stop> {
        let embedded = self.target_dir.path().join("worker");
        if !embedded.exists() {
            eprintln!(
                "{}: the first build compiles the C codecs, which takes minutes",
                program()
            );
        }
        let program = self.program("worker")?;
        let stripped = self.target_dir.path().join("worker.stripped");
        succeed(Command::new("strip").arg("-o").arg(&stripped).arg(&program))?;
        let split = self.target_dir.path().join("worker.split");
        let mut objcopy = Command::new("objcopy");
        succeed(objcopy.arg("--only-keep-debug").arg(&program).arg(&split))?;
        replace_if_changed(&split, &embedded.with_extension("symbols"))?;
        replace_if_changed(&stripped, &embedded)?;
        Ok(self.worker.insert(embedded).clone())
    }

    /// Builds the server, and returns its path. Builds the worker first, if it is not built yet.
    ///
    /// # Errors
    /// When the worker or the server does not build.
    pub fn server(&mut self) -> Result<PathBuf, Stop> {
        if self.worker.is_none() {
            self.worker()?;
        }
        self.program("pelton")
    }

    /// Builds the program of the crate `name`, and returns the program's path.
    ///
    /// # Errors
    /// When the program does not build.
    pub fn program(&self, name: &str) -> Result<PathBuf, Stop> {
        timed(name, || {
            succeed(self.cargo("build").args(["--package", name]))
        })?;
        Ok(self.program_path(name))
    }

    /// Returns the path of the program of the crate `name`. The program may not be built yet.
    pub fn program_path(&self, name: &str) -> PathBuf {
        self.target_dir
            .path()
            .join(&self.triple)
            .join("release")
            .join(name)
    }
}

/// Moves a file to `target`, unless the content of `target` is the same: a newer file would make
/// cargo build the server again.
fn replace_if_changed(file: &Path, target: &Path) -> Result<(), Stop> {
    let fresh = fs::read(file).map_err(at(file))?;
    match fs::read(target).is_ok_and(|old| old == fresh) {
        true => Ok(()),
        false => fs::rename(file, target).map_err(at(target)),
    }
}

/// Returns the root of the checkout, from the variable that cargo sets for a program it runs.
///
/// # Errors
/// When the tool was started without cargo.
pub fn checkout() -> Result<PathBuf, Stop> {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = manifest_dir
        .as_deref()
        .and_then(|dir| dir.ancestors().nth(3));
    root.map(Path::to_owned).ok_or_else(|| {
        Stop::usage("this program was started without cargo")
            .hint("start the program as cargo xtask, inside the checkout")
    })
}

/// Returns the host's triple, from the output of `rustc -vV`.
///
/// # Errors
/// When the output contains no triple.
pub fn host_triple(rustc_version: &str) -> Result<&str, Stop> {
    let mut lines = rustc_version.lines();
    lines
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or_else(|| {
            Stop::host("the output of rustc -vV has no line that begins with \"host: \"")
        })
}

/// Returns the path of the cargo that runs this program, or `cargo` if the program was started
/// without cargo.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn cargo_in(root: &Path, triple: &str, target_dir: &Path, subcommand: &str) -> Command {
    let mut cargo = Command::new(cargo());
    cargo
        .args([subcommand, "--release", "--target", triple, "--target-dir"])
        .arg(target_dir)
        .current_dir(root)
        .env("RUSTFLAGS", RUSTFLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo
}
