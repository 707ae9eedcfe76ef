//! HTTP/2 for servers: turns a client's bytes into requests, and responses into bytes. The crate
//! has no sockets, no clock and no routes.
//!
//! Principal type: [`Connection`], the state of one connection. [`Connection::receive`] consumes
//! one frame at a time and replies by itself where the protocol demands it: to settings, pings,
//! window updates and errors. It returns requests as [`Event`]s; their heads are in
//! [`Connection::head`]. Responses are written with [`Connection::send_head`] and
//! [`Connection::send_data`], within the client's windows.
//!
//! ```text
//! bytes ─► frame ─► streams, windows, settings ─┬─► Event::Request, head() ─► … ─┐
//!                        │                      ├─► Event::Data ─► … ─► release  │
//!                        │                      └─► Event::Reset                 │
//!                        │                       bytes ◄─ send_head, send_data ◄─┘
//!                        └─► Fault ─► fail ─► GOAWAY, then close
//! ```
//!
//! ```
//! use http2::{Connection, Event, Limits, hpack};
//!
//! let (mut connection, mut out) = (Connection::new(Limits::default()), Vec::new());
//! connection.begin(&mut out);
//! // The preface, empty settings, and HEADERS of stream 1: GET, https, "/", and the authority "h".
//! let input = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
//!     \0\0\x06\x01\x05\0\0\0\x01\x82\x87\x84\x41\x01h";
//! let mut rest = &input[..];
//! while let Some(received) = connection.receive(rest, &mut out).expect("sound") {
//!     rest = &rest[received.bytes..];
//!     if let Some(Event::Request { stream, .. }) = received.event {
//!         assert_eq!(connection.head().path(), b"/");
//!         connection.send_head(stream, false, &mut out, |block, _| {
//!             hpack::status(block, 200);
//!             hpack::field(block, b"content-length", b"2");
//!         });
//!         assert_eq!(connection.room(stream), 16_384);
//!         connection.send_data(stream, 2, true, &mut out);
//!         out.extend_from_slice(b"hi");
//!         connection.sent(stream, &mut out);
//!     }
//! }
//! assert!(rest.is_empty() && out.ends_with(b"hi"));
//! ```
//!
//! Limits: the memory of a connection is bounded. A connection holds one head (at most
//! [`Limits::head_bytes_max`], and at most twice this size in compressed form), at most
//! [`Limits::streams_max`] open streams, a record of 64 ended streams, and 4 KiB of HPACK table.
//! Replies to the client's pings and settings are appended to `out`, so a caller that cannot write
//! `out` must stop reading. The caller must also limit two things, because only the caller knows
//! their cost: the number of streams that a client resets, and the number of bytes that a client
//! sends without making a request or accepting a response.
//!
//! Compression: fields shared by many responses are kept in the client's HPACK table
//! ([`hpack::Encoder`]).
//!
//! Units: bytes. Errors: always the client's fault. A [`Fault`] ends the connection. An error of a
//! stream resets the stream with `RST_STREAM` and is reported as [`Event::Reset`]. Threads: plain
//! values, owned by one core. Sources: RFC 9113 (HTTP/2), RFC 7541 (HPACK). Priorities (RFC 7540)
//! have no effect; only their form is checked.

#![forbid(unsafe_code)]

mod connection;
mod error;
mod frame;
mod head;
mod limits;
mod settings;
mod streams;

pub mod hpack;

#[cfg(test)]
mod tests;

pub use connection::{Connection, Event, Received};
pub use error::{ErrorCode, Fault};
pub use frame::{FRAME_BYTES_MAX, FRAME_HEAD_BYTES, PREFACE};
pub use head::{Head, Malformed};
pub use limits::Limits;

/// Tests the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
