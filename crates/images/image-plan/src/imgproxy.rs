//! URLs in the grammar of imgproxy, as a second spelling of recipes. The grammar is that of
//! imgproxy's documentation ("Processing an image", version 4).
//!
//! ```text
//! / signature / options … / plain / source @extension
//! / signature / options … / base64url of the source .extension
//!
//! option = name ":" argument ":" argument …
//! ```
//!
//! The first segment without a colon ends the options. All options are read before they are
//! interpreted, so their order has no meaning: the last option of a name counts, and presets stand
//! where they are named. This module reads no signature: the caller splits the path, and verifies
//! the signature of [`restored_path`].

mod base64url;
mod options;
mod recipe;
mod source;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use thiserror::Error;

use crate::{Format, Recipe};
use options::Options;

pub use base64url::{decode_base64url, encode_base64url};

/// Character between the name of an option and its arguments.
const SEPARATOR: char = ':';
/// Name of the preset that applies to every URL.
const DEFAULT_PRESET: &str = "default";
/// Maximum number of presets that one URL applies, those within other presets included. A preset
/// that contains another one twice doubles the work, so that a few presets could keep a core busy
/// for hours.
const PRESETS_MAX: usize = 64;

/// Settings of the operator that decide the meaning of an imgproxy URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImgproxyRules {
    /// Options by the names of their presets. The options have the form that they have in a URL.
    pub presets: BTreeMap<String, String>,
    /// True if the first segment of a path lists presets, and no path has options.
    pub only_presets: bool,
    /// Text that precedes each source that does not begin with it.
    pub base_url: String,
}

/// Parsed imgproxy URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImgproxyRequest {
    /// Path of the file in the library, percent-encoded as in a target.
    pub path: String,
    /// Normalized parameters of the requested picture.
    pub recipe: Recipe,
    /// Use of the unchanged file.
    pub delivery: Delivery,
    /// Unix time in seconds at which the URL becomes void, if ever.
    pub expires_unix_s: Option<u64>,
    /// Name under which a browser saves the response, and the suggestion to save it.
    pub disposition: Disposition,
}

/// Use of the unchanged file as the response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The picture is converted by the recipe.
    #[default]
    Converted,
    /// The file is sent as it is.
    Original,
    /// Files of these formats are sent as they are, unless another format is requested. Other files
    /// are converted.
    OriginalOf(Vec<Format>),
}

/// Name under which a browser saves a response, and the suggestion to save it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disposition {
    /// Name without an extension, if the URL states one.
    pub filename: Option<String>,
    /// True if browsers should save the response instead of showing it.
    pub is_attachment: bool,
}

/// Kind of a fault of an imgproxy URL, by which callers choose the status of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImgproxyErrorKind {
    /// The path does not have the form of an imgproxy URL.
    Path,
    /// An option is unknown, invalid or not supported.
    Option,
    /// The source is not a file of the library.
    Source,
}

/// Reason why an imgproxy URL is refused; always the client's fault. The text is short, printable
/// ASCII, and may be shown to the client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct ImgproxyError {
    /// Kind of the fault.
    pub kind: ImgproxyErrorKind,
    /// Description of the fault, which names the option at fault.
    pub problem: String,
}

impl ImgproxyError {
    fn path(problem: &str) -> ImgproxyError {
        ImgproxyError {
            kind: ImgproxyErrorKind::Path,
            problem: problem.to_owned(),
        }
    }

    fn source(problem: &str) -> ImgproxyError {
        ImgproxyError {
            kind: ImgproxyErrorKind::Source,
            problem: problem.to_owned(),
        }
    }

    fn option(name: &str, problem: &str) -> ImgproxyError {
        /// Maximum number of characters of a name that an error message repeats.
        const NAME_CHARS_MAX: usize = 40;
        let printable = |char: char| if char.is_ascii_graphic() { char } else { '?' };
        let name: String = name.chars().take(NAME_CHARS_MAX).map(printable).collect();
        ImgproxyError {
            kind: ImgproxyErrorKind::Option,
            problem: format!("{name}: {problem}"),
        }
    }
}

/// Presets that one URL has applied so far.
#[derive(Default)]
struct AppliedPresets {
    /// Names of the presets whose options are being applied; each contains the next one.
    open: Vec<String>,
    count: usize,
}

impl AppliedPresets {
    /// Notes that the options of the preset `name` are applied next.
    fn begin(&mut self, name: &str) -> Result<(), ImgproxyError> {
        if self.open.iter().any(|open| open == name) {
            let problem = "a preset that contains itself is not supported";
            return Err(ImgproxyError::option("preset", problem));
        }
        if self.count == PRESETS_MAX {
            let problem = format!("a URL may apply at most {PRESETS_MAX} presets");
            return Err(ImgproxyError::option("preset", &problem));
        }
        self.count += 1;
        self.open.push(name.to_owned());
        Ok(())
    }
}

