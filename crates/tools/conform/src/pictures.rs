//! `conform pictures`: converts every picture of Debian's wallpaper packages to every format at
//! every encoder effort, and measures the quality of the results.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use toolkit::build::Build;
use toolkit::command::{succeed, timed};
use toolkit::debian;
use toolkit::stop::Stop;

/// Debian packages whose pictures are converted.
const PACKAGES: [&str; 3] = [
    "gnome-backgrounds",
    "mate-backgrounds",
    "plasma-workspace-wallpapers",
];
/// Folders in which the packages in [`PACKAGES`] install their pictures.
const FOLDERS: [&str; 2] = ["/usr/share/backgrounds", "/usr/share/wallpapers"];
/// Crates and their integration tests that convert the pictures. The first measures the quality,
/// the second sends requests to a server.
const TESTS: [(&str, &str); 2] = [
    ("worker", "floor::no_lossy_answer_is_below_the_floor"),
    ("pelton", "efforts::every_picture_is_made_at_every_effort"),
];

/// Converts the pictures in the folders that `arguments` names. If it names none, converts those of
/// [`PACKAGES`].
///
/// # Errors
/// When the packages cannot be installed, or a conversion fails.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let folders = if arguments.is_empty() {
        debian::ensure(&PACKAGES)?;
        FOLDERS.map(OsString::from).to_vec()
    } else {
        arguments.to_vec()
    };
    let mut build = Build::open(root)?;
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
