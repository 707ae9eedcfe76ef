//! Node.js, and the packages that build and test the web page. Only people who change the page need
//! Node: the built files are committed.
//!
//! The packages are installed once per lock file into a folder of the cache, and `web/node_modules`
//! is a link to that folder, so that a fresh checkout need not install them again.

#[cfg(test)]
mod tests;

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{output, succeed, timed};
use crate::stop::{Stop, at};

/// Lowest major version of Node that runs the tools that build the web page.
const MAJOR_MIN: u32 = 20;

/// Returns the reason why this machine cannot build the web page, or `None` if it can.
pub fn missing() -> Option<String> {
    match output(Command::new("node").arg("--version")) {
        Err(_) => Some(format!(
            "Node {MAJOR_MIN} or later is needed, but node is not installed"
        )),
        Ok(version) if major(&version).is_none_or(|major| major < MAJOR_MIN) => Some(format!(
            "node has the version {}, but Node {MAJOR_MIN} or later is needed",
            version.trim()
        )),
        Ok(_) => None,
    }
}

/// Returns the major version in the output of `node --version`, such as `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    let (major, _) = version.trim().strip_prefix('v')?.split_once('.')?;
    major.parse().ok()
}

/// Installs the packages of the lock file in the checkout's folder `web`, if they are missing.
/// Returns the folder.
///
/// # Errors
/// [`Stop::host`] when Node is missing or too old, or a file cannot be read or written.
/// [`Stop::findings`] when npm cannot install the packages, for example because `package.json` and
/// the lock file contradict each other.
pub fn prepared(root: &Path, cache: &Path) -> Result<PathBuf, Stop> {
    if let Some(missing) = missing() {
        return Err(Stop::host(missing)
            .hint("install Debian's packages nodejs and npm, or Node from nodejs.org"));
    }
    let web = root.join("web");
    let lock_path = web.join("package-lock.json");
    let lock = fs::read(&lock_path).map_err(at(&lock_path))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&lock);
    let folder = cache.join(format!("page-packages-{:016x}", hasher.finish()));
    if !folder.is_dir() {
        timed("installation of the page's npm packages", || {
            install(&web, &folder)
        })?;
    }
    link(&folder.join("node_modules"), &web.join("node_modules"))?;
    Ok(web)
}

/// Installs packages into `folder`, which gets that name only when it is complete. Scripts of
/// packages do not run.
fn install(web: &Path, folder: &Path) -> Result<(), Stop> {
    let partial = folder.with_extension("partial");
    if partial.is_dir() {
        fs::remove_dir_all(&partial).map_err(at(&partial))?;
    }
    fs::create_dir_all(&partial).map_err(at(&partial))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(web.join(name), partial.join(name)).map_err(at(&partial))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .arg("--loglevel=error")
        .current_dir(&partial);
    succeed(&mut npm)?;
    fs::rename(&partial, folder).map_err(at(folder))
}

/// Makes `link` a symbolic link to `target`. Removes any folder, file or other link at the path
/// `link` first.
fn link(target: &Path, link: &Path) -> Result<(), Stop> {
    match fs::symlink_metadata(link) {
        Ok(_) if fs::read_link(link).is_ok_and(|present| present == target) => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(link).map_err(at(link))?,
        Ok(_) => fs::remove_file(link).map_err(at(link))?,
        Err(err) if err.kind() == io::ErrorKind::NotFound => {}
        Err(err) => return Err(at(link)(err)),
    }
    symlink(target, link).map_err(at(link))
}
