use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why a scan did not produce an index.
#[derive(Debug, Error)]
pub enum ScanError {
    /// An operation of the host failed: the root of the library cannot be read, or the index cannot
    /// be read or written.
    #[error("{doing} {}", .path.display())]
    Host {
        /// Text about the operation that failed, without the path, such as "cannot read index".
        doing: &'static str,
        /// Path for which the operation failed.
        path: PathBuf,
        /// Error that the host returned.
        source: io::Error,
    },
    /// The library has more files than [`crate::Limits::files_max`].
    #[error("the library has more files than the limit allows")]
    TooManyFiles,
    /// [`crate::Progress::cancel`] cancelled the scan.
    #[error("cancelled")]
    Cancelled,
}

impl ScanError {
    pub(crate) fn host(
        doing: &'static str,
        path: &Path,
        source: impl Into<io::Error>,
    ) -> ScanError {
        ScanError::Host {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}
