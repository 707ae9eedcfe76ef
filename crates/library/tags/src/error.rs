use std::{error, fmt, io};

/// Branches a caller takes when a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No format that is known here.
    Unknown,
    /// The file ends before what it needs.
    Truncated,
    /// The file contradicts itself or its format.
    Malformed,
    /// The file takes more than a limit allows.
    Limit,
    /// The source could not be read: the host's fault, and not to be remembered.
    Io,
}

/// Why a file was not understood.
#[derive(Debug)]
pub struct Error {
    /// What a caller acts on.
    pub kind: ErrorKind,
    /// For the report.
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

    /// Whether the rest of the file can still be made use of: everything but failing reads and spent limits.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.kind, ErrorKind::Truncated | ErrorKind::Malformed)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
