//! HTTP/1.1 for servers: parses request heads and bodies, and writes response heads. The crate has
//! no sockets, no clock, no cache policy and no routes.
//!
//! Principal types: [`Request`], which [`parse`] returns and which borrows from the read buffer;
//! and [`Reject`], the error for a malformed request. [`conditional::evaluate`],
//! [`range::evaluate`] and [`accept::fold`] choose the response. [`body::BodyDecoder`] skips a
//! request's body. [`Head`] writes the head of a response; a [`Template`] copies a prepared head.
//!
//! ```text
//! bytes ─► parse ─► Request ─┬─► accept ─► conditional ─► range ─► Template ─► bytes
//!            │               └─► BodyDecoder (an unwanted body, up to the next request)
//!            └────► Reject ────► Head ─► bytes, then close
//! ```
//!
//! ```
//! use http1::{Limits, Template, accept, conditional, date, parse};
//!
//! let head = b"GET /a.jpg HTTP/1.1\r\nHost: h\r\nAccept: image/webp\r\n\
//!     If-None-Match: \"b\"\r\n\r\n";
//! let request = parse(head, &Limits::default()).expect("sound").expect("whole");
//! assert_eq!(accept::fold(request.accept(), &["image/avif", "image/webp"]), [false, true]);
//!
//! let current = conditional::Validators {
//!     etag: "\"a\"",
//!     last_modified_unix_s: None,
//!     last_modified_is_strong: false,
//! };
//! assert_eq!(conditional::evaluate(&request, &current), conditional::Verdict::Proceed);
//!
//! let template = Template::new(200, |head| head.field("etag", current.etag).content_length(4));
//! let mut out = Vec::new();
//! template.write(&mut out, &date::format(0), request.connection());
//! assert!(out.starts_with(b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"));
//! ```
//!
//! A request borrows all its data. From `parse` to the bytes of the response, no type of this crate
//! allocates memory; only the caller's output buffer may grow.
//!
//! Units and limits: lengths are bytes, times are Unix seconds. [`Limits`] bounds the head, its
//! fields, its target and the body that is skipped. Where the RFCs leave a choice, the stricter
//! interpretation applies; DISPUTED in a comment marks input that a lenient server would accept.
//! Errors: every error is the client's fault and closes the connection, because the start of the
//! next request is unknown after a framing error. "Not enough bytes yet" is `Ok(None)`. A rejected
//! input stays rejected, with the same reason, whatever bytes follow. Threads: plain values, owned
//! by one core. Sources: RFC 9110 (semantics), RFC 9112 (HTTP/1.1), RFC 3986 (authority).

#![forbid(unsafe_code)]

mod authority;
mod class;
mod fields;
mod framing;
mod limits;
mod line;
mod parse;
mod reject;
mod request;

pub mod accept;
pub mod body;
pub mod conditional;
pub mod date;
pub mod head;
pub mod range;

#[cfg(test)]
mod tests;

pub use fields::{Fields, Values};
pub use head::{Connection, Head, Template};
pub use limits::{FIELDS_BOUND, Limits};
pub use parse::parse;
pub use reject::Reject;
pub use request::{Framing, Method, Request, Target, Version};

/// Tests the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
