//! HPACK, which makes fields short: RFC 7541.
//!
//! [`Decoder`] reads a client's blocks. Ours are written field by field: [`field`] spells one out, [`Encoder`] has the client
//! remember those that come again.

mod decode;
mod encode;
mod huffman;
mod integer;
mod table;

#[cfg(test)]
mod tests;

pub use decode::{Broken, Decoder};
pub use encode::{Encoder, Line, field, status};
