//! Results of commands, on stdout.

use std::io::{self, Write as _};

use crate::{EXIT_OK, Error};

/// Writes a result to stdout. A reader that closes the pipe early, as `head` does, is not an error.
pub fn print(
    write: impl FnOnce(&mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>,
) -> Result<u8, Vec<Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(err) if err.kind() != io::ErrorKind::BrokenPipe => {
            Err(vec![Error::host(format!("cannot write to stdout: {err}"))])
        }
        _ => Ok(EXIT_OK),
    }
}
