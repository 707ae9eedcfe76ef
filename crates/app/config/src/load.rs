//! Loading of the configuration: reads the files that contribute to it, and resolves it.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use report::Error;

use super::components::USERS;
use super::resolve::{Inputs, Resolved, resolve, variable};
use super::settings::Key;
use super::source::{Assignment, Source};
use super::value::Raw;

/// Path of the configuration file that is read if the user names no other file. This file need not
/// exist.
const FILE_DEFAULT: &str = "pelton.toml";
/// Name of the setting whose value `pelton user add` prompts for when it adds the first user.
pub const REQUIRE_LOGIN: &str = "require_login";
/// Maximum size of a configuration file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Resolves the configuration from `flags`, the environment and the configuration file. That file
/// is `file` if given, otherwise the one that `PELTON_CONFIG` names, otherwise the default file if
/// it exists. If none of these inputs sets `require_login`, its value is read from the file whose
/// path [`answer_file`] returns, if that file exists.
pub fn load(
    file: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    flags: Vec<Assignment>,
) -> Result<Resolved, Vec<Error>> {
    let named = file.or_else(|| variable(&variables, "PELTON_CONFIG").map(PathBuf::from));
    let file = match named {
        Some(path) => Some(read(&path).map_err(|err| vec![unreadable(&path, &err)])?),
        None => match read(Path::new(FILE_DEFAULT)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => None,
            Err(err) => return Err(vec![unreadable(Path::new(FILE_DEFAULT), &err)]),
            Ok(file) => Some(file),
        },
    };
    let mut resolved = resolve(Inputs {
        file,
        variables,
        flags,
    })?;
    match answered(&resolved.config.data) {
        Ok(Some(response)) => resolved.complete(response).map_err(|err| vec![err])?,
        Ok(None) => {}
        Err(err) => return Err(vec![err]),
    }
    Ok(resolved)
}

/// Returns the path of the file with the value of `require_login` that was chosen when the first
/// user was added.
pub fn answer_file(data: &Path) -> PathBuf {
    data.join(USERS).join(REQUIRE_LOGIN)
}

/// Returns the value of `require_login` in [`answer_file`], if there is such a file.
fn answered(data: &Path) -> Result<Option<Assignment>, Error> {
    let path = answer_file(data);
    match read(&path) {
        Ok((path, text)) => Ok(Some(Assignment {
            key: Key::named(REQUIRE_LOGIN).expect("the table of settings contains this key"),
            raw: Raw::Word(text.trim().into()),
            source: Source::File {
                path: path.into(),
                line: 1,
                name: REQUIRE_LOGIN.to_owned(),
            },
        })),
        Err(err) if matches!(err.kind(), NotFound | NotADirectory) => Ok(None),
        Err(err) => Err(Error::host(format!(
            "cannot read {}: {err}",
            path.display()
        ))),
    }
}

fn read(path: &Path) -> io::Result<(PathBuf, String)> {
    let mut text = String::new();
    let read_bytes = File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if FILE_BYTES_MAX < read_bytes as u64 {
        return Err(io::Error::other("the file is larger than 1 MiB"));
    }
    Ok((path.to_owned(), text))
}

fn unreadable(path: &Path, err: &io::Error) -> Error {
    Error::usage(format!(
        "cannot read configuration {}: {err}",
        path.display()
    ))
}
