//! Flags that all benchmarks share: folders, programs, and the number of rounds.

use std::fs;
use std::path::{Path, PathBuf};

use toolkit::stop::{Stop, at};

use crate::peer::{PeerName, PeerProgram};

/// Flags that all benchmarks share.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SharedFlags {
    /// Folder that holds the folders `abstract` and `nature` of Debian's package mate-backgrounds
    #[arg(long, global = true, value_name = "DIR", default_value = "demo")]
    pub(crate) corpus: PathBuf,
    /// Folder into which the file with the results is written
    #[arg(long, global = true, value_name = "DIR", default_value = "lab/record")]
    pub(crate) record: PathBuf,
    /// Folder of the benchmark definitions
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        default_value = "lab/definitions"
    )]
    pub(crate) definitions: PathBuf,
    /// Number of repetitions, instead of the number in the definition; fewer are meant only for
    /// trying out a benchmark
    #[arg(long, global = true)]
    pub(crate) rounds: Option<usize>,
    /// Use only this number of photographs, instead of all; meant only for trying out a benchmark
    #[arg(long, global = true)]
    pub(crate) take: Option<usize>,
    /// Path of the program pelton
    #[arg(long, global = true, value_name = "FILE", env = "PELTON_BIN")]
    pub(crate) pelton: Option<PathBuf>,
    /// Path of valkey-server; if it is given, `lab store` measures it, too
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) valkey: Option<PathBuf>,
    /// Path of Pelton's worker, the program that converts files in sandboxes
    #[arg(long, global = true, value_name = "FILE", env = "PELTON_WORKER")]
    pub(crate) worker: Option<PathBuf>,
    /// Program of a peer that is built elsewhere (webp-server-go, imgproxy or libreactor), as
    /// lab/peers.md describes; may be repeated. In the variable, commas separate several
    #[arg(
        long = "peer",
        global = true,
        value_name = "NAME=FILE",
        env = "LAB_PEERS",
        value_delimiter = ','
    )]
    pub(crate) peers: Vec<PeerProgram>,
}

impl SharedFlags {
    /// Reads a definition file and parses it twice: as the type `T`, and as a table that is
    /// stored with the results.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a valid definition of this benchmark.
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

    /// Returns the path of the server's program.
    ///
    /// # Errors
    /// Returns an error if `--pelton` is missing.
    pub(crate) fn pelton(&self) -> Result<&Path, Stop> {
        let pelton = self.pelton.as_deref();
        pelton.ok_or_else(|| {
            Stop::usage("--pelton is missing")
                .hint("run cargo xtask lab, which builds Pelton and passes --pelton")
        })
    }

    /// Returns the program of a peer that is built elsewhere, if it is given.
    pub(crate) fn peer(&self, name: PeerName) -> Option<&PeerProgram> {
        self.peers.iter().find(|program| program.name == name)
    }

    /// Returns the path of the worker's program.
    ///
    /// # Errors
    /// Returns an error if `--worker` is missing.
    pub(crate) fn worker(&self) -> Result<&Path, Stop> {
        let worker = self.worker.as_deref();
        worker.ok_or_else(|| {
            Stop::usage("--worker is missing")
                .hint("run cargo xtask lab, which builds the worker and passes --worker")
        })
    }
}
