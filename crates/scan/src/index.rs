//! The index's file: read whole, written beside its name, renamed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use catalog::{Catalog, OpenError};
use rustix::fs::{FlockOperation, flock};

use crate::ScanError;

/// The index in its folder.
const NAME: &str = "index";
/// What is not finished; whoever finds one may overwrite it.
const PARTIAL: &str = "index.partial";

/// Reads the last whole index in `folder`; none when there is none, or it was made by another version or damaged, which a
/// scan makes good.
///
/// # Errors
/// When the host cannot read it.
pub fn load(folder: &Path) -> Result<Option<Catalog<Vec<u8>>>, ScanError> {
    let path = folder.join(NAME);
    match fs::read(&path) {
        Ok(bytes) => match Catalog::open(bytes) {
            Ok(catalog) => Ok(Some(catalog)),
            Err(OpenError::NotAnIndex | OpenError::OtherVersion | OpenError::Damaged) => Ok(None),
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(ScanError::host("read index", &path, err)),
    }
}

/// Puts an index in the place of the last.
pub(crate) fn replace(folder: &Path, bytes: &[u8]) -> Result<(), ScanError> {
    let (partial, path): (PathBuf, PathBuf) = (folder.join(PARTIAL), folder.join(NAME));
    let write = || {
        fs::create_dir_all(folder)?;
        // Another process may be about to do the same: a scan beside a server, or a server that takes over.
        let locked = File::open(folder)?;
        flock(&locked, FlockOperation::LockExclusive)?;
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        // A name that points to nothing would cost the last index, which is whole.
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        locked.sync_all()
    };
    write().map_err(|err| ScanError::host("write index", &path, err))
}
