//! What every benchmark is given: folders, programs, and how much of it to run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::stop::{Stop, at};

/// What every benchmark is given.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Given {
    /// Folder with mate-backgrounds' folders `abstract` and `nature`
    #[arg(long, global = true, value_name = "DIR", default_value = "demo")]
    pub(crate) corpus: PathBuf,
    /// Folder for the record
    #[arg(long, global = true, value_name = "DIR", default_value = "lab/record")]
    pub(crate) record: PathBuf,
    /// Folder of definitions
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        default_value = "lab/definitions"
    )]
    pub(crate) definitions: PathBuf,
    /// Rounds, instead of the definition's number; fewer than that are for trying out
    #[arg(long, global = true)]
    pub(crate) rounds: Option<usize>,
    /// Only the first photographs of the definition, for trying out
    #[arg(long, global = true)]
    pub(crate) take: Option<usize>,
    /// The server's program
    #[arg(long, global = true, value_name = "FILE", env = "PELTON_BIN")]
    pub(crate) pelton: Option<PathBuf>,
    /// Valkey's server, another peer of the store where it is there
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) valkey: Option<PathBuf>,
    /// The worker's program
    #[arg(long, global = true, value_name = "FILE", env = "PELTON_WORKER")]
    pub(crate) worker: Option<PathBuf>,
}

impl Given {
    /// Reads a definition twice: as its type, and as the table for the record.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the benchmark takes.
    pub(crate) fn definition<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<(T, toml::Table), Stop> {
        let path = self.definitions.join(format!("{name}.toml"));
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        let wrong = |err: toml::de::Error| Stop::usage(format!("{}: {err}", path.display()));
        Ok((
            toml::from_str(&text).map_err(wrong)?,
            toml::from_str(&text).map_err(wrong)?,
        ))
    }

    /// # Errors
    /// When it was not given.
    pub(crate) fn pelton(&self) -> Result<&Path, Stop> {
        let pelton = self.pelton.as_deref();
        pelton.ok_or_else(|| {
            Stop::usage("--pelton is not given").hint("cargo xtask lab builds and names it")
        })
    }

    /// # Errors
    /// When it was not given.
    pub(crate) fn worker(&self) -> Result<&Path, Stop> {
        let worker = self.worker.as_deref();
        worker.ok_or_else(|| {
            Stop::usage("--worker is not given").hint("cargo xtask lab builds and names it")
        })
    }
}
