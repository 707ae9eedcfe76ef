//! Second stage of the command line: resolves the typed flags to the configuration of a command.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use config::{Assignment, Inputs, Key, Raw, Resolved, Source, resolve, variable};
use image_plan::Target;
use report::Error;

use super::settings::SettingFlags;
use crate::players;

/// Configuration file that is read if no other is named and it exists.
const FILE_DEFAULT: &str = "pelton.toml";
/// Setting for which `pelton user add` asks.
pub(crate) const REQUIRE_LOGIN: &str = "require_login";
/// Maximum size of a configuration file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Resolves the configuration of a command from its flags, the environment, and the configuration
/// file that either of them names, or else the default file.
pub(crate) fn settle(
    flags: SettingFlags,
    variables: Vec<(OsString, OsString)>,
) -> Result<Resolved, Vec<Error>> {
    let named = flags
        .config
        .or_else(|| variable(&variables, "PELTON_CONFIG").map(PathBuf::from));
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
        flags: flags.assignments,
    })?;
    match answered(&resolved.config.data) {
        Ok(Some(answer)) => resolved.complete(answer).map_err(|err| vec![err])?,
        Ok(None) => {}
        Err(err) => return Err(vec![err]),
    }
    Ok(resolved)
}

/// Returns the path of the file with the value of `require_login` that was chosen when the first
/// user was added.
pub(crate) fn answer_file(data: &Path) -> PathBuf {
    data.join(players::FOLDER).join(REQUIRE_LOGIN)
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
        Err(err) => Err(Error::host(format!("read {}: {err}", path.display()))),
    }
}

/// Adds ROOT to the flags, with the meaning of `--root`.
pub(crate) fn with_root(flags: SettingFlags, root: Option<PathBuf>) -> SettingFlags {
    with(flags, "root", "ROOT", root)
}

/// Adds `--backend` to the flags, with the meaning of `--cell-backend`.
pub(crate) fn with_backend(flags: SettingFlags, backend: Option<String>) -> SettingFlags {
    with(flags, "cell.backend", "--backend", backend)
}

/// Adds `--store` to the flags, with the meaning of `--store-url`.
pub(crate) fn with_store(flags: SettingFlags, url: Option<String>) -> SettingFlags {
    with(flags, "store.url", "--store", url)
}

/// Adds `word`, if any, to the flags as the value of the setting `name`. `source` names its place
/// on the command line.
fn with(
    mut flags: SettingFlags,
    name: &str,
    source: &str,
    word: Option<impl Into<OsString>>,
) -> SettingFlags {
    flags.assignments.extend(word.map(|word| Assignment {
        key: Key::named(name).expect("the table of settings contains this key"),
        raw: Raw::Word(word.into()),
        source: Source::Flag(source.to_owned()),
    }));
    flags
}

/// Returns the format that the extension of OUT selects.
pub(crate) fn target(output: &Path) -> Result<Target, Error> {
    let extension = output.extension().and_then(|extension| extension.to_str());
    extension.and_then(Target::from_extension).ok_or_else(|| {
        Error::usage(format!(
            "OUT: {}: the extension is not an output format",
            output.display()
        ))
        .hint("use a name that ends in .avif, .webp, .jpg or .png")
    })
}

fn read(path: &Path) -> io::Result<(PathBuf, String)> {
    let mut text = String::new();
    let read_bytes = File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if FILE_BYTES_MAX < read_bytes as u64 {
        return Err(io::Error::other("larger than 1 MiB"));
    }
    Ok((path.to_owned(), text))
}

fn unreadable(path: &Path, err: &io::Error) -> Error {
    Error::usage(format!("read configuration {}: {err}", path.display()))
}