impl ImgproxyRules {
    /// Parses the part of a path after the signature, without its leading slash. `path` has the
    /// form that [`restored_path`] returns.
    ///
    /// # Errors
    /// [`ImgproxyError`].
    pub fn parse(&self, path: &str) -> Result<ImgproxyRequest, ImgproxyError> {
        let mut options = Options::default();
        let mut applied = AppliedPresets::default();
        if self.presets.contains_key(DEFAULT_PRESET) {
            self.apply_presets(&mut options, &[DEFAULT_PRESET], &mut applied)?;
        }
        let rest = match self.only_presets {
            true => {
                let (names, rest) = path.split_once('/').unwrap_or((path, ""));
                let names: Vec<&str> = names.split(SEPARATOR).collect();
                self.apply_presets(&mut options, &names, &mut applied)?;
                rest
            }
            false => self.apply_options(&mut options, path, &mut applied)?,
        };
        let (source, extension) = source::split(rest)?;
        let path = source::library_path(&self.with_base_url(source))?;
        if let Some(extension) = extension.filter(|_| !options.raw) {
            options.apply("format", &[extension])?;
        }
        Ok(ImgproxyRequest {
            path,
            recipe: options.recipe()?,
            delivery: options.delivery(),
            expires_unix_s: options.expires_unix_s,
            disposition: options.disposition,
        })
    }

    /// Applies the options at the beginning of `path`, and returns the rest of the path.
    fn apply_options<'p>(
        &self,
        options: &mut Options,
        mut path: &'p str,
        applied: &mut AppliedPresets,
    ) -> Result<&'p str, ImgproxyError> {
        loop {
            let (segment, rest) = path.split_once('/').unwrap_or((path, ""));
            let mut arguments = segment.split(SEPARATOR);
            let name = arguments.next().unwrap_or_default();
            let arguments: Vec<&str> = arguments.collect();
            match name {
                _ if arguments.is_empty() => return Ok(path),
                "preset" | "pr" => self.apply_presets(options, &arguments, applied)?,
                _ => options.apply(name, &arguments)?,
            }
            path = rest;
        }
    }

    /// Applies the presets of these names.
    fn apply_presets(
        &self,
        options: &mut Options,
        names: &[&str],
        applied: &mut AppliedPresets,
    ) -> Result<(), ImgproxyError> {
        for &name in names {
            let Some(preset) = self.presets.get(name) else {
                return Err(ImgproxyError::option("preset", "there is no such preset"));
            };
            applied.begin(name)?;
            self.apply_options(options, preset, applied)?;
            applied.open.pop();
        }
        Ok(())
    }

    fn with_base_url(&self, source: String) -> String {
        match source.starts_with(&self.base_url) {
            true => source,
            false => format!("{}{source}", self.base_url),
        }
    }

    /// Checks the presets.
    ///
    /// # Errors
    /// Description of the first fault, with the name of the preset.
    pub fn check_presets(&self) -> Result<(), String> {
        for (name, preset) in &self.presets {
            let mut options = Options::default();
            let mut applied = AppliedPresets::default();
            let begun = applied.begin(name);
            let rest = begun.and_then(|()| self.apply_options(&mut options, preset, &mut applied));
            match rest {
                Ok("") => {}
                Ok(rest) => {
                    return Err(format!(
                        "{name}: {rest:?} is not an option of an imgproxy URL"
                    ));
                }
                Err(err) => return Err(format!("{name}: {err}")),
            }
        }
        Ok(())
    }
}

/// Returns the part of a path after the signature in the form that the signature covers. Proxies
/// change some URLs: they encode the colons of options, and merge the slashes after the scheme of a
/// plain source.
#[must_use]
pub fn restored_path(path: &str) -> Cow<'_, str> {
    const PLAIN: &str = "plain/";
    let at = match path.starts_with(PLAIN) {
        true => Some(0),
        false => path.find("/plain/").map(|at| at + 1),
    };
    let (options, plain) = path.split_at(at.unwrap_or(path.len()));
    let source = plain.strip_prefix(PLAIN).unwrap_or_default();
    let scheme = source
        .split_once(":/")
        .filter(|(_, rest)| !rest.starts_with('/'));
    if scheme.is_none() && !options.contains("%3A") {
        return Cow::Borrowed(path);
    }
    let options = options.replace("%3A", ":");
    Cow::Owned(match scheme {
        None => format!("{options}{plain}"),
        Some(("local", rest)) => format!("{options}{PLAIN}local:///{rest}"),
        Some((scheme, rest)) => format!("{options}{PLAIN}{scheme}://{rest}"),
    })
}
