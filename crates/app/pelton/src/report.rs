//! Lines that people read, and exit codes.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::config::Note;
use crate::log;

/// Done, and nothing to complain about.
pub(crate) const EXIT_OK: u8 = 0;
/// Done, and something was found.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// Not done: the command line or the configuration does not say what to do.
pub(crate) const EXIT_USAGE: u8 = 2;
/// Not done: the machine refused.
pub(crate) const EXIT_HOST: u8 = 3;

/// Who is at fault, which alone picks the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorKind {
    /// Nobody yet: the command was carried out, and this is what it found.
    Finding,
    /// The command line or the configuration.
    Usage,
    /// The machine.
    Host,
}

/// Why a command was not carried out, or what it found, as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    kind: ErrorKind,
    what: String,
    cause: Option<String>,
    hint: Option<String>,
}

impl Error {
    /// What a check found.
    pub(crate) fn finding(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Finding, what.into())
    }

    /// The user's: `what` goes from the outside in, without a full stop.
    pub(crate) fn usage(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, what.into())
    }

    /// The machine's.
    pub(crate) fn host(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Host, what.into())
    }

    fn new(kind: ErrorKind, what: String) -> Error {
        Error {
            kind,
            what,
            cause: None,
            hint: None,
        }
    }

    /// Adds what lies beneath.
    pub(crate) fn because(mut self, cause: impl Into<String>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    /// Adds what helps.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    fn code(&self) -> u8 {
        match self.kind {
            ErrorKind::Finding => EXIT_FINDINGS,
            ErrorKind::Usage => EXIT_USAGE,
            ErrorKind::Host => EXIT_HOST,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pelton: {}", self.what)?;
        if let Some(cause) = &self.cause {
            write!(f, "\ncause:  {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint:   {hint}")?;
        }
        Ok(())
    }
}

/// Writes every error to stderr and gives the exit code of the gravest.
///
/// # Panics
/// Without an error.
pub(crate) fn fail(errors: &[Error]) -> ExitCode {
    for error in errors {
        log::say(error);
    }
    let gravest = errors.iter().map(Error::code).max();
    ExitCode::from(gravest.expect("a failure comes with an error"))
}

/// Writes to stderr what the operator should know although nothing is wrong with it.
pub(crate) fn notes<'a>(notes: impl IntoIterator<Item = &'a Note>) {
    for note in notes {
        log::say(&format_args!("note:   {note}"));
    }
    log::finish();
}

/// Writes a line of a command's report to stderr, at the reader's pace. A reader that has gone is no error.
pub(crate) fn line(text: impl fmt::Display) {
    drop(writeln!(io::stderr(), "{text}"));
}
