//! Error that ends a command, as the person at the terminal reads it.

use std::fmt;
use std::io;
use std::path::Path;

/// Exit code for findings: a build, a test or a rule failed, so the code is at fault.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// Exit code for a wrong command line.
pub(crate) const EXIT_USAGE: u8 = 2;
/// Exit code for a fault of the host, such as a missing program.
pub(crate) const EXIT_HOST: u8 = 3;

/// Error that no caller handles: it ends the command with its exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: u8,
    line: String,
    hint: Option<String>,
}

impl Stop {
    pub(crate) fn findings(line: impl Into<String>) -> Stop {
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

    /// Blames the host: the command that failed was not a build or a test.
    pub(crate) fn on_host(mut self) -> Stop {
        self.exit = EXIT_HOST;
        self
    }

    /// Adds a hint, one thing that the user can try.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Stop {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "xtask: {}", self.line)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint:  {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns a function that turns an I/O error on `path` into a [`Stop`] that names the path.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Stop {
    move |err| Stop::host(format!("{}: {err}", path.display()))
}
