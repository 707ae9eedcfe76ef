//! Cache of builds and tools, outside the checkout, so that a fresh checkout need not build the C
//! codecs again.
//!
//! ```text
//! $PELTON_CACHE, or $XDG_CACHE_HOME/pelton, or ~/.cache/pelton
//! ├── KIND-KEY/       cargo's target directory; KEY is a hash of compiler and C codecs, KIND is
//! │   │               `build`, or the name of a suite that builds in another way
//! │   └── owner       locked while in use; contains the path of the checkout that used it last
//! └── TOOL-VERSION/   cargo-deny and other tools, each installed once
//! ```

#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::stop::{Stop, at, program};

/// Maximum number of build folders of one kind, including the one in use. A second folder saves a
/// rebuild when the user switches between two branches.
const BUILDS_MAX: usize = 2;

/// Packages whose C code takes minutes to compile. No other package in the lock file changes the
/// key of the build folder.
pub const C_CODECS: &[&str] = &[
    "libaom-sys",
    "libavif-sys",
    "libdav1d-sys",
    "libwebp-sys",
    "turbojpeg-sys",
];

/// Returns the cache folder, which contains all build folders and tools.
///
/// # Errors
/// [`Stop::host`] when no environment variable names a folder for the cache.
pub fn folder() -> Result<PathBuf, Stop> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let chosen = variable("PELTON_CACHE").map(PathBuf::from);
    let chosen = chosen.or_else(|| Some(PathBuf::from(variable("XDG_CACHE_HOME")?).join("pelton")));
    let chosen = chosen.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache/pelton")));
    let folder = chosen.ok_or_else(|| {
        Stop::host(
            "the folder for builds is unknown: PELTON_CACHE, XDG_CACHE_HOME and HOME are not set",
        )
        .hint("set PELTON_CACHE to the path of a folder")
    })?;
    std::path::absolute(&folder).map_err(at(&folder))
}

/// Returns the key of a build folder: a hash of the compiler's version and of the locked C codecs.
pub(crate) fn key(rustc_version: &str, lock: &str) -> String {
    // This hasher is stable only within one version of the standard library. The standard library
    // changes only with the compiler. The compiler's version is hashed too, so a new compiler
    // changes the key anyway.
    let mut hasher = DefaultHasher::new();
    hasher.write(rustc_version.as_bytes());
    for package in lock
        .split("[[package]]\n")
        .filter(|package| is_codec(package))
    {
        for field in ["name = ", "version = ", "checksum = "] {
            let lines = package.lines();
            lines
                .filter(|line| line.starts_with(field))
                .for_each(|line| hasher.write(line.as_bytes()));
        }
    }
    format!("{:016x}", hasher.finish())
}

fn is_codec(package: &str) -> bool {
    let name = package
        .lines()
        .find_map(|line| line.strip_prefix("name = "));
    name.is_some_and(|name| C_CODECS.contains(&name.trim_matches('"')))
}

/// Lock on a build folder, which is released on drop.
pub(crate) struct FolderLock {
    /// Path of the checkout that used this folder last. `None` if the folder is new, or if the same
    /// checkout now locks it.
    pub(crate) from: Option<String>,
    owner: File,
}

impl FolderLock {
    /// Waits until no other process builds in `folder`, then locks the folder.
    ///
    /// # Errors
    /// [`Stop::host`] when the folder cannot be written.
    pub(crate) fn wait(folder: &Path, checkout: &Path) -> Result<FolderLock, Stop> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let path = folder.join("owner");
        let mut options = File::options();
        let mut owner = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(at(&path))?;
        match owner.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                eprintln!(
                    "{}: waiting for another process that builds in {}",
                    program(),
                    folder.display()
                );
                owner.lock().map_err(at(&path))?;
            }
            Err(TryLockError::Error(err)) => return Err(at(&path)(err)),
        }
        let mut last = String::new();
        owner.read_to_string(&mut last).map_err(at(&path))?;
        let from = Some(last).filter(|last| !last.is_empty() && Path::new(last) != checkout);
        Ok(FolderLock { from, owner })
    }

    /// Records `checkout` as the owner of the folder's artifacts. The write also sets the
    /// modification time of the owner file, by which [`prune`] finds the oldest folders.
    ///
    /// # Errors
    /// When the disk refuses the write.
    pub(crate) fn sign(&mut self, checkout: &Path) -> Result<(), Stop> {
        let mut write = || {
            self.owner.set_len(0)?;
            self.owner.rewind()?;
            self.owner
                .write_all(checkout.as_os_str().as_encoded_bytes())
        };
        write().map_err(at(checkout))
    }
}

/// Removes all but the newest build folders of one kind in `cache`, and prints the path of each
/// removed folder. Folders in use are kept.
///
/// # Errors
/// When a folder cannot be read or removed.
pub(crate) fn prune(cache: &Path, kind: &str) -> Result<(), Stop> {
    let mut builds = Vec::new();
    let start = format!("{kind}-");
    for entry in fs::read_dir(cache).map_err(at(cache))? {
        let entry = entry.map_err(at(cache))?;
        if entry.file_name().to_string_lossy().starts_with(&start) {
            builds.push((used(&entry.path()), entry.path()));
        }
    }
    builds.sort();
    let old = builds.len().saturating_sub(BUILDS_MAX);
    for (_, build) in &builds[..old] {
        let owner = File::open(build.join("owner"));
        if owner.is_ok_and(|owner| owner.try_lock().is_err()) {
            continue;
        }
        eprintln!(
            "{}: removing {}, an old build folder for another compiler or other codecs",
            program(),
            build.display()
        );
        fs::remove_dir_all(build).map_err(at(build))?;
    }
    Ok(())
}

/// Returns the time at which a build folder was last used. A folder without an owner file was never
/// used, and counts as the oldest.
fn used(build: &Path) -> SystemTime {
    let owner = fs::metadata(build.join("owner"));
    let time = owner.and_then(|owner| owner.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}
