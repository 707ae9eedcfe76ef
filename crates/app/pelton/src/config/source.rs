//! Where values come from, and what there is to say about them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::settings::Key;
use super::value::Raw;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nowhere: the default holds.
    Default,
    /// In a file.
    File {
        /// As the user wrote it.
        path: Arc<PathBuf>,
        /// From 1.
        line: usize,
        /// The key as that file calls it.
        name: String,
    },
    /// In the variable of this name.
    Variable(String),
    /// On the command line, by this flag or in this place.
    Flag(String),
}

impl Source {
    /// The place with the key as it is called there, to begin a line about its value.
    pub(crate) fn with_name(&self) -> String {
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

/// A value on its way to its field.
#[derive(Clone)]
pub(crate) struct Assignment {
    /// Which setting.
    pub(crate) key: &'static Key,
    /// The value, not checked.
    pub(crate) raw: Raw,
    /// Who says so.
    pub(crate) source: Source,
}

/// What became of a setting of WebP Server Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// It was taken, with the difference that the note tells.
    Taken,
    /// It does nothing, there or here, and nothing is lost.
    NoEffect,
    /// It asked for what Pelton does not do, which `pelton check` counts as a finding.
    Unsupported,
}

/// Something that the operator should know about the configuration, although it is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// How much it matters.
    pub(crate) kind: NoteKind,
    /// The line, from the place on.
    pub(crate) text: String,
}

impl Note {
    /// Whether the server would not do what was asked of it.
    pub(crate) fn is_finding(&self) -> bool {
        self.kind == NoteKind::Unsupported
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}
