//! Target directories of cargo in the cache, one per kind of build, compiler and set of C codecs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, FolderLock};
use crate::command::succeed;
use crate::stop::{Stop, at, program};

/// Target directory in the cache, which this process has locked for one checkout.
pub struct TargetDir {
    path: PathBuf,
    _folder_lock: FolderLock,
}

impl TargetDir {
    /// Locks the folder `KIND-KEY` of the cache. KEY is a hash of the output of `rustc -vV` and of
    /// the C codecs in the checkout's lock file. If another checkout used the folder last, removes
    /// the build artifacts of our own crates with the command that `clean` returns. Removes the
    /// oldest folders of the same kind if there are too many.
    ///
    /// # Errors
    /// When the lock file cannot be read, the folder cannot be locked, or the command fails.
    pub fn lock(
        kind: &str,
        root: &Path,
        rustc_version: &str,
        clean: impl FnOnce(&Path) -> Command,
    ) -> Result<TargetDir, Stop> {
        let lock_path = root.join("Cargo.lock");
        let lock = fs::read_to_string(&lock_path).map_err(at(&lock_path))?;
        let cache = cache::folder()?;
        let path = cache.join(format!("{kind}-{}", cache::key(rustc_version, &lock)));
        let mut folder_lock = FolderLock::wait(&path, root)?;
        if let Some(from) = &folder_lock.from {
            // If two checkouts have a crate at the same relative path, cargo treats the two as one
            // crate. It detects changed files only by their timestamps. Without `cargo clean`,
            // cargo would reuse artifacts of the other checkout's code.
            eprintln!(
                "{}: reusing the build folder of the checkout {from}",
                program()
            );
            succeed(clean(&path).args(["--quiet", "--workspace"]))?;
        }
        folder_lock.sign(root)?;
        cache::prune(&cache, kind)?;
        Ok(TargetDir {
            path,
            _folder_lock: folder_lock,
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
