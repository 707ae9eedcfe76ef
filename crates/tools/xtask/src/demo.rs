//! Demo library: generated music, and photographs from a Debian package that is unpacked but not
//! installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolkit::command::{succeed, timed};
use toolkit::debian;
use toolkit::stop::{Stop, at};

const PACKAGE: &str = "mate-backgrounds";
/// Number of tracks of the generated music.
const TRACKS: u32 = 300;
const SEED: u64 = 1;
/// Folder in the package that contains the pictures, in its subfolders abstract, desktop and
/// nature.
const PICTURES: &str = "usr/share/backgrounds/mate";

/// Returns the folder `demo` of the checkout, after creating it if it is missing. The folder gets
/// that name only when it is complete.
///
/// # Errors
/// [`Stop::host`] when the package cannot be downloaded or the folder cannot be written.
pub(crate) fn prepare(root: &Path) -> Result<PathBuf, Stop> {
    let demo = root.join("demo");
    if demo.is_dir() {
        return Ok(demo);
    }
    let partial = root.join("demo.partial");
    timed("demo library", || {
        unpack(&partial)?;
        fs::rename(partial.join(PICTURES), &demo).map_err(at(&demo))?;
        fs::remove_dir_all(&partial).map_err(at(&partial))
    })?;
    Ok(demo)
}

/// Returns the folder of [`prepare`], with generated music in its folder `music`.
///
/// # Errors
/// As for [`prepare`], and when the music cannot be generated.
pub(crate) fn with_music(root: &Path) -> Result<PathBuf, Stop> {
    let demo = prepare(root)?;
    mediagen::generated(TRACKS, SEED, demo.join("music"))?;
    Ok(demo)
}

fn unpack(partial: &Path) -> Result<(), Stop> {
    if partial.is_dir() {
        fs::remove_dir_all(partial).map_err(at(partial))?;
    }
    fs::create_dir(partial).map_err(at(partial))?;
    let download = || {
        let mut apt_get = Command::new("apt-get");
        apt_get
            .args(["--quiet", "download", PACKAGE])
            .current_dir(partial)
            .stdout(io::stderr());
        succeed(&mut apt_get).map_err(Stop::on_host)
    };
    if download().is_err() {
        eprintln!("xtask: cannot download {PACKAGE}, trying again with new package lists");
        debian::apt_get(&[&["update"]])?;
        download()?;
    }
    let files = fs::read_dir(partial).map_err(at(partial))?;
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    let archive = paths.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let archive = archive.ok_or_else(|| {
        Stop::host(format!(
            "apt-get download left no package in {}",
            partial.display()
        ))
    })?;
    let mut extract = Command::new("dpkg");
    extract.arg("-x").arg(archive).arg(partial);
    succeed(&mut extract).map_err(Stop::on_host)
}
