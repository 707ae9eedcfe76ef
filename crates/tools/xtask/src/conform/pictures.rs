//! Every picture of Debian's packages of wallpapers, in every format, at every effort.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::command::{succeed, timed};
use crate::debian;
use crate::stop::Stop;

/// Whose pictures are taken.
const PACKAGES: [&str; 3] = [
    "gnome-backgrounds",
    "mate-backgrounds",
    "plasma-workspace-wallpapers",
];
/// Where these packages put them.
const FOLDERS: [&str; 2] = ["/usr/share/backgrounds", "/usr/share/wallpapers"];
/// In `pelton`'s integration tests.
const TEST: &str = "efforts::every_picture_is_made_at_every_effort";

/// Converts them, or the pictures of the folders that `arguments` name.
///
/// # Errors
/// When they cannot be had, or one of them fails.
pub(super) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let folders = if arguments.is_empty() {
        debian::ensure(&PACKAGES)?;
        FOLDERS.map(OsString::from).to_vec()
    } else {
        arguments.to_vec()
    };
    let mut build = crate::ready(root)?;
    build.worker()?;
    let mut cargo = build.cargo("test");
    cargo.args(["--package", "pelton", "--test", "it", "--", "--exact"]);
    cargo
        .args(["--nocapture", TEST])
        .env("CONFORM_PICTURES", folders.join(":".as_ref()));
    timed("conform pictures", || succeed(&mut cargo))?;
    Ok(ExitCode::SUCCESS)
}
