//! Origins of values, and notes to the operator about them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::settings::Key;
use super::value::Raw;

/// Origin of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Default, because the setting was not given.
    Default,
    /// Key in a configuration file.
    File {
        /// Path as the user wrote it.
        path: Arc<PathBuf>,
        /// Line number, from 1.
        line: usize,
        /// Name of the key in the configuration file.
        name: String,
    },
    /// Environment variable of this name.
    Variable(String),
    /// Command-line flag or positional argument of this name.
    Flag(String),
}

impl Source {
    /// Returns the beginning of a message about the value: the origin of the value and, if the
    /// origin is a file, the name of the key in that file.
    pub fn with_name(&self) -> String {
        match self {
            Source::File { name, .. } => format!("{self}: {name}"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => write!(f, "default"),
            Source::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Source::Variable(name) | Source::Flag(name) => write!(f, "{name}"),
        }
    }
}

/// Unparsed value that is to be assigned to a setting.
#[derive(Clone)]
pub struct Assignment {
    /// Setting to which the value is assigned.
    pub key: &'static Key,
    /// Value as the user wrote it.
    pub raw: Raw,
    /// Origin of the value.
    pub source: Source,
}

/// Kind of a note about a setting of WebP Server Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The setting was applied, but works differently in Pelton, as the note describes.
    Taken,
    /// The setting was ignored without loss, because it has no effect in either program.
    NoEffect,
    /// The setting requests an unsupported feature, which `pelton check` counts as a finding.
    Unsupported,
}

/// Note to the operator about a configuration that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Kind of the note: the effect of the setting.
    pub kind: NoteKind,
    /// Message, which begins with the origin of the value.
    pub text: String,
}

impl Note {
    /// Returns whether the setting requests a feature that the server does not have.
    pub fn is_finding(&self) -> bool {
        self.kind == NoteKind::Unsupported
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}
