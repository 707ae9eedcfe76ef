//! RESP2, RESP3 and inline commands: bytes in, requests out; replies in, bytes out. No sockets, no
//! clock, no commands.
//!
//! Principal types: [`Parser`], which removes requests from a read buffer, and [`Out`], which
//! collects replies for one write. [`Reply`] is the client's side: it parses replies.
//!
//! ```text
//!  socket ─► BytesMut ─► Parser ─► [Bytes] ─► command ─► Out ─► [IoSlice] ─► socket
//!      └────────────────► blob                  └── Bytes, by reference ──┘
//! ```
//!
//! ```
//! use bytes::{Bytes, BytesMut};
//! use resp::{Limits, Out, Parser, Proto};
//!
//! let mut parser = Parser::new(Limits::default());
//! let mut input = BytesMut::from("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n");
//! assert!(parser.next(&mut input).expect("sound"));
//! assert_eq!(parser.args(), ["GET", "k"]);
//! assert!(parser.next(&mut input).expect("sound"));
//! assert_eq!(parser.args(), ["PING"]);
//! assert!(!parser.next(&mut input).expect("sound"), "more bytes are needed");
//!
//! let mut out = Out::new(Proto::Resp2);
//! out.map(1);
//! out.bulk(b"k");
//! out.null();
//! assert_eq!(out.to_bytes(), "*2\r\n$1\r\nk\r\n$-1\r\n");
//! ```
//!
//! Blobs: a blob is an argument of at least [`BLOB_BYTES_MIN`] bytes. It gets its own allocation.
//! Bytes of the blob that have not arrived yet are read from the socket straight into this
//! allocation ([`Parser::blob_mut`]). A shorter argument is a slice of the read buffer. A caller
//! that needs the argument after the next read must copy it, since the slice would keep the whole
//! buffer alive. A blob in a reply is appended by reference, never copied.
//!
//! Units and limits: lengths are bytes; [`Limits`] bounds a request, [`ReplyLimits`] a reply. The
//! owner of an [`Out`] bounds its size ([`Out::len`]). Errors: [`ProtocolError`] is always
//! caused by the client, and has the text of Redis. The caller must then close the connection,
//! since the start of the next request is unknown. "Not enough bytes yet" is a normal result.
//! Threads: plain values, owned by one core. Source: the RESP specification; texts and limits as in
//! Redis 7.2.

#![forbid(unsafe_code)]

mod inline;
mod limits;
mod number;
mod out;
mod parse;
mod proto;
mod reply;
#[cfg(test)]
mod tests;

pub use inline::split_line;
pub use limits::{BLOB_BYTES_MIN, Limits, ReplyLimits};
pub use number::{double, parse_int};
pub use out::{Mark, Out};
pub use parse::{BlobAllocator, Parser, ProtocolError, arg_bytes};
pub use proto::Proto;
pub use reply::{BadReply, Reply};

/// Tests the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
