//! Temporary folder of a benchmark.

use std::fs;
use std::path::{Path, PathBuf};

use toolkit::stop::{Stop, at};

/// Temporary folder that is removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder in the system's temporary folder.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub(crate) fn new(name: &str) -> Result<Scratch, Stop> {
        Scratch::within(&std::env::temp_dir(), name)
    }

    /// Creates a temporary folder inside `folder`.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub(crate) fn within(folder: &Path, name: &str) -> Result<Scratch, Stop> {
        let path = folder.join(format!("pelton-lab-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).map_err(at(&path))?;
        Ok(Scratch(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(err) = fs::remove_dir_all(&self.0) {
            eprintln!("lab: {}: {err}", self.0.display());
        }
    }
}
