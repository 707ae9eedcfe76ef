//! Errors that prevent the store from starting or from continuing.

use std::fmt;

/// The party that caused an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The host: an address, a disk or a permission.
    Host,
    /// The store's files: they are damaged, or were written by a version that this version cannot
    /// read.
    Data,
}

/// Error that prevented the server from starting, or that ended its run. `Display` names the object
/// and the cause.
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

    /// Returns the party that caused the error.
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
