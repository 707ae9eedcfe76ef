//! Why the store cannot be started or go on.

use std::fmt;

/// Who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// This host: an address, a disk, a permission.
    Host,
    /// The files: damaged, or written by something this version does not read.
    Data,
}

/// A start that failed; `Display` names the object and the cause.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    text: String,
}

impl Error {
    pub(crate) fn host(text: String) -> Error {
        Error {
            kind: ErrorKind::Host,
            text,
        }
    }

    pub(crate) fn data(text: String) -> Error {
        Error {
            kind: ErrorKind::Data,
            text,
        }
    }

    /// Who is at fault.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
