//! One way to call cargo, and the order in which programs are built.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, Claim};
use crate::command::{output, succeed, timed};
use crate::stop::{Stop, at};
use crate::workspace::Workspace;

/// Everything of ours is static: the worker must be, and one set of flags lets all share one target directory.
const RUSTFLAGS: &str = "-C target-feature=+crt-static";

/// A checkout, and the folder it is built in.
pub(crate) struct Build {
    root: PathBuf,
    workspace: Workspace,
    triple: String,
    /// The folder of all builds.
    cache: PathBuf,
    /// Ours among them.
    target_dir: PathBuf,
    /// The worker that the server embeds, once it is built.
    worker: Option<PathBuf>,
    _claim: Claim,
}

impl Build {
    /// Claims the build folder that fits this checkout and compiler.
    ///
    /// # Errors
    /// When the toolchain does not answer or the folder cannot be had.
    pub(crate) fn open(root: PathBuf) -> Result<Build, Stop> {
        let workspace = Workspace::read(&root)?;
        let version = output(Command::new("rustc").arg("-vV").current_dir(&root))?;
        let triple = version.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = triple
            .ok_or_else(|| Stop::host("rustc -vV names no host"))?
            .to_owned();
        let lock_path = root.join("Cargo.lock");
        let lock = fs::read_to_string(&lock_path).map_err(at(&lock_path))?;
        let cache = cache::folder()?;
        let target_dir = cache.join(format!("build-{}", cache::key(&version, &lock)));
        let mut claim = Claim::wait(&target_dir, &root)?;
        if let Some(from) = &claim.from {
            // Cargo takes crates at the same place in two checkouts for one crate, and compares only times: without
            // this it would hand us the other checkout's code.
            eprintln!("xtask: taking the build folder over from {from}");
            let mut clean = cargo_in(&root, &triple, &target_dir, "clean");
            succeed(clean.args(["--quiet", "--workspace"]))?;
        }
        claim.sign(&root)?;
        cache::prune(&cache)?;
        Ok(Build {
            root,
            workspace,
            triple,
            cache,
            target_dir,
            worker: None,
            _claim: claim,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The folder of all builds.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// A cargo command that builds as every other does.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = cargo_in(&self.root, &self.triple, &self.target_dir, subcommand);
        if let Some(worker) = &self.worker {
            // Where the server's build script finds it.
            cargo.env("PELTON_WORKER", worker);
        }
        cargo
    }

    /// Builds the worker, which everything that contains the server waits for.
    ///
    /// # Errors
    /// When it does not build.
    pub(crate) fn worker(&mut self) -> Result<PathBuf, Stop> {
        let embedded = self.target_dir.join("worker");
        if !embedded.exists() {
            eprintln!("xtask: a first build compiles the C codecs, which takes minutes");
        }
        let program = self.program("worker")?;
        let stripped = self.target_dir.join("worker.stripped");
        succeed(Command::new("strip").arg("-o").arg(&stripped).arg(&program))?;
        // Replaced only when it differs, because a younger file makes cargo build the server again.
        let fresh = fs::read(&stripped).map_err(at(&stripped))?;
        if !fs::read(&embedded).is_ok_and(|old| old == fresh) {
            fs::rename(&stripped, &embedded).map_err(at(&embedded))?;
        }
        Ok(self.worker.insert(embedded).clone())
    }

    /// Builds the server, and before it the worker unless that was done.
    ///
    /// # Errors
    /// When one of them does not build.
    pub(crate) fn server(&mut self) -> Result<PathBuf, Stop> {
        if self.worker.is_none() {
            self.worker()?;
        }
        self.program("pelton")
    }

    /// Builds the program of one crate.
    ///
    /// # Errors
    /// When it does not build.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, Stop> {
        timed(name, || {
            succeed(self.cargo("build").args(["--package", name]))
        })?;
        Ok(self.program_path(name))
    }

    /// Returns the place of a program of one crate, built or not.
    pub(crate) fn program_path(&self, name: &str) -> PathBuf {
        self.target_dir
            .join(&self.triple)
            .join("release")
            .join(name)
    }
}

/// The cargo that runs us.
pub(crate) fn cargo() -> OsString {
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
