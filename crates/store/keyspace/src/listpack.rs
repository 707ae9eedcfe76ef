//! Listpacks: the packed sequences in which Redis stores streams, in memory and in RDB files.
//!
//! ```text
//! bytes 4 │ count 2 │ (encoding and data │ length of the two, backwards) … │ 255
//! ```
//!
//! This module writes listpacks, and computes their sizes: the nodes of our streams end where those
//! of Redis end, so that approximate trimming removes the same entries. `rdb/packs.rs` reads them.

/// Bytes of a listpack without elements.
pub(crate) const EMPTY_BYTES: usize = 7;
/// Value of the count if the number of elements does not fit.
const COUNT_UNKNOWN: u16 = u16::MAX;
/// Length above which no text is an integer: the length of the smallest integer.
const INT_TEXT_BYTES_MAX: usize = 20;

/// Listpack that is being written.
#[derive(Debug)]
pub(crate) struct Listpack {
    bytes: Vec<u8>,
    count: usize,
}

impl Listpack {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; EMPTY_BYTES - 1],
            count: 0,
        }
    }

    pub(crate) fn push_int(&mut self, number: i64) {
        let start = self.bytes.len();
        match number {
            0..=127 => self.bytes.push(number as u8),
            -4096..=4095 => {
                let thirteen = (number & 0x1fff) as u16;
                self.bytes.extend((0xc000 | thirteen).to_be_bytes());
            }
            _ => {
                let width = int_data_bytes(number);
                self.bytes.push(match width {
                    2 => 0xf1,
                    3 => 0xf2,
                    4 => 0xf3,
                    _ => 0xf4,
                });
                self.bytes.extend(&number.to_le_bytes()[..width]);
            }
        }
        self.end_element(start);
    }

    /// Appends a text; if it is the text of an integer, appends the integer.
    pub(crate) fn push_text(&mut self, text: &[u8]) {
        if let Some(number) = integer(text) {
            return self.push_int(number);
        }
        let start = self.bytes.len();
        match text.len() {
            len @ ..64 => self.bytes.push(0x80 | len as u8),
            len @ 64..4096 => self.bytes.extend((0xe000 | len as u16).to_be_bytes()),
            len => {
                self.bytes.push(0xf0);
                let len = u32::try_from(len).expect("an entry of a stream is shorter than 4 GiB");
                self.bytes.extend(len.to_le_bytes());
            }
        }
        self.bytes.extend(text);
        self.end_element(start);
    }

    /// Appends the length of the element that begins at `start`, in the form that readers decode
    /// from the last byte to the first.
    fn end_element(&mut self, start: usize) {
        let len = self.bytes.len() - start;
        let width = back_bytes(len);
        for place in (0..width).rev() {
            let seven = (len >> (7 * place) & 0x7f) as u8;
            let is_first = place == width - 1;
            self.bytes.push(if is_first { seven } else { 0x80 | seven });
        }
        self.count += 1;
    }

    /// Returns the complete listpack.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0xff);
        let total = u32::try_from(self.bytes.len()).expect("a node of a stream is below 4 GiB");
        let count = u16::try_from(self.count).unwrap_or(COUNT_UNKNOWN);
        self.bytes[..4].copy_from_slice(&total.to_le_bytes());
        self.bytes[4..6].copy_from_slice(&count.to_le_bytes());
        self.bytes
    }
}

/// Returns the number of bytes that an integer takes in a listpack.
pub(crate) fn int_bytes(number: i64) -> usize {
    let len = match number {
        0..=127 => 1,
        -4096..=4095 => 2,
        _ => 1 + int_data_bytes(number),
    };
    len + back_bytes(len)
}

/// Returns the number of bytes that a text takes in a listpack.
pub(crate) fn text_bytes(text: &[u8]) -> usize {
    if let Some(number) = integer(text) {
        return int_bytes(number);
    }
    let head = match text.len() {
        ..64 => 1,
        64..4096 => 2,
        _ => 5,
    };
    let len = head + text.len();
    len + back_bytes(len)
}

fn integer(text: &[u8]) -> Option<i64> {
    let number = (text.len() <= INT_TEXT_BYTES_MAX).then(|| resp::parse_int(text));
    number.flatten()
}

/// Returns the number of bytes after the encoding byte, for an integer that is too large to share
/// that byte.
fn int_data_bytes(number: i64) -> usize {
    const INT24: std::ops::RangeInclusive<i64> = -0x80_0000..=0x7f_ffff;
    if i16::try_from(number).is_ok() {
        2
    } else if INT24.contains(&number) {
        3
    } else if i32::try_from(number).is_ok() {
        4
    } else {
        8
    }
}

/// Returns the number of bytes of the length that follows an element of `len` bytes.
pub(crate) fn back_bytes(len: usize) -> usize {
    match len {
        0..=127 => 1,
        128..=16_382 => 2,
        16_383..=2_097_150 => 3,
        2_097_151..=268_435_454 => 4,
        _ => 5,
    }
}
