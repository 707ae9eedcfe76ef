//! Lock that reserves a directory for a server. The lock file in the directory names the process
//! that holds the lock.
//!
//! The kernel ties the lock to the open file and releases it when the process exits or crashes, so
//! no stale lock remains. A forked copy of the process holds the lock as well. The content of the
//! file is informational.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Name of the lock file in the directory.
const NAME: &str = "lock";
/// Maximum number of bytes that are read from the lock file. Its text describes the holder of the
/// lock.
const TEXT_BYTES_MAX: u64 = 200;

/// Mode of a directory lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Exclusive lock: no other process can lock the directory.
    Alone,
    /// Lock shared with other processes that also lock the directory as `Shared`.
    Shared,
}

/// Lock of a directory, held until dropped.
#[derive(Debug)]
pub struct DirLock {
    file: File,
    path: PathBuf,
}

/// Reason why a directory cannot be locked.
#[derive(Debug)]
pub enum LockError {
    /// Another process holds the lock. The text was read from the lock file and describes that
    /// process.
    Held(String),
    /// The lock file cannot be opened or locked.
    Host(PathBuf, io::Error),
}

impl DirLock {
    /// Locks `dir`, and creates it if it does not exist.
    ///
    /// # Errors
    /// Another process holds the lock, or the lock file cannot be opened or locked.
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

    /// Waits until `dir` can be locked, and locks it. Used by a process that takes over from the
    /// process that holds the lock.
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

    /// Writes the process id and `what`, a description of the process, into the lock file. If the
    /// disk is full, the file stays empty, but the lock remains valid.
    pub fn sign(&mut self, what: &str) {
        let text = format!("{} {what}\n", std::process::id());
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text.as_bytes()));
        if let Err(error) = written {
            tracing::warn!(
                %error,
                file = %self.path.display(),
                "the directory is now locked, but the process ID cannot be written to the lock file"
            );
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
            // On a read-only file system, an existing lock file can be opened only for reading.
            // This suffices to lock the file.
            .or_else(|error| File::open(&path).map_err(|_| error));
        match opened {
            Ok(file) => Ok(DirLock { file, path }),
            Err(error) => Err(LockError::Host(path, error)),
        }
    }

    /// Returns the text that the holder of the lock wrote into the lock file.
    fn text(&self) -> String {
        let mut text = Vec::new();
        // A file that cannot be read is treated as empty.
        let read = (&self.file).take(TEXT_BYTES_MAX).read_to_end(&mut text);
        match read {
            Ok(1..) => String::from_utf8_lossy(&text).trim().to_owned(),
            _ => "with an unknown id".to_owned(),
        }
    }
}
