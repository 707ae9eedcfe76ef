//! Encoding of values into the RDB format.

use bytes::Bytes;
use resp::BLOB_BYTES_MIN;

use super::blobs::Blobs;
use super::{PAYLOAD_VERSION, kind, lzf, streams};
use crate::hash::FieldValue;
use crate::list::Piece;
use crate::string::Str;
use crate::value::Value;

/// Length above which a string may be compressed. Blobs are never compressed: they are usually
/// pictures, and the compression of a blob would block the core for longer than a turn of the event
/// loop may take.
const UNCOMPRESSED_BYTES_MAX: usize = 20;

/// Work that is counted for each string in addition to its length. [`Writer::work`] counts bytes.
const STRING_WORK: usize = 16;

/// Writer that appends to the bytes of an RDB file or of a DUMP payload.
pub(crate) struct Writer<'a> {
    pub(crate) to: &'a mut Vec<u8>,
    blobs: Option<&'a mut Blobs>,
    compress: bool,
    /// Format version of the file or payload.
    pub(crate) version: u16,
    /// Work done so far: uncompressed bytes, plus [`STRING_WORK`] per string.
    pub(crate) work: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(to: &'a mut Vec<u8>, compress: bool) -> Self {
        Self {
            to,
            blobs: None,
            compress,
            version: PAYLOAD_VERSION,
            work: 0,
        }
    }

    /// Returns a writer of the format `version`.
    pub(crate) fn with_version(self, version: u16) -> Self {
        Self { version, ..self }
    }

    /// Returns a writer that stores blobs by reference.
    pub(crate) fn with_blobs(to: &'a mut Vec<u8>, blobs: &'a mut Blobs, compress: bool) -> Self {
        Self {
            blobs: Some(blobs),
            ..Self::new(to, compress)
        }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.to.push(byte);
    }

    /// Writes bytes without their length, which readers know.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.work += bytes.len();
        self.to.extend_from_slice(bytes);
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
        self.work += text.len() + STRING_WORK;
        if text.len() <= 11
            && let Some(number) = resp::parse_int(text)
            && self.int(number)
        {
            return;
        }
        if self.compress
            && (UNCOMPRESSED_BYTES_MAX + 1..BLOB_BYTES_MIN).contains(&text.len())
            && self.compressed(text)
        {
            return;
        }
        self.len(text.len());
        self.to.extend_from_slice(text);
    }

    /// Writes a string in compressed form, if this form is shorter. Returns whether the string was
    /// written.
    fn compressed(&mut self, text: &[u8]) -> bool {
        let begin = self.to.len();
        if !lzf::compress(text, self.to) {
            return false;
        }
        // The lengths must precede the compressed data, but are known only now. So they are
        // appended, and then rotated to the front.
        let end = self.to.len();
        self.to.push(0xc3);
        self.len(end - begin);
        self.len(text.len());
        let head_bytes = self.to.len() - end;
        self.to[begin..].rotate_right(head_bytes);
        true
    }

    /// Writes an integer in binary, if it fits in 32 bits. Returns whether the integer was written.
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
        match value {
            Str::Blob(blob) => self.blob(blob),
            other => self.string(other.bytes(&mut itoa::Buffer::new())),
        }
    }

    fn field(&mut self, name: &[u8], value: FieldValue<'_>) {
        self.string(name);
        match value {
            FieldValue::Short(bytes) => self.string(bytes),
            FieldValue::Str(value) => self.str(value),
        }
    }

    fn scored(&mut self, name: &[u8], score: f64) {
        self.string(name);
        self.to.extend_from_slice(&score.to_le_bytes());
    }

    /// Writes a string without compression, by reference if the writer supports that.
    fn blob(&mut self, blob: &Bytes) {
        self.work += blob.len() + STRING_WORK;
        self.len(blob.len());
        match &mut self.blobs {
            Some(blobs) => blobs.push(self.to.len(), blob.clone()),
            None => self.to.extend_from_slice(blob),
        }
    }
}

/// Place in a value at which writing continues. The default is the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Index of an element or of a slot of a table; for a stream, of a node, and after the nodes of
    /// the ids and of a group.
    pub(crate) index: usize,
    /// Index of a part of a stream's group.
    pub(super) part: usize,
    /// Index of a part of a group's consumer.
    pub(super) chunk: usize,
}

