//! Incremental loading of an RDB file.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};

use super::decode::Reading;
use super::{Cursor, Stop, TAGS_FIELD, VALKEY_VERSIONS, VERSION_MAX, crc64, opcode, read_value};
use crate::db::{NEVER, WriteTime, is_due};
use crate::keyspace::{Keyspace, LastLoad};
use crate::value::Value;

/// Length of the magic and the version at the start of a file, in bytes.
const HEAD_BYTES: usize = 9;
/// Minimum of the limit for the source of a library of functions, in bytes.
const LIBRARY_BYTES_MAX: usize = 512 << 20;

/// Options for loading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Current Unix time in milliseconds.
    pub now_ms: u64,
    /// True to verify the checksum at the end; a checksum of zero is always accepted.
    pub check_crc: bool,
    /// True to skip keys whose deadline has passed.
    pub skip_expired: bool,
}

/// A violation of the format, with its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Offset in the file, in bytes.
    pub offset: u64,
    message: &'static str,
    key: Option<Bytes>,
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "byte {}: {}", self.offset, self.message)?;
        match &self.key {
            Some(key) => write!(to, ", at key {}", key.escape_ascii()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// Loader that reads a file into a keyspace, chunk by chunk.
#[derive(Debug)]
pub struct Loader {
    options: LoadOptions,
    offset: u64,
    crc: u64,
    version: Option<u16>,
    db: usize,
    /// Cache tags that were read for the next key in the file.
    tags: Vec<Bytes>,
    is_done: bool,
    keep: fn(BytesMut) -> Bytes,
}

enum Item {
    /// An item that is read and ignored.
    Skip,
    Head(u16),
    Select(usize),
    Tags(Vec<Bytes>),
    Function(Bytes),
    Entry {
        key: Bytes,
        value: Option<Value>,
        deadline_ms: i64,
    },
    End,
}

impl Loader {
    /// Returns a loader at the start of a file.
    #[must_use]
    pub fn new(options: LoadOptions) -> Self {
        Self {
            options,
            offset: 0,
            crc: 0,
            version: None,
            db: 0,
            tags: Vec::new(),
            is_done: false,
            keep: BytesMut::freeze,
        }
    }

    /// Sets the function that turns the buffer of a blob (a string of at least 16 KiB) into
    /// immutable bytes. The function must not change the content.
    #[must_use]
    pub fn with_blob_freezer(self, keep: fn(BytesMut) -> Bytes) -> Self {
        Self { keep, ..self }
    }

    /// Consumes all complete items of `input`. An incomplete item at the end stays in `input`.
    /// Returns whether the file has ended. If a call consumes nothing, the caller should read until
    /// `input` is twice as long before it calls again, because each call parses an incomplete value
    /// from its start.
    ///
    /// # Errors
    /// If the input violates the format.
    pub fn feed(&mut self, keyspace: &mut Keyspace, input: &mut BytesMut) -> Result<bool, Error> {
        while !self.is_done {
            let mut cursor = Cursor::new(input);
            let mut key = None;
            let item = match self.next(keyspace, &mut cursor, &mut key) {
                Ok(item) => item,
                Err(Stop::Short) => return Ok(false),
                Err(Stop::Bad(message)) => {
                    let offset = self.offset + cursor.at as u64;
                    return Err(Error {
                        offset,
                        message,
                        key,
                    });
                }
            };
            let consumed = cursor.at;
            if !matches!(item, Item::End) {
                self.crc = crc64(self.crc, &input[..consumed]);
            }
            input.advance(consumed);
            self.offset += consumed as u64;
            self.apply(keyspace, item);
        }
        Ok(true)
    }

    fn apply(&mut self, keyspace: &mut Keyspace, item: Item) {
        match item {
            Item::Skip => {}
            Item::Head(version) => {
                self.version = Some(version);
                keyspace.functions.clear();
                keyspace.last_load = LastLoad::default();
            }
            Item::Function(library) => keyspace.functions.push(library),
            Item::Select(db) => self.db = db,
            Item::Tags(tags) => self.tags = tags,
            Item::End => self.is_done = true,
            Item::Entry {
                key,
                value,
                deadline_ms,
            } => {
                let now = self.options.now_ms as i64;
                let tags = std::mem::take(&mut self.tags);
                let is_late = self.options.skip_expired && is_due(deadline_ms, now);
                keyspace.last_load.expired += u64::from(is_late);
                if let Some(value) = value.filter(|_| !is_late) {
                    keyspace.last_load.loaded += 1;
                    let value = match value {
                        Value::Str(string) => Value::Str(string.with_frozen_blob(self.keep)),
                        other => other,
                    };
                    keyspace.remove_key(self.db, &key);
                    let hashed = (keyspace.seed.hash(&key), &key[..]);
                    let until = WriteTime { deadline_ms, now };
                    let slot = keyspace.insert(self.db, hashed, value, until);
                    keyspace.dbs[self.db].set_tags(slot, &tags);
                }
            }
        }
    }

    fn next(
        &self,
        keyspace: &Keyspace,
        from: &mut Cursor<'_>,
        at_key: &mut Option<Bytes>,
    ) -> Result<Item, Stop> {
        let Some(version) = self.version else {
            return read_head(from);
        };
        let reading = reading(keyspace);
        let mut deadline_ms = NEVER;
        loop {
            match from.byte()? {
                opcode::EXPIRE_MS => deadline_ms = i64::from_le_bytes(from.array()?),
                opcode::EXPIRE_S => {
                    deadline_ms = i64::from(i32::from_le_bytes(from.array()?)) * 1000;
                }
                opcode::IDLE => _ = from.len()?,
                opcode::FREQ => _ = from.byte()?,
                opcode::AUX => {
                    let name = from.string(reading.string_bytes_max)?.into_bytes();
                    let value = from.string(reading.string_bytes_max)?.into_bytes();
                    return match name == TAGS_FIELD {
                        true => read_tags(&value, reading.string_bytes_max).map(Item::Tags),
                        false => Ok(Item::Skip),
                    };
                }
                opcode::RESIZE => {
                    from.len()?;
                    from.len()?;
                    return Ok(Item::Skip);
                }
                opcode::SLOT_INFO => {
                    for _ in 0..3 {
                        from.len()?;
                    }
                    return Ok(Item::Skip);
                }
                opcode::SELECT => {
                    let db = from.len()?;
                    return match db < keyspace.dbs.len() {
                        true => Ok(Item::Select(db)),
                        false => Err(Stop::Bad("the index of a database is too large")),
                    };
                }
                opcode::FUNCTION => {
                    // FUNCTION RESTORE accepts sources that exceed `proto-max-bulk-len`.
                    let bytes_max = reading.string_bytes_max.max(LIBRARY_BYTES_MAX);
                    return Ok(Item::Function(from.string(bytes_max)?.into_bytes()));
                }
                opcode::FUNCTION_OLD => {
                    return Err(Stop::Bad("functions of Redis 7.0-rc are not supported"));
                }
                opcode::MODULE_AUX => {
                    return Err(Stop::Bad("data of Redis modules is not supported"));
                }
                opcode::EOF => return self.read_end(version, from),
                kind => {
                    let key = from.string(reading.string_bytes_max)?.into_bytes();
                    *at_key = Some(key.clone());
                    let value = read_value(kind, from, reading)?;
                    return Ok(Item::Entry {
                        key,
                        value,
                        deadline_ms,
                    });
                }
            }
        }
    }

    fn read_end(&self, version: u16, from: &mut Cursor<'_>) -> Result<Item, Stop> {
        if version < 5 {
            return Ok(Item::End);
        }
        let crc = crc64(self.crc, &from.bytes[..from.at]);
        let alleged = u64::from_le_bytes(from.array()?);
        if self.options.check_crc && alleged != 0 && alleged != crc {
            return Err(Stop::Bad("checksum mismatch"));
        }
        Ok(Item::End)
    }
}

fn read_tags(value: &Bytes, string_bytes_max: usize) -> Result<Vec<Bytes>, Stop> {
    let mut from = Cursor::new(value);
    let mut tags = Vec::new();
    while from.at < value.len() {
        let tag = from.string(string_bytes_max);
        tags.push(
            tag.map_err(|_| Stop::Bad("the cache tags of a key are malformed"))?
                .into_bytes(),
        );
    }
    Ok(tags)
}

fn read_head(from: &mut Cursor<'_>) -> Result<Item, Stop> {
    let head = from.take(HEAD_BYTES)?;
    let redis = head.strip_prefix(b"REDIS").zip(Some(1..=VERSION_MAX));
    let valkey = head.strip_prefix(b"VALKEY").zip(Some(VALKEY_VERSIONS));
    let Some((digits, known)) = redis.or(valkey) else {
        return Err(Stop::Bad("the file is not a Redis database (RDB)"));
    };
    let version = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    match version {
        Some(version) if known.contains(&version) => Ok(Item::Head(version)),
        Some(_) => Err(Stop::Bad("the version of the RDB format is not supported")),
        None => Err(Stop::Bad("the file is not a Redis database (RDB)")),
    }
}

/// Returns the settings for reading values into a keyspace.
pub(crate) fn reading(keyspace: &Keyspace) -> Reading {
    Reading {
        growth: keyspace.growth(),
        string_bytes_max: keyspace.limits.string_bytes_max,
    }
}
