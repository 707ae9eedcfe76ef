//! Where builds are kept: outside the checkout, so that a fresh one finds the C codecs built.
//!
//! ```text
//! $PELTON_CACHE, or $XDG_CACHE_HOME/pelton, or ~/.cache/pelton
//! ├── build-KEY/          cargo's target directory; KEY stands for the compiler and the C codecs' versions
//! │   └── owner           locked while in use; holds the path of the checkout that used it last
//! └── TOOL-VERSION/       cargo-deny and the like, each installed once
//! ```

#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::stop::{Stop, at};

/// Build folders that stay, the one in use among them: a second serves whoever goes back and forth between branches.
const BUILDS_MAX: usize = 2;

/// Packages that compile C for minutes. Nothing else in the lock file changes the key.
pub(crate) const C_CODECS: &[&str] = &[
    "libaom-sys",
    "libavif-sys",
    "libdav1d-sys",
    "libwebp-sys",
    "turbojpeg-sys",
];

/// The folder of all builds.
///
/// # Errors
/// When the environment names no place for it: the host's fault.
pub(crate) fn folder() -> Result<PathBuf, Stop> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let chosen = variable("PELTON_CACHE").map(PathBuf::from);
    let chosen = chosen.or_else(|| Some(PathBuf::from(variable("XDG_CACHE_HOME")?).join("pelton")));
    let chosen = chosen.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache/pelton")));
    let folder = chosen.ok_or_else(|| {
        Stop::host("no place for builds: HOME is not set").hint("set PELTON_CACHE to a folder")
    })?;
    std::path::absolute(&folder).map_err(at(&folder))
}

/// Names a build folder by all that makes its C codecs what they are.
pub(crate) fn key(rustc_version: &str, lock: &str) -> String {
    // Stable for one version of the standard library, and that version is hashed with the rest.
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

/// A build folder that is ours until this is dropped.
pub(crate) struct Claim {
    /// The checkout that built here last, if it was another one.
    pub(crate) from: Option<String>,
    owner: File,
}

impl Claim {
    /// Waits until nobody else builds in `folder`.
    ///
    /// # Errors
    /// When the folder cannot be written: the host's fault.
    pub(crate) fn wait(folder: &Path, checkout: &Path) -> Result<Claim, Stop> {
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
                    "xtask: waiting for the one that builds in {}",
                    folder.display()
                );
                owner.lock().map_err(at(&path))?;
            }
            Err(TryLockError::Error(err)) => return Err(at(&path)(err)),
        }
        let mut last = String::new();
        owner.read_to_string(&mut last).map_err(at(&path))?;
        let from = Some(last).filter(|last| !last.is_empty() && Path::new(last) != checkout);
        Ok(Claim { from, owner })
    }

    /// Writes down whose artifacts the folder holds, which also dates it.
    ///
    /// # Errors
    /// When the disk refuses.
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

/// Removes all build folders in `cache` but the newest, and says so. A folder in use stays.
///
/// # Errors
/// When a folder cannot be read or removed.
pub(crate) fn prune(cache: &Path) -> Result<(), Stop> {
    let mut builds = Vec::new();
    for entry in fs::read_dir(cache).map_err(at(cache))? {
        let entry = entry.map_err(at(cache))?;
        if entry.file_name().to_string_lossy().starts_with("build-") {
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
            "xtask: removing {}, of another compiler or other codecs",
            build.display()
        );
        fs::remove_dir_all(build).map_err(at(build))?;
    }
    Ok(())
}

/// When a build folder was last claimed; one without an owner was never finished.
fn used(build: &Path) -> SystemTime {
    let owner = fs::metadata(build.join("owner"));
    let time = owner.and_then(|owner| owner.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}