impl Position {
    pub(super) fn at(index: usize) -> Self {
        Self {
            index,
            ..Self::default()
        }
    }
}

/// Returns the type of a value in the format `version`.
pub(crate) fn value_kind(value: &Value, version: u16) -> u8 {
    match value {
        Value::Str(_) => kind::STRING,
        Value::List(_) => kind::LIST,
        Value::Set(_) => kind::SET,
        Value::Zset(_) => kind::ZSET,
        Value::Hash(_) => kind::HASH,
        Value::Stream(_) if version < streams::ACTIVE_TIME_VERSION => kind::STREAM_2,
        Value::Stream(_) => kind::STREAM_3,
    }
}

/// Writes a value without its type and key.
pub(crate) fn write_value(value: &Value, writer: &mut Writer<'_>) {
    write_count(value, writer);
    match value {
        // Highest score first, as in Redis: a server that loads the file then inserts each element
        // at the front of its skip list, which needs no search.
        Value::Zset(zset) => zset.each(0..zset.len(), true, |name, score| {
            writer.scored(name, score);
            true
        }),
        other => {
            let rest = write_part(other, Position::default(), usize::MAX, writer);
            assert!(
                rest.is_none(),
                "without a work limit, the whole value is written"
            );
        }
    }
}

/// Writes the number of elements of a collection, or of nodes of a stream. Writes nothing for a
/// string.
pub(crate) fn write_count(value: &Value, writer: &mut Writer<'_>) {
    match value {
        Value::Str(_) => {}
        Value::List(list) => writer.len(list.len()),
        Value::Set(set) => writer.len(set.len()),
        Value::Zset(zset) => writer.len(zset.len()),
        Value::Hash(hash) => writer.len(hash.len()),
        Value::Stream(stream) => writer.len(stream.nodes().len()),
    }
}

/// Writes elements from `position` on until the work of the writer reaches `work_max`. Returns the
/// next position, or `None` if the value is complete. Positions are valid until the value changes.
pub(crate) fn write_part(
    value: &Value,
    position: Position,
    work_max: usize,
    writer: &mut Writer<'_>,
) -> Option<Position> {
    let index = position.index;
    match value {
        Value::Str(string) => {
            writer.str(string);
            None
        }
        Value::List(list) => {
            let mut next = index;
            for piece in list.range(index..list.len()) {
                match piece {
                    Piece::Short(bytes) => writer.string(bytes),
                    Piece::Blob(blob) => writer.blob(blob),
                }
                next += 1;
                if work_max <= writer.work {
                    break;
                }
            }
            (next < list.len()).then_some(Position::at(next))
        }
        Value::Set(set) => {
            let rest = set.each_from(index, |name| {
                writer.string(name);
                writer.work < work_max
            });
            rest.map(Position::at)
        }
        Value::Zset(zset) => {
            let rest = zset.each_from(index, |name, score| {
                writer.scored(name, score);
                writer.work < work_max
            });
            rest.map(Position::at)
        }
        Value::Hash(hash) => {
            let rest = hash.each_from(index, |name, value| {
                writer.field(name, value);
                writer.work < work_max
            });
            rest.map(Position::at)
        }
        Value::Stream(stream) => streams::write_part(stream, position, work_max, writer),
    }
}

/// Writes elements of a table that [`Dict::guard`](crate::dict::Dict::guard) protects, in the state
/// that they had when the protection started. Stops when the work of the writer reaches `work_max`.
/// Returns whether all elements are written.
pub(crate) fn write_protected(value: &mut Value, work_max: usize, writer: &mut Writer<'_>) -> bool {
    match value {
        Value::Str(_) | Value::List(_) | Value::Stream(_) => {
            unreachable!("only tables are guarded")
        }
        Value::Set(set) => set.take_guarded(|name| {
            writer.string(name);
            writer.work < work_max
        }),
        Value::Zset(zset) => zset.take_guarded(|name, score| {
            writer.scored(name, score);
            writer.work < work_max
        }),
        Value::Hash(hash) => hash.take_guarded(|name, value| {
            writer.field(name, value);
            writer.work < work_max
        }),
    }
}
