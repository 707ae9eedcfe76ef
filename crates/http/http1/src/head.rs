//! Heads of responses, written into the caller's buffer.

use crate::class::is_token;
use crate::date::DATE_BYTES;
use std::io::Write as _;

/// Interim response to `Expect: 100-continue`. Never sent to HTTP/1.0 clients (RFC 9110 §15.2).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Connection field of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No Connection field: HTTP/1.1 connections persist by default.
    Persistent,
    /// `keep-alive`: HTTP/1.0 connections persist only if both sides send it.
    KeepAlive,
    /// `close`
    Close,
}

impl Connection {
    /// Returns the end of a head: the Connection field, if any, and the empty line.
    fn end(self) -> &'static [u8] {
        match self {
            Connection::Persistent => b"\r\n",
            Connection::KeepAlive => b"connection: keep-alive\r\n\r\n",
            Connection::Close => b"connection: close\r\n\r\n",
        }
    }
}

/// Builder of a response's head. It writes the status line first, then each field in the order of
/// the calls.
#[derive(Debug)]
#[must_use = "a head is complete only after `finish`"]
pub struct Head<'o> {
    out: &'o mut Vec<u8>,
    status: u16,
}

impl<'o> Head<'o> {
    /// Writes the status line. RFC 9112 §4: a status without a [`phrase`] gets an empty reason
    /// phrase.
    ///
    /// # Panics
    /// `status` does not have three digits: a bug of the caller.
    pub fn begin(out: &'o mut Vec<u8>, status: u16) -> Head<'o> {
        assert!((100..1000).contains(&status), "status {status}");
        out.extend_from_slice(b"HTTP/1.1 ");
        number(out, u64::from(status));
        out.push(b' ');
        out.extend_from_slice(phrase(status).unwrap_or("").as_bytes());
        out.extend_from_slice(b"\r\n");
        Head { out, status }
    }

    /// Adds a field. RFC 9110 §5.5: a CR, LF or NUL in the value would end the value early, so each
    /// becomes a space.
    ///
    /// # Panics
    /// `name` is not a token: a bug of the caller.
    pub fn field(self, name: &str, value: impl AsRef<[u8]>) -> Head<'o> {
        assert!(
            !name.is_empty() && name.bytes().all(is_token),
            "field name {name:?}"
        );
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        let value_start = self.out.len();
        self.out.extend_from_slice(value.as_ref());
        for byte in &mut self.out[value_start..] {
            if matches!(byte, b'\r' | b'\n' | b'\0') {
                *byte = b' ';
            }
        }
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Adds Date, which RFC 9110 §6.6.1 requires on every 2xx, 3xx and 4xx.
    pub fn date(self, date: &[u8; DATE_BYTES]) -> Head<'o> {
        self.field("date", date)
    }

    /// Adds Content-Length. For HEAD and 304, pass the length that a 200 to GET would have.
    ///
    /// # Panics
    /// The status of this head is one with which a response must not have a Content-Length (RFC
    /// 9110 §8.6): a bug of the caller.
    pub fn content_length(self, length_bytes: u64) -> Head<'o> {
        assert!(
            200 <= self.status && self.status != 204,
            "no Content-Length in {}",
            self.status
        );
        self.out.extend_from_slice(b"content-length: ");
        number(self.out, length_bytes);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Adds Content-Range for the bytes `start..end` of `length_bytes`.
    ///
    /// # Panics
    /// The range is empty or not within the length: a bug of the caller.
    pub fn content_range(self, start: u64, end: u64, length_bytes: u64) -> Head<'o> {
        assert!(
            start < end && end <= length_bytes,
            "range {start}..{end} of {length_bytes}"
        );
        self.out.extend_from_slice(b"content-range: bytes ");
        number(self.out, start);
        self.out.push(b'-');
        number(self.out, end - 1);
        self.out.push(b'/');
        number(self.out, length_bytes);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Adds the Content-Range of a 416.
    pub fn content_range_unsatisfied(self, length_bytes: u64) -> Head<'o> {
        self.out.extend_from_slice(b"content-range: bytes */");
        number(self.out, length_bytes);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Finishes the head with the Connection field, if any, and the empty line.
    pub fn finish(self, connection: Connection) {
        self.out.extend_from_slice(connection.end());
    }

    /// Leaves the head unfinished; [`Template::write`] appends the Connection field and the empty
    /// line.
    fn leave_open(self) {}
}

/// Head prepared once and sent often: only Date and Connection differ between responses.
///
/// ```text
/// HTTP/1.1 200 OK␍␊date: ·29 bytes·␍␊ fields … ␍␊ [connection: …␍␊] ␍␊
/// └────────────── prepared, copied ───────────────┘└ per response ─┘
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    prepared: Box<[u8]>,
    date_start: usize,
}

impl Template {
    /// Prepares a head. `add` adds all its fields except Date and Connection.
    pub fn new(status: u16, add: impl for<'o> FnOnce(Head<'o>) -> Head<'o>) -> Template {
        let mut prepared = Vec::new();
        let head = Head::begin(&mut prepared, status);
        let date_start = head.out.len() + "date: ".len();
        add(head.date(&[b'0'; DATE_BYTES])).leave_open();
        Template {
            prepared: prepared.into_boxed_slice(),
            date_start,
        }
    }

    /// Appends the whole head for one response.
    pub fn write(&self, out: &mut Vec<u8>, date: &[u8; DATE_BYTES], connection: Connection) {
        let end = connection.end();
        out.reserve(self.prepared.len() + end.len());
        let date_start = out.len() + self.date_start;
        out.extend_from_slice(&self.prepared);
        out[date_start..date_start + DATE_BYTES].copy_from_slice(date);
        out.extend_from_slice(end);
    }

    /// Returns the number of bytes that the template holds in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.prepared.len()
    }
}

fn number(out: &mut Vec<u8>, number: u64) {
    write!(out, "{number}").expect("writing to a Vec cannot fail");
}

/// Returns the reason phrase of `status`, or `None` for a status that this server does not use.
#[must_use]
pub fn phrase(status: u16) -> Option<&'static str> {
    PHRASES
        .iter()
        .find(|(known, _)| *known == status)
        .map(|(_, phrase)| *phrase)
}

const PHRASES: [(u16, &str); 37] = [
    (100, "Continue"),
    (200, "OK"),
    (201, "Created"),
    (202, "Accepted"),
    (204, "No Content"),
    (206, "Partial Content"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (303, "See Other"),
    (304, "Not Modified"),
    (307, "Temporary Redirect"),
    (308, "Permanent Redirect"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (408, "Request Timeout"),
    (409, "Conflict"),
    (410, "Gone"),
    (412, "Precondition Failed"),
    (413, "Content Too Large"),
    (414, "URI Too Long"),
    (415, "Unsupported Media Type"),
    (416, "Range Not Satisfiable"),
    (417, "Expectation Failed"),
    (421, "Misdirected Request"),
    (422, "Unprocessable Content"),
    (429, "Too Many Requests"),
    (431, "Request Header Fields Too Large"),
    (500, "Internal Server Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
    (505, "HTTP Version Not Supported"),
];
