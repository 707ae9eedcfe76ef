//! Why nothing is made of a file.

use std::fmt;

/// Who is at fault, and what a caller does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file is broken, or is not what it was taken for.
    Undecodable,
    /// The file is sound, but of a sort that is not handled.
    Unsupported,
    /// The answer has no room for what is made.
    TooLarge,
    /// Ours: something failed that must not.
    Failed,
}

/// Nothing was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What to do about it.
    pub kind: ErrorKind,
    /// For the log.
    pub detail: String,
}

impl Error {
    pub(crate) fn undecodable(why: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Undecodable, why)
    }

    pub(crate) fn unsupported(why: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Unsupported, why)
    }

    pub(crate) fn failed(why: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Failed, why)
    }

    pub(crate) fn new(kind: ErrorKind, why: impl fmt::Display) -> Error {
        let detail = why.to_string();
        Error { kind, detail }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Error {}
