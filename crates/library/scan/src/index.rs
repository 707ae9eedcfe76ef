//! File of the index, which is memory-mapped for reading. A new index is written to a partial file,
//! which is then renamed and replaces the old file.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use catalog::{Catalog, OpenError};
use host::Mapped;
use rustix::fs::{FlockOperation, flock};

use crate::ScanError;
use crate::threads::cores;

/// File name of the index in its folder.
const NAME: &str = "index";
/// File name of an index that is being written. A scan overwrites the partial file of an
/// interrupted scan.
const PARTIAL: &str = "index.partial";

/// Index in use: its mapped file, or bytes in memory.
pub type Index = Catalog<Bytes>;

/// Index of a library, with the identity of the file that it was loaded from or written to.
#[derive(Clone, Debug)]
pub struct LoadedIndex {
    catalog: Arc<Index>,
    identity: Identity,
}

impl LoadedIndex {
    /// Returns the index.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Index> {
        &self.catalog
    }

    /// Returns whether the index in `folder` is still the file of this index. Another process may
    /// have replaced it, or a user removed it.
    pub(crate) fn is_current(&self, folder: &Path) -> bool {
        fs::metadata(folder.join(NAME)).is_ok_and(|now| Identity::of(&now) == self.identity)
    }
}

/// Identity of the file of an index. Each index has a file of its own, because an index is never
/// changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    mtime: (i64, i64),
}

impl Identity {
    fn of(file: &Metadata) -> Identity {
        Identity {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.size(),
            mtime: (file.mtime(), file.mtime_nsec()),
        }
    }
}

/// Minimum number of checksummed blocks for which two threads check an index. For fewer blocks,
/// starting the second thread takes longer than it saves.
const STRETCHES_APART_MIN: usize = 16;

/// Loads the last complete index in `folder`. Returns `None` if there is no index, or if it is
/// damaged or has another layout version; the next scan replaces it then. The file is mapped if the
/// file system grants a lease on it, otherwise it is read.
///
/// # Errors
/// If the host cannot open or read the file.
pub fn load(folder: &Path) -> Result<Option<LoadedIndex>, ScanError> {
    let path = folder.join(NAME);
    let opened = File::open(&path).and_then(|mut file| {
        let identity = Identity::of(&file.metadata()?);
        let bytes = match map(&file) {
            Some(mapped) => mapped,
            None => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Bytes::from(bytes)
            }
        };
        Ok((bytes, identity))
    });
    match opened {
        Ok((bytes, identity)) => match Catalog::open_by(bytes, all) {
            Ok(catalog) => Ok(Some(LoadedIndex {
                catalog: Arc::new(catalog),
                identity,
            })),
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

/// Returns whether a condition holds for all indices below `count`, using two threads if there are
/// many.
fn all(count: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    if count < STRETCHES_APART_MIN || cores() == 1 {
        return (0..count).all(holds);
    }
    thread::scope(|scope| {
        let rest = scope.spawn(|| (count / 2..count).all(holds));
        let first = (0..count / 2).all(holds);
        rest.join().expect("checking a block does not panic") && first
    })
}

/// Maps the file of an index, if the file system grants a lease on it.
fn map(file: &File) -> Option<Bytes> {
    match file.try_clone().and_then(Mapped::open) {
        Ok(mapped) => Some(Bytes::from_owner(mapped)),
        Err(why) => {
            tracing::debug!(%why, "index cannot be mapped; holding it in memory");
            None
        }
    }
}

/// Replaces the index in `folder` by an index of these bytes, and opens it. The new file is mapped
/// if possible, so that its bytes leave the heap and the kernel can drop their pages.
pub(crate) fn replace(folder: &Path, bytes: Vec<u8>) -> Result<LoadedIndex, ScanError> {
    let (partial, path): (PathBuf, PathBuf) = (folder.join(PARTIAL), folder.join(NAME));
    let write = || {
        fs::create_dir_all(folder)?;
        // Another process may write at the same time: a scan from the command line, or the next
        // server during a handover. The lock serializes them.
        let locked = File::open(folder)?;
        flock(&locked, FlockOperation::LockExclusive)?;
        let mut file = File::create(&partial)?;
        file.write_all(&bytes)?;
        // Synced before the rename: otherwise the name could refer to an empty file after a crash,
        // and the last complete index would be lost.
        file.sync_all()?;
        // The kernel grants no lease on a file that is open for writing.
        drop(file);
        let file = File::open(&partial)?;
        fs::rename(&partial, &path)?;
        locked.sync_all()?;
        Ok((Identity::of(&file.metadata()?), file))
    };
    let failed = |err| ScanError::host("write index", &path, err);
    let (identity, file) = write().map_err(failed)?;
    let bytes = map(&file).unwrap_or_else(|| bytes.into());
    // The bytes were just built and are valid, so they can be invalid here only if the disk damaged
    // them.
    let catalog = Catalog::open_by(bytes, all).map_err(|err| failed(io::Error::other(err)))?;
    Ok(LoadedIndex {
        catalog: Arc::new(catalog),
        identity,
    })
}
