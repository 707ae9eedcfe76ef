//! A folder for what a benchmark makes and throws away.

use std::fs;
use std::path::{Path, PathBuf};

use crate::stop::{Stop, at};

/// Under the system's folder for temporary files, unless it says otherwise; gone when dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn new(name: &str) -> Result<Scratch, Stop> {
        Scratch::within(&std::env::temp_dir(), name)
    }

    /// The same in a folder of somebody's choice.
    ///
    /// # Errors
    /// When it cannot be made.
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
