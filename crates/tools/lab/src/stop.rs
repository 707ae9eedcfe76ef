//! Errors that stop a benchmark, and their messages on the terminal.

use std::fmt;
use std::io;
use std::path::Path;

/// Exit code for a wrong response of a peer or of Pelton, in which case the measured work is not
/// the intended work.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// Exit code for a wrong command line or definition.
pub(crate) const EXIT_USAGE: u8 = 2;
/// Exit code for a machine that lacks something that the benchmark needs.
pub(crate) const EXIT_HOST: u8 = 3;

/// Error that stops the benchmark with an exit code. No code handles it.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: u8,
    line: String,
    hint: Option<&'static str>,
}

impl Stop {
    pub(crate) fn finding(line: impl Into<String>) -> Stop {
        Stop::new(EXIT_FINDINGS, line)
    }

    pub(crate) fn usage(line: impl Into<String>) -> Stop {
        Stop::new(EXIT_USAGE, line)
    }

    pub(crate) fn host(line: impl Into<String>) -> Stop {
        Stop::new(EXIT_HOST, line)
    }

    fn new(exit: u8, line: impl Into<String>) -> Stop {
        let line = line.into();
        Stop {
            exit,
            line,
            hint: None,
        }
    }

    /// Adds a hint: one command or flag for the user to try.
    pub(crate) fn hint(mut self, hint: &'static str) -> Stop {
        self.hint = Some(hint);
        self
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lab: {}", self.line)?;
        match self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns a function that converts an I/O error, and adds the path of the failed operation.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Stop {
    move |err| Stop::host(format!("{}: {err}", path.display()))
}
