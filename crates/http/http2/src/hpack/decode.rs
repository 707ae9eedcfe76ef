//! Decoding of HPACK blocks.

use super::table::{TABLE_BYTES, Table};
use super::{huffman, integer};

/// Error: a block cannot be decoded. The tables of the two sides may differ from then on, so the
/// connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpackError;

/// Decoder of all HPACK blocks that the client of one connection sends, in order. Its dynamic table
/// holds at most 4 KiB of fields.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// Buffers for decoded Huffman strings and copied names.
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder {
            table: Table::new(),
            name: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Decoder {
    /// Decodes one block, and passes the name and value of each field to `take`, in order.
    ///
    /// # Errors
    /// [`HpackError`]: the block refers to an unknown entry, is truncated, or has an invalid
    /// Huffman code.
    pub fn read(
        &mut self,
        block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut has_field = false;
        while let Some(&first) = rest.first() {
            has_field |= first & 0xe0 != 0x20;
            self.read_one(first, has_field, &mut rest, &mut take)
                .ok_or(HpackError)?;
        }
        Ok(())
    }

    /// Decodes the field or table size update at the start of `rest`.
    fn read_one(
        &mut self,
        first: u8,
        has_field: bool,
        rest: &mut &[u8],
        take: &mut impl FnMut(&[u8], &[u8]),
    ) -> Option<()> {
        if first & 0x80 != 0 {
            let (name, value) = self.table.get(integer::read(rest, 7)?)?;
            take(name, value);
            return Some(());
        }
        if first & 0xe0 == 0x20 {
            // RFC 7541 §4.2: updates of the table's size must precede the first field, and must not
            // exceed the size that we allow.
            let bytes_max = integer::read(rest, 5)?;
            if has_field || TABLE_BYTES < bytes_max {
                return None;
            }
            self.table.resize(bytes_max);
            return Some(());
        }
        let is_indexed = first & 0x40 != 0;
        let Decoder { table, name, value } = self;
        let number = integer::read(rest, if is_indexed { 6 } else { 4 })?;
        let name = match number {
            0 => string(rest, name)?,
            number => {
                // The name is copied, since adding the new entry may evict the entry that the name
                // came from.
                name.clear();
                name.extend_from_slice(table.get(number)?.0);
                name
            }
        };
        let value = string(rest, value)?;
        take(name, value);
        if is_indexed {
            table.add(name, value);
        }
        Some(())
    }
}

/// Reads a string. Returns a slice of the input, or, if the string is Huffman-coded, decodes it
/// into `room`.
fn string<'a, 'b: 'a>(rest: &mut &'b [u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let is_coded = rest.first()? & 0x80 != 0;
    let length = integer::read(rest, 7)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    if !is_coded {
        return Some(bytes);
    }
    room.clear();
    huffman::decode(bytes, room)?;
    Some(room)
}
