//! HPACK, the compression of fields: RFC 7541.
//!
//! [`Decoder`] decodes the client's blocks. The server writes its own blocks field by field.
//! [`field`] writes a field as a literal. [`Encoder`] adds recurring fields to the client's table,
//! and then writes only references to them.

mod decode;
mod encode;
mod huffman;
mod integer;
mod table;

#[cfg(test)]
mod tests;

pub use decode::{Decoder, HpackError};
pub use encode::{EncodedField, Encoder, field, status};
