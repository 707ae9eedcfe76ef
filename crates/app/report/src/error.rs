//! Messages on stderr, and exit codes.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::log;

/// Exit code of success without findings.
pub const EXIT_OK: u8 = 0;
/// Exit code of success with findings.
pub const EXIT_FINDINGS: u8 = 1;
/// Exit code if the command line or the configuration is wrong.
pub const EXIT_USAGE: u8 = 2;
/// Exit code if the machine refused an operation.
pub const EXIT_HOST: u8 = 3;

/// Kind of an error, by the party at fault. The kind alone selects the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorKind {
    /// Problem that a command found; the command itself was carried out.
    Finding,
    /// Fault of the command line or the configuration.
    Usage,
    /// Fault of the machine.
    Host,
}

/// Reason why a command was not carried out, or one of its findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    cause: Option<String>,
    hint: Option<String>,
}

impl Error {
    /// Creates an error for a problem that a command has found, such as a broken file. The command
    /// itself was carried out.
    pub fn finding(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Finding, what.into())
    }

    /// Creates an error for a fault of the command line or the configuration. `what` is the
    /// message: first the setting or argument, then the file or value in it, then the cause,
    /// without a full stop.
    pub fn usage(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, what.into())
    }

    /// Creates an error for a fault of the machine. `what` is written as for [`Error::usage`].
    pub fn host(what: impl Into<String>) -> Error {
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

    /// Adds the cause of the error, which is printed on a line of its own.
    pub fn because(mut self, cause: impl Into<String>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    /// Adds a hint, such as a command that helps.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
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

/// Writes every error to stderr, and returns the highest exit code among them.
///
/// # Panics
/// If there are no errors.
pub fn fail(errors: &[Error]) -> ExitCode {
    for error in errors {
        log::say(error);
    }
    let gravest = errors.iter().map(Error::code).max();
    ExitCode::from(gravest.expect("a failure has at least one error"))
}

/// Writes notes about a valid configuration to stderr, and waits until they are written.
pub fn notes(notes: impl IntoIterator<Item = impl fmt::Display>) {
    for note in notes {
        log::say(&format_args!("note:   {note}"));
    }
    log::finish();
}

/// Writes a line of a command's report to stderr, and waits until it is written. A closed stderr is
/// not an error.
pub fn line(text: impl fmt::Display) {
    drop(writeln!(io::stderr(), "{text}"));
}
