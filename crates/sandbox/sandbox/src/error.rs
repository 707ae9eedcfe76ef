use std::{fmt, io};

/// Party at fault when a pool does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A limit is out of range.
    Limits,
    /// The host refuses a resource that a cell needs.
    Host,
    /// The worker or the program cannot run, or did not become ready.
    Worker,
}

/// Failure to start a pool.
#[derive(Debug)]
pub struct Error {
    /// Party at fault, for the caller to branch on.
    pub kind: ErrorKind,
    /// Action that failed.
    pub action: String,
    source: Option<io::Error>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, action: impl Into<String>) -> Error {
        Error {
            kind,
            action: action.into(),
            source: None,
        }
    }

    /// Returns the error for a pool that cannot start, because a job that was part of the start
    /// failed.
    pub(crate) fn failed(action: &str, failure: &Failure) -> Error {
        let kind = match failure.kind {
            FailureKind::Host => ErrorKind::Host,
            _ => ErrorKind::Worker,
        };
        Error::new(kind, format!("{action}: {failure}"))
    }

    pub(crate) fn host(action: impl Into<String>, source: impl Into<io::Error>) -> Error {
        Error {
            kind: ErrorKind::Host,
            action: action.into(),
            source: Some(source.into()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cell: {}", self.action)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// Kind of a job's failure, which also says who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The original cannot be decoded; the original is at fault.
    Undecodable,
    /// The original uses a feature that the worker does not support; the original is at fault.
    Unsupported,
    /// The job needed more memory or a longer output than its limits allow; the original is at
    /// fault.
    TooLarge,
    /// The job exceeded its limit of CPU or wall time; the worker is at fault.
    TimedOut,
    /// The encoder failed on this picture with these settings. The worker is at fault, but can run
    /// further jobs.
    Unencodable,
    /// The cell died, was killed for a denied system call, or reported its own failure; the worker
    /// is at fault.
    Crashed,
    /// The reply contradicts the job (a protocol violation); the worker is at fault.
    ProtocolViolation,
    /// No cell was free in time, or the host refused a resource that a cell needs; the host is at
    /// fault.
    Host,
    /// The caller cancelled the job; see [`Pool::run_unless`](crate::Pool::run_unless).
    Cancelled,
}

/// Failure of a job, which therefore has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the failure, for the caller to branch on.
    pub kind: FailureKind,
    /// Message for the log. A message from a worker is first made printable and cut to a maximum
    /// length.
    pub detail: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, detail: impl Into<String>) -> Failure {
        Failure {
            kind,
            detail: detail.into(),
        }
    }

    pub(crate) fn host(action: &str, source: impl Into<io::Error>) -> Failure {
        Failure::new(FailureKind::Host, format!("{action}: {}", source.into()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FailureKind::Undecodable => "undecodable",
            FailureKind::Unsupported => "unsupported",
            FailureKind::TooLarge => "too large",
            FailureKind::TimedOut => "timed out",
            FailureKind::Unencodable => "unencodable",
            FailureKind::Crashed => "crashed",
            FailureKind::ProtocolViolation => "protocol violation",
            FailureKind::Host => "host",
            FailureKind::Cancelled => "cancelled",
        };
        write!(f, "cell: {kind}: {}", self.detail)
    }
}

impl std::error::Error for Failure {}
