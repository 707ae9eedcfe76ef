//! Values as bytes.

use super::{kind, lzf};
use crate::string::Str;
use crate::value::Value;

/// Strings longer than this may be compressed.
const COMPRESS_BYTES_MIN: usize = 20;

/// Appends to a file or a payload.
pub(crate) struct Writer<'a> {
    pub(crate) to: &'a mut Vec<u8>,
    pub(crate) compress: bool,
}

impl Writer<'_> {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.to.push(byte);
    }

    pub(crate) fn len(&mut self, len: usize) {
        if len < 1 << 6 {
            self.to.push(len as u8);
        } else if len < 1 << 14 {
            self.to
                .extend_from_slice(&[0x40 | (len >> 8) as u8, len as u8]);
        } else if let Ok(len) = u32::try_from(len) {
            self.to.push(0x80);
            self.to.extend_from_slice(&len.to_be_bytes());
        } else {
            self.to.push(0x81);
            self.to.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }

    pub(crate) fn string(&mut self, text: &[u8]) {
        if text.len() <= 11
            && let Some(number) = resp::parse_int(text)
            && self.int(number)
        {
            return;
        }
        if self.compress
            && COMPRESS_BYTES_MIN < text.len()
            && let Some(short) = lzf::compress(text)
        {
            self.to.push(0xc3);
            self.len(short.len());
            self.len(text.len());
            self.to.extend_from_slice(&short);
            return;
        }
        self.len(text.len());
        self.to.extend_from_slice(text);
    }

    /// A number as such, if it fits 32 bits.
    fn int(&mut self, number: i64) -> bool {
        if let Ok(number) = i8::try_from(number) {
            self.to.extend_from_slice(&[0xc0, number as u8]);
        } else if let Ok(number) = i16::try_from(number) {
            self.to.push(0xc1);
            self.to.extend_from_slice(&number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.to.push(0xc2);
            self.to.extend_from_slice(&number.to_le_bytes());
        } else {
            return false;
        }
        true
    }

    fn str(&mut self, value: &Str) {
        self.string(value.bytes(&mut itoa::Buffer::new()));
    }
}

/// The type in which a value is written.
pub(crate) fn value_kind(value: &Value) -> u8 {
    match value {
        Value::Str(_) => kind::STRING,
        Value::List(_) => kind::LIST,
        Value::Set(_) => kind::SET,
        Value::Zset(_) => kind::ZSET,
        Value::Hash(_) => kind::HASH,
    }
}

/// Appends the value behind its type (and its key, where it has one).
pub(crate) fn write_value(value: &Value, writer: &mut Writer<'_>) {
    match value {
        Value::Str(string) => writer.str(string),
        Value::List(list) => {
            writer.len(list.len());
            list.iter().for_each(|piece| writer.string(piece.bytes()));
        }
        Value::Set(set) => {
            writer.len(set.len());
            set.each(|name| {
                writer.string(name);
                true
            });
        }
        Value::Zset(zset) => {
            writer.len(zset.len());
            // The highest first, as Redis does, so that a skip list is built by insertions at its front.
            zset.each(0..zset.len(), true, |name, score| {
                writer.string(name);
                writer.to.extend_from_slice(&score.to_le_bytes());
                true
            });
        }
        Value::Hash(hash) => {
            writer.len(hash.len());
            hash.each(|name, value| {
                writer.string(name);
                writer.string(value.bytes(&mut itoa::Buffer::new()));
            });
        }
    }
}
