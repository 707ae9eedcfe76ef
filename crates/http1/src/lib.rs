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
