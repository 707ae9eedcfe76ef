//! Second stage of the command line: resolves the typed flags to the configuration of a command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use config::{Assignment, Key, Raw, Resolved, Source};
use image_plan::Target;
use report::Error;

use super::settings::SettingFlags;

/// Resolves the configuration of a command from its flags, the environment and the configuration
/// file. The flags or the environment may name that file; otherwise the default file is used.
pub(crate) fn resolve(
    flags: SettingFlags,
    variables: Vec<(OsString, OsString)>,
) -> Result<Resolved, Vec<Error>> {
    config::load(flags.config, variables, flags.assignments)
}

/// Adds the positional argument ROOT, if any, to the flags as the value of `--root`.
pub(crate) fn with_root(flags: SettingFlags, root: Option<PathBuf>) -> SettingFlags {
    with(flags, "root", "ROOT", root)
}

/// Adds the value of `--backend`, if any, to the flags as the value of `--cell-backend`.
pub(crate) fn with_backend(flags: SettingFlags, backend: Option<String>) -> SettingFlags {
    with(flags, "cell.backend", "--backend", backend)
}

/// Adds the value of `--store`, if any, to the flags as the value of `--store-url`.
pub(crate) fn with_store(flags: SettingFlags, url: Option<String>) -> SettingFlags {
    with(flags, "store.url", "--store", url)
}

/// Adds the value of `--key`, if any, to the flags as the value of `--images-signature-keys`.
pub(crate) fn with_key(flags: SettingFlags, key: Option<String>) -> SettingFlags {
    with(flags, "images.signature_keys", "--key", key)
}

/// Adds `word`, if any, to the flags as the value of the setting `name`. `source` is the name of
/// the flag or of the positional argument that contained `word`.
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
