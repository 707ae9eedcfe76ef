use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why a scan made no index.
#[derive(Debug, Error)]
pub enum ScanError {
    /// The host refused an operation: the library's root cannot be read, or the index cannot be
    /// read or written.
    #[error("cannot {doing} {}", .path.display())]
    Host {
        /// Operation that failed, as a verb phrase before the path: "read index".
        doing: &'static str,
        /// Path on which the operation failed.
        path: PathBuf,
        /// Error that the host returned.
        source: io::Error,
    },
    /// There are more files than [`crate::Limits::files_max`].
    #[error("the library has more files than the limit allows")]
    TooManyFiles,
    /// The scan was cancelled by [`crate::Progress::cancel`].
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
