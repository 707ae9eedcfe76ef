//! How a pool fails to start, and how a job fails.

use std::{fmt, io};

/// Why a pool did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A limit makes no sense.
    Limits,
    /// The host refuses what a cell needs.
    Host,
    /// The worker did not come up.
    Worker,
}

/// A pool that did not start.
#[derive(Debug)]
pub struct Error {
    /// For the caller's branch.
    pub kind: ErrorKind,
    /// What was tried.
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

    /// A job that had to work and did not.
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

/// How a job failed, which also says who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Media: the original cannot be decoded.
    Undecodable,
    /// Media: the original uses what the worker does not handle.
    Unsupported,
    /// Media: the job needed more memory or a longer answer than its limits allow.
    TooLarge,
    /// Worker: the job took more CPU or wall time than it may.
    TimedOut,
    /// Worker: its encoder failed on this picture with these settings. The worker itself is sound.
    Unencodable,
    /// Worker: it died, was killed for a denied call, or says that it failed.
    Crashed,
    /// Worker: its reply does not fit the job.
    Lied,
    /// Host: no cell was free in time, or the host refused what a cell needs.
    Host,
    /// Caller: it no longer wanted the answer; see [`Pool::run_unless`](crate::Pool::run_unless).
    Cancelled,
}

/// A job without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// For the caller's branch.
    pub kind: FailureKind,
    /// For the log; printable and bounded where a worker wrote it.
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
            FailureKind::Lied => "lied",
            FailureKind::Host => "host",
            FailureKind::Cancelled => "cancelled",
        };
        write!(f, "cell: {kind}: {}", self.detail)
    }
}

impl std::error::Error for Failure {}
