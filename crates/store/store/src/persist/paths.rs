//! Paths of the store's data files.

use std::io;
use std::path::{Path, PathBuf};

use super::manifest::Listed;
use crate::config::Config;

/// Paths of the data files that a configuration names.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) snapshot: PathBuf,
    pub(crate) journals: PathBuf,
    pub(crate) manifest: PathBuf,
    /// The single AOF file of a Redis version before 7.
    pub(crate) old_journal: PathBuf,
    /// Value of `appendfilename`, with which the names of all AOF files begin.
    pub(crate) stem: String,
}

impl Paths {
    pub(crate) fn new(config: &Config) -> Paths {
        let dir = Path::new(&config.dir);
        let journals = dir.join(&config.appenddirname.0);
        let stem = config.appendfilename.0.clone();
        Paths {
            snapshot: dir.join(&config.dbfilename.0),
            manifest: journals.join(format!("{stem}.manifest")),
            old_journal: dir.join(&stem),
            journals,
            stem,
        }
    }

    pub(crate) fn journal(&self, listed: &Listed) -> PathBuf {
        self.journals.join(&listed.name)
    }
}

/// A path that could not be written, with the error.
pub(crate) type Unwritten = (PathBuf, io::Error);
