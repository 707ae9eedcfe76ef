//! The oracle h11, a Python library, in a process that parses one case after the other.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::http1::reading::Reading;

const PROGRAM: &str = include_str!("h11.py");

/// Running Python interpreter with h11. It exits when its stdin is closed.
pub(crate) struct H11 {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl H11 {
    /// Starts the interpreter.
    ///
    /// # Errors
    /// If `python` cannot be started. If h11 is not installed, the error comes from the first call
    /// of [`H11::read`].
    pub(crate) fn start(python: &Path) -> io::Result<H11> {
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        Ok(H11 {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    /// Returns h11's interpretation of `bytes`.
    ///
    /// # Errors
    /// If the interpreter exits, or prints anything other than a [`Reading`].
    pub(crate) fn read(&mut self, bytes: &[u8]) -> io::Result<Reading> {
        let length = u32::try_from(bytes.len()).expect("cases are small");
        self.stdin.write_all(&length.to_le_bytes())?;
        self.stdin.write_all(bytes)?;
        self.stdin.flush()?;
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Stops the interpreter, and waits until it has exited.
    ///
    /// # Errors
    /// If the interpreter exits with an error.
    pub(crate) fn stop(self) -> io::Result<()> {
        let H11 {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        let status = child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the Python interpreter failed: {status}"
        )))
    }
}
