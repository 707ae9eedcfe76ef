//! Blocks of fields, written.

use std::sync::Arc;

use super::table::{ENTRY_BYTES, STATIC, TABLE_BYTES};
use super::{huffman, integer};

/// Appends `:status`, which is the first of an answer's fields.
pub fn status(block: &mut Vec<u8>, status: u16) {
    // RFC 7541 appendix A.
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

/// Appends a field that nobody remembers: RFC 7541 §6.2.2.
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

/// The number of the first static entry with this name.
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

/// A field made ready for any connection's block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Spelled out: with the order to remember it, or without.
    spelled: Arc<[u8]>,
    /// Its size in a table; 0 when it is not worth being remembered.
    size: usize,
}

impl Line {
    /// A field that many answers of a connection will have, so that the client is to remember it.
    #[must_use]
    pub fn shared(name: &[u8], value: &[u8]) -> Line {
        let mut spelled = Vec::new();
        literal(&mut spelled, 0x40, 6, name, value);
        Line {
            spelled: spelled.into(),
            size: name.len() + value.len() + ENTRY_BYTES,
        }
    }

    /// A field of one answer.
    #[must_use]
    pub fn single(name: &[u8], value: &[u8]) -> Line {
        let mut spelled = Vec::new();
        field(&mut spelled, name, value);
        Line {
            spelled: spelled.into(),
            size: 0,
        }
    }

    /// Bytes it holds, for whoever counts memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.spelled.len()
    }
}

/// Knows what one client remembers of ours.
#[derive(Debug)]
pub struct Encoder {
    /// As they were spelled out, the oldest first, with their sizes.
    remembered: Vec<(Arc<[u8]>, usize)>,
    bytes: usize,
    bytes_max: usize,
    /// The client asked for another size, which the next block has to say.
    resized: Option<Resized>,
}

#[derive(Clone, Copy, Debug)]
struct Resized {
    /// The smallest asked for, at which all beyond was forgotten.
    least: usize,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder {
            remembered: Vec::new(),
            bytes: 0,
            bytes_max: TABLE_BYTES,
            resized: None,
        }
    }
}

impl Encoder {
    /// The client remembers `bytes_max` from now on, or less if we like: SETTINGS_HEADER_TABLE_SIZE.
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

    /// Begins a block: what has to be said before its first field. RFC 7541 §4.2.
    pub fn begin(&mut self, block: &mut Vec<u8>) {
        let Some(Resized { least }) = self.resized.take() else {
            return;
        };
        if least < self.bytes_max {
            integer::write(block, 0x20, 5, least);
        }
        integer::write(block, 0x20, 5, self.bytes_max);
    }

    /// Appends a line: its number, once the client has it.
    pub fn line(&mut self, block: &mut Vec<u8>, line: &Line) {
        if line.size == 0 {
            return block.extend_from_slice(&line.spelled);
        }
        // Mostly it is the very same line.
        let known = self
            .position(|spelled| Arc::ptr_eq(spelled, &line.spelled))
            .or_else(|| self.position(|spelled| *spelled == line.spelled));
        if let Some(index) = known {
            return integer::write(block, 0x80, 7, STATIC.len() + 1 + index);
        }
        block.extend_from_slice(&line.spelled);
        // RFC 7541 §4.4: one that is too large alone leaves nothing, and that is no mistake.
        self.remembered.push((Arc::clone(&line.spelled), line.size));
        self.bytes += line.size;
        self.shrink();
    }

    /// How many are newer than the newest that `is_it`.
    fn position(&self, is_it: impl Fn(&Arc<[u8]>) -> bool) -> Option<usize> {
        let mut newest_first = self.remembered.iter().rev();
        newest_first.position(|(spelled, _)| is_it(spelled))
    }

    fn shrink(&mut self) {
        let mut forgotten = 0;
        while self.bytes_max < self.bytes {
            self.bytes -= self.remembered[forgotten].1;
            forgotten += 1;
        }
        self.remembered.drain(..forgotten);
    }
}
