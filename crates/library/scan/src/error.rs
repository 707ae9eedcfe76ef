use std::path::{Path, PathBuf};
use std::{error, fmt, io};

/// Why there is no index.
#[derive(Debug)]
pub enum ScanError {
    /// The host refused: the library's root cannot be read, or the index not be written.
    Host {
        /// What was done to which path.
        doing: &'static str,
        /// To which.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// There are more files than [`crate::Limits::files_max`].
    TooManyFiles,
    /// Somebody called [`crate::Progress::cancel`].
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
            ScanError::Host { doing, path, .. } => write!(f, "{doing} {}", path.display()),
            ScanError::TooManyFiles => f.write_str("more files than the limit allows"),
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
