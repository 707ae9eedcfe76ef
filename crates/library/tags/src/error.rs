use std::io;

/// Kind of an error, by which a caller decides how to proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The format is unknown.
    Unknown,
    /// The file ends too early.
    Truncated,
    /// The file contradicts itself or its format.
    Malformed,
    /// The file exceeds a limit.
    Limit,
    /// The source could not be read: a host error, which must not be remembered as a property of
    /// the file.
    Io,
}

/// Reason why a file could not be parsed.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Description of the error, for reports.
    pub detail: &'static str,
    source: Option<io::Error>,
}

impl Error {
    pub(crate) const fn new(kind: ErrorKind, detail: &'static str) -> Error {
        Error {
            kind,
            detail,
            source: None,
        }
    }

    pub(crate) const fn malformed(detail: &'static str) -> Error {
        Error::new(ErrorKind::Malformed, detail)
    }

    pub(crate) const fn truncated(detail: &'static str) -> Error {
        Error::new(ErrorKind::Truncated, detail)
    }

    pub(crate) const fn limit(detail: &'static str) -> Error {
        Error::new(ErrorKind::Limit, detail)
    }

    pub(crate) const fn io(source: io::Error) -> Error {
        Error {
            kind: ErrorKind::Io,
            detail: "reading failed",
            source: Some(source),
        }
    }

    /// Returns whether the rest of the file is still usable. This is true if a part of the file is
    /// truncated or malformed, but not after I/O errors, exceeded limits or an unknown format.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.kind, ErrorKind::Truncated | ErrorKind::Malformed)
    }
}
