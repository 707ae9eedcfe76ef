use std::path::{Path, PathBuf};
use std::{error, fmt, io};

/// Reason why a scan made no index.
#[derive(Debug)]
pub enum ScanError {
    /// The host refused an operation: the library's root cannot be read, or the index cannot be
    /// read or written.
    Host {
        /// Operation that failed, as a verb phrase before the path: "read index".
        doing: &'static str,
        /// Path on which the operation failed.
        path: PathBuf,
        /// Error that the host returned.
        source: io::Error,
    },
    /// There are more files than [`crate::Limits::files_max`].
    TooManyFiles,
    /// The scan was cancelled by [`crate::Progress::cancel`].
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

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScanError::Host { doing, path, .. } => write!(f, "cannot {doing} {}", path.display()),
            ScanError::TooManyFiles => {
                f.write_str("the library has more files than the limit allows")
            }
            ScanError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl error::Error for ScanError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            ScanError::Host { source, .. } => Some(source),
            ScanError::TooManyFiles | ScanError::Cancelled => None,
        }
    }
}
