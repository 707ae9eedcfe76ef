//! `conform page`: user journeys through the web page in Debian's Chromium, against the shipped
//! server with a small library, which the suite generates. The journeys are TypeScript, in
//! `web/e2e`, and run in Node.
//!
//! Screenshots and Lighthouse's reports are stored in the folder `page-artifacts` of the cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::succeed;
use toolkit::stop::{Stop, at};
use toolkit::{cache, debian, node};

/// Debian's packages with the browser, fonts for it, and the encoder of the library's music.
const PACKAGES: &[&str] = &["chromium", "ffmpeg", "fonts-dejavu-core"];
const BROWSER: &str = "/usr/bin/chromium";

/// Runs the suite, or the journeys named in `arguments`.
///
/// With `--program PELTON`, as in the checks before a merge, the server `PELTON` is used, and
/// nothing is installed: if Node or the browser is missing, the suite is skipped with a message.
///
/// # Errors
/// When a program is missing, or a journey fails.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let (program, arguments) = split(arguments)?;
    let program = match program {
        Some(program) => {
            if let Some(missing) = missing() {
                println!("page: skipped: {missing}");
                return Ok(ExitCode::SUCCESS);
            }
            program
        }
        None => {
            debian::ensure(PACKAGES)?;
            Build::open(root.clone())?.server()?
        }
    };
    let cache = cache::folder()?;
    let web = node::prepared(&root, &cache)?;
    let library = cache.join("page-library");
    fs::create_dir_all(&library).map_err(at(&library))?;
    let artifacts = cache.join("page-artifacts");
    let mut suite = Command::new("node");
    suite
        .args(["--import", "./test/register.mjs", "e2e/main.ts"])
        .arg("--program")
        .arg(&program)
        .arg("--library")
        .arg(&library)
        .arg("--artifacts")
        .arg(&artifacts)
        .args(arguments)
        .current_dir(&web);
    let result = succeed(&mut suite);
    eprintln!("conform: screenshots are in {}", artifacts.display());
    result.map(|()| ExitCode::SUCCESS)
}

/// Returns the program after `--program`, if any, and the other arguments.
fn split(arguments: &[OsString]) -> Result<(Option<PathBuf>, Vec<OsString>), Stop> {
    let Some(flag) = arguments.iter().position(|word| word == "--program") else {
        return Ok((None, arguments.to_vec()));
    };
    let program = arguments
        .get(flag + 1)
        .ok_or_else(|| Stop::usage("--program needs the path of a Pelton server"))?;
    let others = [&arguments[..flag], &arguments[flag + 2..]].concat();
    Ok((Some(PathBuf::from(program)), others))
}

/// Returns the reason why this machine cannot run the suite, or `None` if it can.
fn missing() -> Option<String> {
    let no_browser = || {
        let is_there = Path::new(BROWSER).exists();
        (!is_there).then(|| "Debian's package chromium is not installed".to_owned())
    };
    node::missing().or_else(no_browser)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::split;

    #[test]
    fn the_program_is_taken_out_of_the_arguments() {
        let words = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<_>>();
        let (program, others) =
            split(&words(&["--smoke", "--program", "p", "login"])).expect("valid");
        assert_eq!(program.as_deref(), Some(Path::new("p")));
        assert_eq!(others, words(&["--smoke", "login"]));
        let (program, others) = split(&words(&["login"])).expect("valid");
        assert_eq!((program, others), (None, words(&["login"])));
        assert!(split(&words(&["--program"])).is_err());
    }
}
