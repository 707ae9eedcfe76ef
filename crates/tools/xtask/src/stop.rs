//! Why a command ended early, as the person at the terminal reads it.

use std::fmt;
use std::io;
use std::path::Path;

/// Something is wrong with the code: a build, a test or a rule failed.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// The command was typed wrongly.
pub(crate) const EXIT_USAGE: u8 = 2;
/// The machine lacks something.
pub(crate) const EXIT_HOST: u8 = 3;

/// An error nobody handles: it ends the command with its exit code.
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

    /// Puts the blame on the host: what failed was not a build or a test.
    pub(crate) fn on_host(mut self) -> Stop {
        self.exit = EXIT_HOST;
        self
    }

    /// Adds one thing to try.
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

/// Names the path that an operation on it failed at.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Stop {
    move |err| Stop::host(format!("{}: {err}", path.display()))
}
