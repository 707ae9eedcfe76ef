//! Why a picture could not be read or written.

use std::fmt;

/// What a caller does about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The media's fault: the bytes are not a whole picture of the stated format.
    Undecodable,
    /// The media's fault: a valid picture of a sort this build does not read or write.
    Unsupported,
    /// The media's fault: more pixels, scans or profile bytes than the limits or the format allow.
    TooLarge,
    /// The host's fault: memory could not be had.
    OutOfMemory,
    /// Ours: a caller broke an encoder's contract, or a library failed where it must not.
    Failed,
}

/// A picture that could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What to do about it.
    pub kind: ErrorKind,
    /// For the log: which codec, and what it said.
    pub detail: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Error {
        Error {
            kind,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ErrorKind::Undecodable => "undecodable",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::TooLarge => "too large",
            ErrorKind::OutOfMemory => "out of memory",
            ErrorKind::Failed => "failed",
        };
        write!(f, "{kind}: {}", self.detail)
    }
}

impl std::error::Error for Error {}
