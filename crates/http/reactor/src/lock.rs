//! A directory for one server: a lock that ends with the process, however that ends, and a file that names the process.
//!
//! The kernel holds the lock for the open file, so a crash leaves none behind, and a copy of the process made by fork holds
//! it on. What the file says is for people alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// The file in the directory.
const NAME: &str = "lock";
/// Most bytes of it that are shown.
const TEXT_BYTES_MAX: u64 = 200;

/// Who else may use a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No other process.
    Alone,
    /// Processes that share it too.
    Shared,
}

/// A directory that is held until this is dropped.
#[derive(Debug)]
pub struct DirLock {
    file: File,
    path: PathBuf,
}

/// Why a directory cannot be held.
#[derive(Debug)]
pub enum LockError {
    /// Another process holds it; what that process wrote of itself.
    Held(String),
    /// The lock file cannot be opened or locked.
    Host(PathBuf, io::Error),
}

impl DirLock {
    /// Holds `dir`, which is made if it is not there.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn take(dir: &Path, sharing: Sharing) -> Result<DirLock, LockError> {
        let lock = DirLock::open(dir)?;
        let operation = match sharing {
            Sharing::Alone => FlockOperation::NonBlockingLockExclusive,
            Sharing::Shared => FlockOperation::NonBlockingLockShared,
        };
        match flock(&lock.file, operation) {
            Ok(()) => Ok(lock),
            Err(Errno::WOULDBLOCK) => Err(LockError::Held(lock.text())),
            Err(errno) => Err(LockError::Host(lock.path, errno.into())),
        }
    }

    /// Waits until `dir` can be held: for a process that takes over from the one that holds it.
    ///
    /// # Errors
    /// The lock file cannot be opened or locked.
    pub fn wait(dir: &Path, sharing: Sharing) -> Result<DirLock, LockError> {
        let lock = DirLock::open(dir)?;
        let operation = match sharing {
            Sharing::Alone => FlockOperation::LockExclusive,
            Sharing::Shared => FlockOperation::LockShared,
        };
        loop {
            match flock(&lock.file, operation) {
                Ok(()) => return Ok(lock),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(LockError::Host(lock.path, errno.into())),
            }
        }
    }

    /// Writes the process's number and `what` it is into the file, where there is room.
    pub fn sign(&mut self, what: &str) {
        let text = format!("{} {what}\n", std::process::id());
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text.as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, file = %self.path.display(), "the lock holds, but does not name this process");
        }
    }

    /// Returns the path of the lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(dir: &Path) -> Result<DirLock, LockError> {
        let path = dir.join(NAME);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let opened = fs::create_dir_all(dir)
            .and_then(|()| options.open(&path))
            // On a file system for reading alone the file of an earlier process does.
            .or_else(|error| File::open(&path).map_err(|_| error));
        match opened {
            Ok(file) => Ok(DirLock { file, path }),
            Err(error) => Err(LockError::Host(path, error)),
        }
    }

    /// Returns what the holder wrote.
    fn text(&self) -> String {
        let mut text = Vec::new();
        // A file that cannot be read names no holder.
        let read = (&self.file).take(TEXT_BYTES_MAX).read_to_end(&mut text);
        match read {
            Ok(1..) => String::from_utf8_lossy(&text).trim().to_owned(),
            _ => "a process that could not write its number".to_owned(),
        }
    }
}
