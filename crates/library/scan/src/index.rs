//! File of the index. It is memory-mapped for reading, and replaced by a new file that is renamed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use bytes::Bytes;
use catalog::{Catalog, OpenError};
use host::Mapped;
use rustix::fs::{FlockOperation, flock};

use crate::ScanError;
use crate::scan::cores;

/// File name of the index in its folder.
const NAME: &str = "index";
/// File name of an index that is being written. A scan overwrites the remains of an interrupted
/// one.
const PARTIAL: &str = "index.partial";

/// Index in use: its mapped file, or bytes in memory.
pub type Index = Catalog<Bytes>;

/// Minimum number of checksummed stretches (1 MiB each) that are checked by two threads; for fewer,
/// starting a second thread costs more than it saves.
const STRETCHES_APART_MIN: usize = 16;

/// Loads the last complete index in `folder`. Returns `None` if there is no index, or if it is
/// damaged or has another layout version; the next scan replaces it then. The file is mapped if the
/// file system grants a lease on it, otherwise it is read.
///
/// # Errors
/// If the host cannot open or read the file.
pub fn load(folder: &Path) -> Result<Option<Index>, ScanError> {
    let path = folder.join(NAME);
    let opened = File::open(&path).and_then(|mut file| match Mapped::open(file.try_clone()?) {
        Ok(mapped) => Ok(Bytes::from_owner(mapped)),
        Err(why) => {
            tracing::debug!(%why, "index cannot be mapped; reading it into memory");
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(Bytes::from(bytes))
        }
    });
    match opened {
        Ok(bytes) => match Catalog::open_by(bytes, all) {
            Ok(catalog) => Ok(Some(catalog)),
            Err(OpenError::OtherVersion) => Ok(None),
            Err(err @ (OpenError::NotAnIndex | OpenError::Damaged)) => {
                tracing::warn!(path = %path.display(), %err, "index of the library is unusable; the next scan replaces it");
                Ok(None)
            }
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(ScanError::host("read index", &path, err)),
    }
}

/// Returns whether `holds` is true for all indices below `count`, using two threads if `count` is
/// large.
fn all(count: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    if count < STRETCHES_APART_MIN || cores() == 1 {
        return (0..count).all(holds);
    }
    thread::scope(|scope| {
        let rest = scope.spawn(|| (count / 2..count).all(holds));
        let first = (0..count / 2).all(holds);
        rest.join().expect("checking a stretch does not panic") && first
    })
}

/// Replaces the index in `folder` by an index of these `bytes`.
pub(crate) fn replace(folder: &Path, bytes: &[u8]) -> Result<(), ScanError> {
    let (partial, path): (PathBuf, PathBuf) = (folder.join(PARTIAL), folder.join(NAME));
    let write = || {
        fs::create_dir_all(folder)?;
        // Another process may write at the same time: a scan from the command line, or the next
        // server during a handover. The lock serializes them.
        let locked = File::open(folder)?;
        flock(&locked, FlockOperation::LockExclusive)?;
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        // Synced before the rename: otherwise the name could refer to an empty file after a crash,
        // and the last complete index would be lost.
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        locked.sync_all()
    };
    write().map_err(|err| ScanError::host("write index", &path, err))
}
