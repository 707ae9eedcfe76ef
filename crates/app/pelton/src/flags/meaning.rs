//! Second stage of the command line: resolves the typed flags to the configuration of a command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use config::{Assignment, Key, Raw, Resolved, Source};
use image_plan::Target;
use report::Error;
use upkeep::convert;

use super::settings::SettingFlags;
use super::typed::Convert;

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

impl Convert {
    /// Returns the pictures to convert, and the changes to them.
    ///
    /// # Errors
    /// When the files, --to and --query do not describe conversions.
    pub(crate) fn job(&self) -> Result<convert::Job, Error> {
        let query = image_plan::parse_query(&self.query)
            .map_err(|err| Error::usage(format!("--query: {err}")))?;
        let conversions = match &self.to {
            Some(extension) => {
                let target = Target::from_extension(extension).ok_or_else(|| {
                    Error::usage(format!("--to: {extension} is not an output format"))
                        .hint("the formats are avif, webp, jpg and png")
                })?;
                let extension = extension.to_ascii_lowercase();
                convert::to_folder(&self.files, target, &extension, self.out.as_deref())?
            }
            None => vec![self.single()?],
        };
        let is_other = |format| conversions.iter().any(|it| it.target != format);
        if query.meta || query.recipe.format.is_some_and(is_other) {
            return Err(Error::usage(
                "--query: meta and format are not allowed, because OUT or --to selects the format",
            ));
        }
        Ok(convert::Job {
            conversions,
            folder: self.out.clone(),
            inputs: match self.to {
                Some(_) => convert::Inputs::Kept,
                None => convert::Inputs::Replaced,
            },
            query,
            with_scores: self.score,
        })
    }

    /// Returns the conversion of IN to OUT.
    fn single(&self) -> Result<convert::Conversion, Error> {
        let [input, output] = self.files.as_slice() else {
            let what = "without --to, exactly two files are needed: the picture and the result";
            return Err(Error::usage(what)
                .hint("pelton convert IN OUT, or pelton convert --to FORMAT IN..."));
        };
        Ok(convert::Conversion {
            input: input.clone(),
            output: output.clone(),
            target: target(output)?,
        })
    }
}

/// Returns the format that the extension of OUT selects.
pub(super) fn target(output: &Path) -> Result<Target, Error> {
    let extension = output.extension().and_then(|extension| extension.to_str());
    extension.and_then(Target::from_extension).ok_or_else(|| {
        Error::usage(format!(
            "OUT: {}: the extension is not an output format",
            output.display()
        ))
        .hint("use a name that ends in .avif, .webp, .jpg or .png")
    })
}
