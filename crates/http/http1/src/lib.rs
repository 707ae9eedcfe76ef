//! HTTP/1.1 for servers: bytes in, verdicts and heads out. No sockets, no clock, no cache policy, no routes.
//!
//! Principal types: [`Request`], borrowed from the read buffer by [`parse`], and [`Reject`], which is all that a
//! malformed request gets. Between them and the answer stand [`conditional::evaluate`], [`range::evaluate`],
//! [`accept::fold`] and [`body::Drain`]; the answer's head is written by [`Head`] or copied from a [`Template`].
//!
//! ```text
//! bytes ─► parse ─► Request ─┬─► accept ─► conditional ─► range ─► Template ─► bytes
//!            │               └─► Drain (a body nobody wants, up to the next request)
//!            └────► Reject ────► Head ─► bytes, then close
//! ```
//!
//! ```
//! use http1::{Limits, Template, accept, conditional, date, parse};
//!
//! let head = b"GET /a.jpg HTTP/1.1\r\nHost: h\r\nAccept: image/webp\r\nIf-None-Match: \"b\"\r\n\r\n";
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
//! A request borrows everything and owns nothing: between `parse` and the answer's bytes no type of this crate can
//! allocate, except that the caller's output buffer may grow.
//!
//! Units and limits: lengths are bytes, times are Unix seconds; [`Limits`] bounds the head, its fields, its target and
//! the body that is skipped. Where the RFCs leave a choice, the stricter reading is taken; DISPUTED in a comment marks
//! what a lenient server would let pass.
//! Errors: always the client's fault, and they close the connection: after a framing error nobody knows where the
//! next request begins. "Not enough bytes yet" is `Ok(None)`, and what is refused stays refused, with the same
//! reason, whatever follows it. Threads: plain values, owned by one core.
//! Sources: RFC 9110 (semantics), RFC 9112 (HTTP/1.1), RFC 3986 (authority).

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
