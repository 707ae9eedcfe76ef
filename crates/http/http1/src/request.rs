//! A request whose head was parsed and validated.

use crate::fields::{Known, KnownFields};
use crate::{Connection, Fields, Values};

/// Validated request; borrows the bytes it was parsed from.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method of the request line.
    pub method: Method,
    /// Name of the method, which distinguishes the methods that are [`Method::Other`].
    pub method_name: &'static str,
    /// Target of the request line.
    pub target: Target<'a>,
    /// Protocol version that the client sent.
    pub version: Version,
    /// Host and port as the client wrote them, in an absolute target or else in the Host field.
    /// Always present in HTTP/1.1.
    pub host: Option<&'a str>,
    /// True if the client allows another request on this connection.
    pub keep_alive: bool,
    /// True if the client waits for `100 Continue` before it sends the body. To refuse the body,
    /// respond at once and close.
    pub expect_continue: bool,
    /// Framing of the body.
    pub framing: Framing,
    /// Length of the head: the body, or the next request, starts at this offset.
    pub head_bytes: usize,
    pub(crate) known: KnownFields<'a>,
    /// The field lines, each with its CRLF.
    pub(crate) section: &'a [u8],
}

/// Method of a request. `Other` stands for all known methods that this crate treats alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `OPTIONS`
    Options,
    /// Any other known method: `PATCH`, or a method of RFC 9110 other than CONNECT.
    /// [`Request::method_name`] is its name. A server that does not offer this method responds with
    /// 405 and `Allow`.
    Other,
}

/// Target of a request, in origin form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The path: starts with `/`, or is `*` for an OPTIONS of the whole server. Still
    /// percent-encoded.
    pub path: &'a str,
    /// The query after the first `?`, which may be empty.
    pub query: Option<&'a str>,
}

/// Version of the protocol. A higher minor version counts as 1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// Framing of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    None,
    /// Body with this number of bytes.
    Length(u64),
    /// Chunks, then trailers.
    Chunked,
}

impl<'a> Request<'a> {
    /// Returns every field line in order: its name as written, its value without surrounding white
    /// space.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.section)
    }

    /// Returns the values of all lines with this name, in order. Scans all field lines.
    #[must_use]
    pub fn values(&self, name: &'static str) -> Values<'a> {
        Values::find(self.section, name)
    }

    /// Returns the values of Accept.
    #[must_use]
    pub fn accept(&self) -> Values<'a> {
        self.known.values(Known::Accept)
    }

    /// Returns the values of If-Match.
    #[must_use]
    pub fn if_match(&self) -> Values<'a> {
        self.known.values(Known::IfMatch)
    }

    /// Returns the values of If-None-Match.
    #[must_use]
    pub fn if_none_match(&self) -> Values<'a> {
        self.known.values(Known::IfNoneMatch)
    }

    /// Returns the values of If-Modified-Since.
    #[must_use]
    pub fn if_modified_since(&self) -> Values<'a> {
        self.known.values(Known::IfModifiedSince)
    }

    /// Returns the values of If-Unmodified-Since.
    #[must_use]
    pub fn if_unmodified_since(&self) -> Values<'a> {
        self.known.values(Known::IfUnmodifiedSince)
    }

    /// Returns the values of Range.
    #[must_use]
    pub fn range(&self) -> Values<'a> {
        self.known.values(Known::Range)
    }

    /// Returns the values of If-Range.
    #[must_use]
    pub fn if_range(&self) -> Values<'a> {
        self.known.values(Known::IfRange)
    }

    /// Returns the Connection field for the response to this request, assuming that the server is
    /// willing to keep the connection. The field is `close` if the client does not allow another
    /// request.
    #[must_use]
    pub fn connection(&self) -> Connection {
        match (self.keep_alive, self.version) {
            (false, _) => Connection::Close,
            (true, Version::Http10) => Connection::KeepAlive,
            (true, Version::Http11) => Connection::Persistent,
        }
    }
}
