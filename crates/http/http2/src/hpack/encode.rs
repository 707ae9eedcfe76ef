//! Encoding of HPACK blocks.

use std::sync::Arc;

use super::table::{ENTRY_BYTES, STATIC, TABLE_BYTES};
use super::{huffman, integer};

/// Appends `:status`, which must be the first field of a response.
pub fn status(block: &mut Vec<u8>, status: u16) {
    // Indexes of the static table: RFC 7541 appendix A.
    let number = match status {
        200 => 8,
        204 => 9,
        206 => 10,
        304 => 11,
        400 => 12,
        404 => 13,
        500 => 14,
        _ => return field(block, b":status", status.to_string().as_bytes()),
    };
    block.push(0x80 | number);
}

/// Appends a field that is not added to the table: RFC 7541 §6.2.2.
pub fn field(block: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    literal(block, 0x00, 4, name, value);
}

fn literal(block: &mut Vec<u8>, pattern: u8, prefix_bits: u32, name: &[u8], value: &[u8]) {
    match number(name) {
        Some(number) => integer::write(block, pattern, prefix_bits, number),
        None => {
            block.push(pattern);
            string(block, name);
        }
    }
    string(block, value);
}

/// Returns the index of the first static entry with this name.
fn number(name: &[u8]) -> Option<usize> {
    let known = STATIC
        .iter()
        .position(|(known, _)| known.as_bytes() == name);
    known.map(|index| index + 1)
}

fn string(block: &mut Vec<u8>, text: &[u8]) {
    let coded = huffman::encoded_bytes(text);
    if coded < text.len() {
        integer::write(block, 0x80, 7, coded);
        huffman::encode(text, block);
    } else {
        integer::write(block, 0x00, 7, text.len());
        block.extend_from_slice(text);
    }
}

/// Field encoded in advance for the blocks of any connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedField {
    /// Literal encoding. Its first byte says whether the client adds the field to its table.
    encoding: Arc<[u8]>,
    /// Size of the field in the client's table. 0 if the client does not add the field to its
    /// table.
    size: usize,
}

impl EncodedField {
    /// Encodes a field that many responses of a connection share, so that the client adds it to its
    /// table.
    #[must_use]
    pub fn shared(name: &[u8], value: &[u8]) -> EncodedField {
        let mut encoding = Vec::new();
        literal(&mut encoding, 0x40, 6, name, value);
        EncodedField {
            encoding: encoding.into(),
            size: name.len() + value.len() + ENTRY_BYTES,
        }
    }

    /// Encodes a field of a single response.
    #[must_use]
    pub fn single(name: &[u8], value: &[u8]) -> EncodedField {
        let mut encoding = Vec::new();
        field(&mut encoding, name, value);
        EncodedField {
            encoding: encoding.into(),
            size: 0,
        }
    }

    /// Returns the number of bytes that the encoded field holds in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.encoding.len()
    }
}

/// Encoder of one connection. It mirrors the client's dynamic table.
#[derive(Debug)]
pub struct Encoder {
    /// Literal encodings of the entries with their sizes, oldest first.
    table_entries: Vec<(Arc<[u8]>, usize)>,
    bytes: usize,
    bytes_max: usize,
    /// Pending change of the table size, which the next block must announce.
    resized: Option<Resized>,
}

#[derive(Clone, Copy, Debug)]
struct Resized {
    /// Smallest table size requested since the last block; entries that did not fit into that size
    /// were evicted.
    least: usize,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder {
            table_entries: Vec::new(),
            bytes: 0,
            bytes_max: TABLE_BYTES,
            resized: None,
        }
    }
}

impl Encoder {
    /// Sets the maximum size of the client's table: SETTINGS_HEADER_TABLE_SIZE. We use at most 4
    /// KiB of it.
    pub fn resize(&mut self, bytes_max: usize) {
        let bytes_max = bytes_max.min(TABLE_BYTES);
        if bytes_max == self.bytes_max && self.resized.is_none() {
            return;
        }
        let least = self
            .resized
            .map_or(bytes_max, |resized| resized.least.min(bytes_max));
        self.resized = Some(Resized { least });
        self.bytes_max = least;
        self.shrink();
        self.bytes_max = bytes_max;
    }

    /// Starts a block: appends pending changes of the table size, which must precede the first
    /// field (RFC 7541 §4.2).
    pub fn begin(&mut self, block: &mut Vec<u8>) {
        let Some(Resized { least }) = self.resized.take() else {
            return;
        };
        if least < self.bytes_max {
            integer::write(block, 0x20, 5, least);
        }
        integer::write(block, 0x20, 5, self.bytes_max);
    }

    /// Appends a field: its index if the client's table has it, or else its literal encoding.
    pub fn line(&mut self, block: &mut Vec<u8>, line: &EncodedField) {
        if line.size == 0 {
            return block.extend_from_slice(&line.encoding);
        }
        // Pointers are compared first, which is fast: a field that is in the table was in most
        // cases added from the same allocation.
        let known = self
            .position(|encoding| Arc::ptr_eq(encoding, &line.encoding))
            .or_else(|| self.position(|encoding| *encoding == line.encoding));
        if let Some(index) = known {
            return integer::write(block, 0x80, 7, STATIC.len() + 1 + index);
        }
        block.extend_from_slice(&line.encoding);
        // RFC 7541 §4.4: an entry larger than the table empties it, which is not an error.
        self.table_entries
            .push((Arc::clone(&line.encoding), line.size));
        self.bytes += line.size;
        self.shrink();
    }

    /// Returns the position of the newest entry for whose encoding `is_match` returns true.
    /// Position 0 is the newest entry.
    fn position(&self, is_match: impl Fn(&Arc<[u8]>) -> bool) -> Option<usize> {
        let mut newest_first = self.table_entries.iter().rev();
        newest_first.position(|(encoding, _)| is_match(encoding))
    }

    fn shrink(&mut self) {
        let mut evicted_count = 0;
        while self.bytes_max < self.bytes {
            self.bytes -= self.table_entries[evicted_count].1;
            evicted_count += 1;
        }
        self.table_entries.drain(..evicted_count);
    }
}
