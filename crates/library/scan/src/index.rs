//! The index's file: mapped, written beside its name, renamed.

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

/// The index in its folder.
const NAME: &str = "index";
/// What is not finished; whoever finds one may overwrite it.
const PARTIAL: &str = "index.partial";

/// An index as it is used: its file, mapped, or bytes of our own.
pub type Index = Catalog<Bytes>;

/// Stretches from which on it is worth a thread to check one half of them beside the other.
const STRETCHES_APART_MIN: usize = 16;

/// Takes up the last whole index in `folder`; none when there is none, or it was made by another version or damaged, which a
/// scan makes good. Its file is mapped where the file system lets us hold it, else read.
///
/// # Errors
/// When the host cannot read it.
pub fn load(folder: &Path) -> Result<Option<Index>, ScanError> {
    let path = folder.join(NAME);
    let opened = File::open(&path).and_then(|mut file| match Mapped::open(file.try_clone()?) {
        Ok(mapped) => Ok(Bytes::from_owner(mapped)),
        Err(why) => {
            tracing::debug!(%why, "index is read, since it cannot be mapped");
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
                tracing::warn!(path = %path.display(), %err, "the index of the library is unusable; a scan makes it anew");
                Ok(None)
            }
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(ScanError::host("read index", &path, err)),
    }
}

/// Whether something holds for all of so many stretches of an index.
fn all(count: usize, holds: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    if count < STRETCHES_APART_MIN || cores() == 1 {
        return (0..count).all(holds);
    }
    thread::scope(|scope| {
        let rest = scope.spawn(|| (count / 2..count).all(holds));
        let first = (0..count / 2).all(holds);
        rest.join().expect("comparing does not panic") && first
    })
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
