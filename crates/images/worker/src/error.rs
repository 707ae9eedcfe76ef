//! Why a job has no answer.

use std::fmt;

use sandbox_protocol::Status;

/// What the server does about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The media's fault: the original cannot be decoded.
    Undecodable,
    /// The media's fault: the original is sound, but of a sort that is not handled.
    Unsupported,
    /// The media's fault: the original or the answer needs more than the job allows.
    TooLarge,
    /// Ours: an encoder failed on a sound picture.
    Unencodable,
    /// Ours: a malformed plan, or a decoder that failed where it must not.
    Failed,
}

impl ErrorKind {
    /// How a reply says it.
    #[must_use]
    pub const fn status(self) -> Status {
        match self {
            ErrorKind::Undecodable => Status::Undecodable,
            ErrorKind::Unsupported => Status::Unsupported,
            ErrorKind::TooLarge => Status::TooLarge,
            ErrorKind::Unencodable => Status::Unencodable,
            ErrorKind::Failed => Status::Failed,
        }
    }
}

/// A job without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What to do about it.
    pub kind: ErrorKind,
    /// For the log: which step, and what it said.
    pub detail: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Error {
        Error {
            kind,
            detail: detail.into(),
        }
    }

    /// An error of `codec` while it decoded.
    pub(crate) fn decode(error: &codec::Error) -> Error {
        let kind = match error.kind {
            codec::ErrorKind::Undecodable => ErrorKind::Undecodable,
            codec::ErrorKind::Unsupported => ErrorKind::Unsupported,
            // A job's memory is its limit, not the host's.
            codec::ErrorKind::TooLarge | codec::ErrorKind::OutOfMemory => ErrorKind::TooLarge,
            codec::ErrorKind::Failed => ErrorKind::Failed,
        };
        Error::new(kind, format!("decode: {}", error.detail))
    }

    /// An error of `codec` while it encoded: whatever the encoder says, the original has been decoded.
    pub(crate) fn encode(error: &codec::Error) -> Error {
        let kind = match error.kind {
            codec::ErrorKind::TooLarge | codec::ErrorKind::OutOfMemory => ErrorKind::TooLarge,
            codec::ErrorKind::Undecodable
            | codec::ErrorKind::Unsupported
            | codec::ErrorKind::Failed => ErrorKind::Unencodable,
        };
        Error::new(kind, format!("encode: {}", error.detail))
    }

    /// An error of `audio`.
    pub(crate) fn audio(error: &audio::Error) -> Error {
        let kind = match error.kind {
            audio::ErrorKind::Undecodable => ErrorKind::Undecodable,
            audio::ErrorKind::Unsupported => ErrorKind::Unsupported,
            audio::ErrorKind::TooLarge => ErrorKind::TooLarge,
            audio::ErrorKind::Failed => ErrorKind::Failed,
        };
        Error::new(kind, error.detail.clone())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Error {}
