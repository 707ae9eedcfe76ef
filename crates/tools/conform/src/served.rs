//! The shipped server, which conformance suites start and test.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use toolkit::command::unstartable;
use toolkit::stop::Stop;

/// A running server, killed when dropped.
pub(crate) struct Served {
    child: Child,
    /// Port for cleartext connections.
    pub(crate) http: u16,
    /// Port for TLS connections; 0 if the server has no TLS.
    pub(crate) https: u16,
}

impl Served {
    /// Starts `command`, which must listen in cleartext, and over TLS if it has `--tls-listen`.
    /// Returns once the server serves.
    ///
    /// # Errors
    /// When the server cannot be started, or exits before it serves. Both are faults of the host.
    pub(crate) fn start(command: &mut Command) -> Result<Served, Stop> {
        let is_tls = command.get_args().any(|word| word == "--tls-listen");
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|err| unstartable(command, &err))?;
        let stderr = child.stderr.take().expect("stderr is piped");
        let mut served = Served {
            child,
            http: 0,
            https: 0,
        };
        let mut lines = BufReader::new(stderr).lines();
        while served.http == 0 || (is_tls && served.https == 0) {
            let line = match lines.next() {
                Some(line) => {
                    line.map_err(|err| Stop::host(format!("cannot read the server's log: {err}")))?
                }
                None => return Err(Stop::host("the server exited before it was ready")),
            };
            if let Some(port) = port(&line, "https://") {
                served.https = port;
            } else if let Some(port) = port(&line, "http://") {
                served.http = port;
            }
        }
        // The log must still be read, because a full pipe would block the server.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(served)
    }

    /// Returns the value of the server's metric `name`, summed over all labels.
    ///
    /// # Errors
    /// When the server does not respond.
    pub(crate) fn metric(&self, name: &str) -> Result<u64, Stop> {
        let failed = |err: io::Error| Stop::findings(format!("the server does not respond: {err}"));
        let mut stream = TcpStream::connect(("127.0.0.1", self.http)).map_err(failed)?;
        stream
            .write_all(b"GET /-/metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .map_err(failed)?;
        let mut response = String::new();
        stream.read_to_string(&mut response).map_err(failed)?;
        Ok(sum(&response, name))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// Sums the values of the lines `name{…} value` and `name value`.
fn sum(metrics: &str, name: &str) -> u64 {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labelled) => labelled.split_once('}')?.1,
            None => rest,
        };
        value.trim().parse::<u64>().ok()
    });
    values.sum()
}

/// Returns the port in a log line that has an address with `scheme`.
fn port(line: &str, scheme: &str) -> Option<u16> {
    let (_, address) = line.split_once(scheme)?;
    let (_, port) = address.split_once(':')?;
    port.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{port, sum};

    #[test]
    fn what_was_counted_is_summed_over_its_labels() {
        let metrics = "a_total{wait=\"head\"} 3\na_total{wait=\"body\"} 4\na_totals 9\nb_total 5\n";
        assert_eq!(sum(metrics, "a_total"), 7);
        assert_eq!(sum(metrics, "b_total"), 5);
    }

    #[test]
    fn ports_are_read_from_the_log() {
        let line = r#"{"message":"serving library at https://127.0.0.1:4443/","cores":2}"#;
        assert_eq!(port(line, "https://"), Some(4443));
        assert_eq!(port(line, "http://"), None);
    }
}
