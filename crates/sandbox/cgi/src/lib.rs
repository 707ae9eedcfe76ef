//! CGI/1.1 for a server: converts a request to the environment of a program, and parses the output
//! of the program. The crate starts no processes, and accesses no files and no clock.
//!
//! Principal types: [`Request`], whose [`variables`](Request::variables) are the environment of a
//! program, and [`Response`], the parsed standard output.
//!
//! ```
//! use cgi::{Response, Limits, Request};
//!
//! let request = Request {
//!     method: "GET",
//!     script: "/x/hello",
//!     path: "/x/hello/you",
//!     query: Some("loud"),
//!     fields: &[("host", b"h:8080")],
//!     content_type: None,
//!     body_bytes: 0,
//!     peer: "192.0.2.1",
//!     secure: false,
//! };
//! let variables = request.variables().expect("the path can be decoded");
//! assert!(variables.split(|byte| *byte == 0).any(|one| one == b"PATH_INFO=/you"));
//!
//! let output = b"Status: 201\nContent-Type: text/plain\n\nhello";
//! let response = Response::parse(output, &Limits::default());
//! let Ok(Response::Document { status, body_at, .. }) = response else {
//!     panic!("a document");
//! };
//! assert_eq!((status, &output[body_at..]), (201, &b"hello"[..]));
//! ```
//!
//! An output has a header if every line before its first empty line is a field, and one of these
//! fields is `Content-Type`, `Status` or `Location`. Any other output is a body without a header.
//! So programs that do not implement CGI, such as filters, can be used too.
//!
//! Units and limits: lengths are in bytes. [`Limits`] bounds the header of an output.
//!
//! Errors: [`RequestError`] is the fault of the client, [`Malformed`] of the program.
//!
//! Threads: none; all types are plain data. Source: RFC 3875.

#![forbid(unsafe_code)]

mod limits;
mod request;
mod response;

#[cfg(test)]
mod tests;

pub use limits::Limits;
pub use request::{Request, RequestError};
pub use response::{Malformed, Response};
