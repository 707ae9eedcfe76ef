//! Every picture of Debian's packages of wallpapers, in every format, at every effort, and the quality of each.

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
/// Crates whose integration tests take pictures, and these tests: the first measures quality, the second asks a server.
const TESTS: [(&str, &str); 2] = [
    ("worker", "floor::no_lossy_answer_is_below_the_floor"),
    ("pelton", "efforts::every_picture_is_made_at_every_effort"),
];

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
    let folders = folders.join(":".as_ref());
    for (package, test) in TESTS {
        let mut cargo = build.cargo("test");
        cargo.args(["--package", package, "--test", "it", "--", "--exact"]);
        cargo
            .args(["--nocapture", test])
            .env("CONFORM_PICTURES", &folders);
        timed(&format!("conform pictures: {package}"), || {
            succeed(&mut cargo)
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
