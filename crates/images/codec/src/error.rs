//! Failures of decoding and encoding.

use std::fmt;

/// Kind of an [`Error`]: who is at fault, and why. Callers choose their response by the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Fault of the file: the bytes are not a complete picture of the stated format.
    Undecodable,
    /// Fault of the file: a valid picture of a kind that this build does not read or write.
    Unsupported,
    /// Fault of the file: more pixels, scans or profile bytes than the limits or the format allow.
    TooLarge,
    /// Fault of the host: memory could not be allocated.
    OutOfMemory,
    /// Bug of this program: a caller broke an encoder's contract, or a library failed unexpectedly.
    Failed,
}

/// Failure to decode or encode a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Kind of the failure, by which callers choose their response.
    pub kind: ErrorKind,
    /// Description for the log: the codec and its message.
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
