//! Error that ends a command of a tool with an exit code, and is printed for the user at the
//! terminal. `report::Error` is its counterpart in `pelton`, with the same exit codes; the decision
//! on own code gives the reason for two types.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

/// Exit code for findings: a build or a test failed, or the code breaks a rule of the repository,
/// so the code is at fault.
pub const EXIT_FINDINGS: u8 = 1;
/// Exit code for a wrong command line, or a wrong benchmark definition.
pub const EXIT_USAGE: u8 = 2;
/// Exit code for a fault of the host, such as a missing program.
pub const EXIT_HOST: u8 = 3;

/// Error that no caller handles: it ends the command with its exit code.
#[derive(Debug)]
pub struct Stop {
    /// Exit code of the tool.
    pub exit: u8,
    line: String,
    hint: Option<String>,
}

impl Stop {
    /// Returns an error that says what is wrong with the code.
    pub fn findings(line: impl Into<String>) -> Stop {
        Stop::new(EXIT_FINDINGS, line)
    }

    /// Returns an error that says what is wrong with the command line.
    pub fn usage(line: impl Into<String>) -> Stop {
        Stop::new(EXIT_USAGE, line)
    }

    /// Returns an error that says what is wrong with the host.
    pub fn host(line: impl Into<String>) -> Stop {
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

    /// Changes the exit code to [`EXIT_HOST`], for a failed command that was neither a build nor a
    /// test.
    pub fn on_host(mut self) -> Stop {
        self.exit = EXIT_HOST;
        self
    }

    /// Adds a hint, one thing that the user can try.
    pub fn hint(mut self, hint: impl Into<String>) -> Stop {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", program(), self.line)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint:   {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns the name of the running tool, which begins each of its lines on stderr.
pub fn program() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let path = std::env::current_exe().unwrap_or_default();
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    });
    &NAME
}

/// Returns a function that turns an I/O error on `path` into a [`Stop`] that names the path.
pub fn at(path: &Path) -> impl Fn(io::Error) -> Stop {
    move |err| Stop::host(format!("{}: {err}", path.display()))
}
