//! Index file, which is mapped into memory for reading. A new index is first written to another
//! file, which is then renamed to replace the old index.

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

/// Name of the index file in its folder.
const NAME: &str = "index";
/// Name of an index file that is being written. If a scan was interrupted, the next scan overwrites
/// this file.
const PARTIAL: &str = "index.partial";

/// Catalog of a library, whose bytes are a mapped index file or a copy of the file in memory.
pub type Index = Catalog<Bytes>;

/// Index of a library, and the identity of the file that contains it.
#[derive(Clone, Debug)]
pub struct LoadedIndex {
    catalog: Arc<Index>,
    identity: Identity,
}

impl LoadedIndex {
    /// Returns the catalog: the content of the index.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Index> {
        &self.catalog
    }

    /// Returns whether the file in `folder` still contains this index. Another process may have
    /// replaced the file, or a user may have removed it.
    pub(crate) fn is_current(&self, folder: &Path) -> bool {
        fs::metadata(folder.join(NAME)).is_ok_and(|now| Identity::of(&now) == self.identity)
    }
}

/// Identity of an index file. It differs between any two indexes, because an index file is never
/// modified.
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

/// Minimum number of blocks for which two threads verify the checksums of an index. For fewer
/// blocks, starting a second thread takes longer than it saves.
const PARALLEL_BLOCKS_MIN: usize = 16;

/// Loads the index in `folder`. Returns `None` if the folder has no index, or if the index is
/// damaged or has another version. The next scan replaces such an index. The file is mapped if the
/// file system grants a lease on it, and otherwise read into memory.
///
/// # Errors
/// If the file exists but cannot be opened or read.
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
                tracing::warn!(path = %path.display(), %err, "the index of the library is unusable; the next scan replaces it");
                Ok(None)
            }
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(ScanError::host("cannot read index", &path, err)),
    }
}

/// Returns whether `holds` is true for all numbers below `count`. Uses two threads if `count` is
/// large.
fn all(count: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    if count < PARALLEL_BLOCKS_MIN || cores() == 1 {
        return (0..count).all(holds);
    }
    thread::scope(|scope| {
        let rest = scope.spawn(|| (count / 2..count).all(holds));
        let first = (0..count / 2).all(holds);
        rest.join().expect("checking a block does not panic") && first
    })
}

/// Maps an index file, if the file system grants a lease on it.
fn map(file: &File) -> Option<Bytes> {
    match file.try_clone().and_then(Mapped::open) {
        Ok(mapped) => Some(Bytes::from_owner(mapped)),
        Err(why) => {
            tracing::debug!(%why, "the index file cannot be mapped; the index is read into memory");
            None
        }
    }
}

/// Replaces the index in `folder` by an index with these bytes, and loads it. The new file is
/// mapped if possible: unlike memory of the process, its pages can be dropped by the kernel.
pub(crate) fn replace(folder: &Path, bytes: Vec<u8>) -> Result<LoadedIndex, ScanError> {
    let (partial, path): (PathBuf, PathBuf) = (folder.join(PARTIAL), folder.join(NAME));
    let write = || {
        fs::create_dir_all(folder)?;
        // Another process may write an index at the same time: a scan by the command line, or the
        // next server during a handover. The lock lets only one process write.
        let locked = File::open(folder)?;
        flock(&locked, FlockOperation::LockExclusive)?;
        let mut file = File::create(&partial)?;
        file.write_all(&bytes)?;
        // The file is synced before it is renamed. Otherwise the renamed file could be empty after
        // a crash, and the previous index would be lost.
        file.sync_all()?;
        // The file is opened again for reading, since the kernel grants no lease on a file that is
        // open for writing.
        drop(file);
        let file = File::open(&partial)?;
        fs::rename(&partial, &path)?;
        locked.sync_all()?;
        Ok((Identity::of(&file.metadata()?), file))
    };
    let failed = |err| ScanError::host("cannot write index", &path, err);
    let (identity, file) = write().map_err(failed)?;
    let bytes = map(&file).unwrap_or_else(|| bytes.into());
    // The bytes are valid, so this fails only if the disk has damaged them.
    let catalog = Catalog::open_by(bytes, all).map_err(|err| failed(io::Error::other(err)))?;
    Ok(LoadedIndex {
        catalog: Arc::new(catalog),
        identity,
    })
}
