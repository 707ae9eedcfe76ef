//! Failures of jobs.

use sandbox_protocol::Status;

/// Kind of an [`Error`], grouped by who is at fault. The server chooses its response by the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Fault of the file: the original cannot be decoded.
    Undecodable,
    /// Fault of the file: the original is valid, but of an unsupported kind.
    Unsupported,
    /// Fault of the file: the original or the output exceeds the limits of the job.
    TooLarge,
    /// Bug of this program: an encoder failed on a valid picture.
    Unencodable,
    /// Bug of this program: the plan is malformed, or a decoder failed unexpectedly.
    Failed,
}

impl ErrorKind {
    /// Returns the status that reports this kind of error in a reply.
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

/// Failure of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Error {
    /// Kind of the failure, by which the server chooses its response.
    pub kind: ErrorKind,
    /// Description for the log: the step and the library's message.
    pub detail: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Error {
        Error {
            kind,
            detail: detail.into(),
        }
    }

    /// Converts an error that `codec` returned while decoding.
    pub(crate) fn decode(error: &codec::Error) -> Error {
        let kind = match error.kind {
            codec::ErrorKind::Undecodable => ErrorKind::Undecodable,
            codec::ErrorKind::Unsupported => ErrorKind::Unsupported,
            // The memory limit is set per job, so lack of memory is not the host's fault.
            codec::ErrorKind::TooLarge | codec::ErrorKind::OutOfMemory => ErrorKind::TooLarge,
            codec::ErrorKind::Failed => ErrorKind::Failed,
        };
        Error::new(kind, format!("decode: {}", error.detail))
    }

    /// Converts an error that `codec` returned while encoding. The error cannot mean that the
    /// original is undecodable, because decoding has succeeded.
    pub(crate) fn encode(error: &codec::Error) -> Error {
        let kind = match error.kind {
            codec::ErrorKind::TooLarge | codec::ErrorKind::OutOfMemory => ErrorKind::TooLarge,
            codec::ErrorKind::Undecodable
            | codec::ErrorKind::Unsupported
            | codec::ErrorKind::Failed => ErrorKind::Unencodable,
        };
        Error::new(kind, format!("encode: {}", error.detail))
    }

    /// Converts an error that `audio` returned.
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
