//! HTTP/2 for servers: a client's bytes in, requests and bytes for the client out. No sockets, no clock, no routes.
//!
//! Principal type: [`Connection`], the state of one. [`Connection::receive`] takes one frame at a time and answers what
//! answers itself: settings, pings, windows, mistakes. Requests come out as [`Event`]s; their heads lie in
//! [`Connection::head`]. Answers are written with [`Connection::send_head`] and [`Connection::send_data`], which the
//! client's windows bound.
//!
//! ```text
//! bytes ─► frame ─► streams, windows, settings ─┬─► Event::Request, head() ─► … ─► send_head, send_data ─► bytes
//!                        │                      ├─► Event::Data  ─► … ─► release ─► bytes
//!                        │                      └─► Event::Reset
//!                        └─► Fault ─► fail ─► GOAWAY, then close
//! ```
//!
//! ```
//! use http2::{Connection, Event, Limits, hpack};
//!
//! let (mut connection, mut out) = (Connection::new(Limits::default()), Vec::new());
//! connection.begin(&mut out);
//! // The preface, empty settings, and HEADERS of stream 1: GET, https, "/", and the authority "h".
//! let input = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x06\x01\x05\0\0\0\x01\x82\x87\x84\x41\x01h";
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
//! Bounds: of a client's making are a head ([`Limits::head_bytes_max`], compressed and not), the frames of a head, open
//! streams, and 4 KiB of remembered fields. Nothing else grows with what it sends; answers to its pings and settings go
//! to `out`, so whoever cannot get rid of that stops reading. How many streams it may give up, and how much it may send
//! to no end, is for the caller to judge, who knows what it takes.
//!
//! Compression: fields that many answers share are remembered for a connection ([`hpack::Encoder`]).
//!
//! Units: bytes. Errors: always the client's fault. A [`Fault`] ends the connection; a stream's is answered by
//! `RST_STREAM` and told as [`Event::Reset`]. Threads: plain values, owned by one core.
//! Sources: RFC 9113 (HTTP/2), RFC 7541 (HPACK). Of RFC 7540's priorities only the form is checked.

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
