//! HPACK, the compression of fields: RFC 7541.
//!
//! [`Decoder`] decodes a client's blocks. Our blocks are written field by field: [`field`] writes a
//! literal, and [`Encoder`] adds recurring fields to the client's table and then refers to them.

mod decode;
mod encode;
mod huffman;
mod integer;
mod table;

#[cfg(test)]
mod tests;

pub use decode::{Decoder, HpackError};
pub use encode::{EncodedField, Encoder, field, status};
