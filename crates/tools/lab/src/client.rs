//! HTTP client that inspects single responses: one request per connection. It is not meant to
//! produce load.

#[cfg(test)]
mod tests;

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use toolkit::stop::Stop;

/// Maximum time to wait for bytes of a response: longer than the server lets any conversion take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(150);

/// Number of bytes that are read at once.
const READ_BYTES: usize = 1 << 16;

/// Complete HTTP response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Returns the value of a response field, if it is present.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(field, _)| field.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }
}

/// Requests `target` with `accept` as the `Accept` field.
///
/// # Errors
/// Returns an error if the server sends no response, or one that is incomplete or not HTTP/1.1.
pub(crate) fn get(server: SocketAddr, target: &str, accept: &str) -> Result<Response, Stop> {
    ask(server, target, &[format!("Accept: {accept}")])
}

/// Requests `target` with `fields`, each in the form `Name: value`.
///
/// # Errors
/// Returns an error if the server sends no response, or one that is incomplete or not HTTP/1.1.
pub(crate) fn ask(server: SocketAddr, target: &str, fields: &[String]) -> Result<Response, Stop> {
    let failed = |err: io::Error| Stop::findings(format!("GET {target}: {err}"));
    let bytes = exchange(server, target, fields).map_err(failed)?;
    parse(&bytes).ok_or_else(|| Stop::findings(format!("GET {target}: incomplete response")))
}

fn exchange(server: SocketAddr, target: &str, fields: &[String]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let head =
        format!("GET {target} HTTP/1.1\r\nHost: {server}\r\n{fields}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    // Not every server closes the connection when it is asked to, so the length decides.
    while missing_bytes(&bytes) != Some(0) {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
    Ok(bytes)
}

/// Returns the number of bytes that a response lacks at its end. `None` if the head is incomplete
/// or states no length.
fn missing_bytes(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = str::from_utf8(&bytes[..end]).ok()?;
    let response = Response {
        status: head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?,
        head: head.to_owned(),
        body: Vec::new(),
    };
    let length: usize = match response.status {
        304 => 0,
        _ => response.field("content-length")?.parse().ok()?,
    };
    Some(length.saturating_sub(bytes.len() - end - 4))
}

/// Parses a response. Returns `None` if the head is incomplete, or if the body does not have the
/// length that the head states.
fn parse(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (line, head) = str::from_utf8(&bytes[..end]).ok()?.split_once("\r\n")?;
    let response = Response {
        status: line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?,
        head: head.to_owned(),
        body: bytes[end + 4..].to_vec(),
    };
    let length: usize = match response.status {
        // A 304 has no body, and it may omit the length of the representation.
        304 => 0,
        _ => response.field("content-length")?.parse().ok()?,
    };
    (length == response.body.len()).then_some(response)
}
