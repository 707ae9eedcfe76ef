//! Peers that no Debian package has. They are built elsewhere, as `lab/peers.md` describes, and
//! their programs are given by flag or environment variable. A benchmark leaves out the peers that
//! are not given.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use serde::Deserialize;
use toolkit::stop::{Stop, at};

use crate::server::{self, Server};
use crate::{SharedFlags, host};

/// Name of a peer, as in the flag, in definitions and in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PeerName {
    /// Server of pictures, written in Go
    WebpServerGo,
    /// Server that scales pictures, written in Go
    Imgproxy,
    /// HTTP server in C. The program is a few lines on the library
    Libreactor,
}

impl PeerName {
    const ALL: [PeerName; 3] = [
        PeerName::WebpServerGo,
        PeerName::Imgproxy,
        PeerName::Libreactor,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            PeerName::WebpServerGo => "webp-server-go",
            PeerName::Imgproxy => "imgproxy",
            PeerName::Libreactor => "libreactor",
        }
    }

    /// Argument with which the program prints its version.
    fn version_argument(self) -> &'static str {
        match self {
            PeerName::WebpServerGo => "-V",
            PeerName::Imgproxy => "version",
            PeerName::Libreactor => "--version",
        }
    }
}

/// Program of a peer, as given by a flag `NAME=FILE`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PeerProgram {
    pub(crate) name: PeerName,
    pub(crate) path: PathBuf,
}

impl FromStr for PeerProgram {
    type Err = String;

    fn from_str(typed: &str) -> Result<PeerProgram, String> {
        let names = PeerName::ALL.map(PeerName::name).join(", ");
        let (name, path) = typed.split_once('=').ok_or("not in the form NAME=FILE")?;
        let name = PeerName::ALL.into_iter().find(|peer| peer.name() == name);
        Ok(PeerProgram {
            name: name.ok_or_else(|| format!("no such peer; the peers are {names}"))?,
            path: path.into(),
        })
    }
}

impl PeerProgram {
    /// Returns the version that the program prints, for the record.
    pub(crate) fn version(&self) -> (String, String) {
        let path = self.path.to_string_lossy();
        let line = host::version(&[&path, self.name.version_argument()]);
        (self.name.name().to_owned(), line)
    }

    /// Returns the command that runs the program, on the core `cpu` alone if one is given.
    fn command(&self, cpu: Option<u32>) -> Result<Command, Stop> {
        // Peers run in folders of their own, so the path must not be relative.
        let path = fs::canonicalize(&self.path).map_err(at(&self.path))?;
        let Some(cpu) = cpu else {
            return Ok(Command::new(path));
        };
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpu.to_string()]).arg(path);
        Ok(command)
    }
}

/// Server of pictures that is about to start.
pub(crate) struct PictureServer<'a> {
    pub(crate) given: &'a SharedFlags,
    pub(crate) program: &'a PeerProgram,
    /// Empty folder for the server's own files.
    pub(crate) folder: &'a Path,
    /// Core on which the server runs; `None` for all.
    pub(crate) cpu: Option<u32>,
    /// Quality setting for all formats, where the server has a setting for the whole process.
    pub(crate) quality: u8,
    /// Format to which a request converts, where the server has a setting for the whole process.
    pub(crate) format: &'a str,
}

impl PictureServer<'_> {
    /// Starts the server with the corpus as its folder of originals, and waits until it responds.
    ///
    /// # Errors
    /// Returns an error if the server does not start, or is not a server of pictures.
    pub(crate) fn start(&self) -> Result<Server, Stop> {
        let address = server::free_address()?;
        let corpus = &self.given.corpus;
        let corpus = fs::canonicalize(corpus).map_err(at(corpus))?;
        let mut command = self.program.command(self.cpu)?;
        command.current_dir(self.folder);
        let ready = match self.program.name {
            PeerName::WebpServerGo => {
                // The settings come from the environment, but without this file the program ends.
                let config = self.folder.join("config.json");
                fs::write(&config, "{}").map_err(at(&config))?;
                command
                    .env("WEBP_HOST", address.ip().to_string())
                    .env("WEBP_PORT", address.port().to_string())
                    .env("WEBP_IMG_PATH", corpus)
                    .env("WEBP_EXHAUST_PATH", self.folder.join("exhaust"))
                    .env("WEBP_QUALITY", self.quality.to_string())
                    .env("WEBP_CONVERT_TYPES", self.format)
                    .env("WEBP_ENABLE_EXTRA_PARAMS", "true")
                    .env("WEBP_STRIP_METADATA", "true")
                    .args(["-config", "config.json", "-verbosity", "0"]);
                "/healthz"
            }
            PeerName::Imgproxy => {
                command
                    .env("IMGPROXY_BIND", address.to_string())
                    .env("IMGPROXY_LOCAL_FILESYSTEM_ROOT", corpus)
                    .env("IMGPROXY_LOG_LEVEL", "error");
                "/health"
            }
            PeerName::Libreactor => {
                return Err(Stop::usage("libreactor does not convert pictures"));
            }
        };
        Server::start(command, address, ready)
    }
}

/// Starts libreactor's program on the core `cpu`. It answers every request with the content of
/// `file`.
///
/// # Errors
/// Returns an error if the program does not start.
pub(crate) fn libreactor(program: &PeerProgram, file: &Path, cpu: u32) -> Result<Server, Stop> {
    let address = server::free_address()?;
    let mut command = program.command(Some(cpu))?;
    command.arg(address.port().to_string()).arg(file);
    Server::start(command, address, "/")
}
