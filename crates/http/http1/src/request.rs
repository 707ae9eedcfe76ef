//! A request whose head was parsed and judged.

use crate::fields::{Known, KnownFields};
use crate::{Connection, Fields, Values};

/// A sound request; borrows the bytes it was parsed from.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What is asked for.
    pub method: Method,
    /// The same by name, which tells those apart that have no meaning here.
    pub method_name: &'static str,
    /// What it is asked of.
    pub target: Target<'a>,
    /// The client's version.
    pub version: Version,
    /// Host and port as the client wrote them: of an absolute target, else of the Host field. Always there in
    /// HTTP/1.1.
    pub host: Option<&'a str>,
    /// Whether the client allows another request on this connection.
    pub keep_alive: bool,
    /// The client waits for `100 Continue` before it sends the body. Whoever does not want the body answers at once
    /// and closes.
    pub expect_continue: bool,
    /// How long the body is.
    pub framing: Framing,
    /// Bytes of the head: the body, or the next request, begins here.
    pub head_bytes: usize,
    pub(crate) known: KnownFields<'a>,
    /// The field lines, each with its CRLF.
    pub(crate) section: &'a [u8],
}

/// A method: those with a meaning here, and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `OPTIONS`
    Options,
    /// A method of RFC 9110 or `PATCH`, known and not offered: 405 with `Allow`.
    Other,
}

/// The request's target in origin form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Begins with `/`, or is `*` for an OPTIONS that means the whole server. Still percent-encoded.
    pub path: &'a str,
    /// What follows the first `?`, which may be nothing.
    pub query: Option<&'a str>,
}

/// A version of the protocol. A later minor version counts as 1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// How the request's body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// So many bytes.
    Length(u64),
    /// Chunks, then trailers.
    Chunked,
}

impl<'a> Request<'a> {
    /// Every field line in order: its name as written, its value without the white space around it.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.section)
    }

    /// The values of all lines with this name, in order. Walks the whole section.
    #[must_use]
    pub fn values(&self, name: &'static str) -> Values<'a> {
        Values::find(self.section, name)
    }

    /// Accept.
    #[must_use]
    pub fn accept(&self) -> Values<'a> {
        self.known.values(Known::Accept)
    }

    /// If-Match.
    #[must_use]
    pub fn if_match(&self) -> Values<'a> {
        self.known.values(Known::IfMatch)
    }

    /// If-None-Match.
    #[must_use]
    pub fn if_none_match(&self) -> Values<'a> {
        self.known.values(Known::IfNoneMatch)
    }

    /// If-Modified-Since.
    #[must_use]
    pub fn if_modified_since(&self) -> Values<'a> {
        self.known.values(Known::IfModifiedSince)
    }

    /// If-Unmodified-Since.
    #[must_use]
    pub fn if_unmodified_since(&self) -> Values<'a> {
        self.known.values(Known::IfUnmodifiedSince)
    }

    /// Range.
    #[must_use]
    pub fn range(&self) -> Values<'a> {
        self.known.values(Known::Range)
    }

    /// If-Range.
    #[must_use]
    pub fn if_range(&self) -> Values<'a> {
        self.known.values(Known::IfRange)
    }

    /// What an answer says when the server, too, is willing to go on.
    #[must_use]
    pub fn connection(&self) -> Connection {
        match (self.keep_alive, self.version) {
            (false, _) => Connection::Close,
            (true, Version::Http10) => Connection::KeepAlive,
            (true, Version::Http11) => Connection::Persistent,
        }
    }
}
