//! Errors that prevent the store from starting or from continuing.

/// Cause of an error: the host or the store's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The host: for example, an address is in use, a disk failed or a permission is missing.
    Host,
    /// The store's files: they are damaged, or were written by a version that this version cannot
    /// read.
    Data,
}

/// Error that prevented the server from starting, or that ended its run. `Display` names the object
/// and the cause.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
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

    /// Returns the cause of the error: the host or the store's files.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
