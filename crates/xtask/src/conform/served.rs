//! The server as it is shipped, run for a suite.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::command::unstartable;
use crate::stop::Stop;

/// A running server, killed when dropped.
pub(super) struct Served {
    child: Child,
    /// Its port for cleartext.
    pub(super) http: u16,
    /// Its port for TLS; 0 when it has none.
    pub(super) https: u16,
}

impl Served {
    /// Starts `command`, which listens in cleartext and, if it says so, over TLS; returns when it serves.
    ///
    /// # Errors
    /// When it cannot be started, or ends before it serves: the host's fault.
    pub(super) fn start(command: &mut Command) -> Result<Served, Stop> {
        let is_tls = command.get_args().any(|word| word == "--tls-listen");
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|err| unstartable(command, &err))?;
        let stderr = child.stderr.take().expect("stderr was asked for");
        let mut served = Served {
            child,
            http: 0,
            https: 0,
        };
        let mut lines = BufReader::new(stderr).lines();
        while served.http == 0 || (is_tls && served.https == 0) {
            let line = match lines.next() {
                Some(line) => line.map_err(|err| Stop::host(format!("the server's log: {err}")))?,
                None => return Err(Stop::host("the server ended before it served")),
            };
            if let Some(port) = port(&line, "https://") {
                served.https = port;
            } else if let Some(port) = port(&line, "http://") {
                served.http = port;
            }
        }
        // Whoever stops reading would stop the server once the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(served)
    }

    /// Whether it still runs.
    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// The port in the line that says where `scheme` is served.
fn port(line: &str, scheme: &str) -> Option<u16> {
    let (_, address) = line.split_once(scheme)?;
    let (_, port) = address.split_once(':')?;
    port.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn ports_are_read_from_the_log() {
        let line = r#"{"message":"serving library at https://127.0.0.1:4443/","cores":2}"#;
        assert_eq!(port(line, "https://"), Some(4443));
        assert_eq!(port(line, "http://"), None);
    }
}
