//! Errors of transcoding.

use std::fmt;

/// Kind of an error, which states the party at fault. The caller chooses its reaction by the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The original file is damaged, or has another format than expected.
    Undecodable,
    /// The original file is valid, but uses an unsupported feature.
    Unsupported,
    /// The output is too large for the memory that receives it.
    TooLarge,
    /// A bug or failure of this program.
    Failed,
}

/// Failure of a transcode. If any output was written, it is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Error {
    /// Kind of the error, which states the party at fault.
    pub kind: ErrorKind,
    /// Description for the log.
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
