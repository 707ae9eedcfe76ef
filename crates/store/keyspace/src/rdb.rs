//! Reader and writer of the RDB format of Redis, for snapshots, files written by Redis, and the
//! payloads of DUMP and RESTORE. Both work on buffers in memory, and open no files.
//!
//! ```text
//! file:     "REDIS" version 4 │ aux … │ SELECTDB n │ entry … │ SELECTDB m │ entry … │ EOF │ CRC64
//! entry:    [aux pelton-tags] [deadline] type │ key │ value
//! payload:  type │ value │ version 2 │ CRC64
//! ```
//!
//! The reader accepts versions 1 to 12, with every encoding of strings, lists, sets, hashes, sorted
//! sets and streams. The writer uses the plain encodings, which every Redis since version 4 can
//! load; Redis then packs the values by its own settings. Streams have no plain encoding: the
//! writer uses the encoding of Redis 7.0, and that of Redis 7.2 in files of version 11.
//!
//! Errors: input that violates the format yields [`Error`] with its offset. Lengths and counts in a
//! file are checked against the input before they are used.

mod blobs;
mod decode;
mod encode;
mod load;
mod lzf;
mod packs;
mod streams;

pub(crate) use load::reading;
pub use load::{Error, LoadOptions, Loader};

use crc::{CRC_64_REDIS, Crc, Table};

pub(crate) use blobs::{Blob, Blobs};
pub(crate) use decode::{Cursor, STRING_TOO_LONG, Stop, read_value};
pub(crate) use encode::{
    Position, Writer, value_kind, write_count, write_part, write_protected, write_value,
};

/// Maximum format version that can be read.
pub(crate) const VERSION_MAX: u16 = 12;
/// Versions of Valkey's own format, which differs from the formats of Redis.
pub(crate) const VALKEY_VERSIONS: std::ops::RangeInclusive<u16> = 80..=80;
/// Format version of the payloads that DUMP writes. Redis 7.0 and all later versions accept it.
pub(crate) const PAYLOAD_VERSION: u16 = 10;

static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// Options for writing a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Format version: 10 for Redis 7.0 and later, or 11 for Redis 7.2 and later.
    pub version: u16,
    /// True to compress long strings.
    pub compress: bool,
    /// True if the snapshot is the base of an append-only file.
    pub aof_base: bool,
    /// Current Unix time in milliseconds.
    pub now_ms: u64,
}

pub(crate) mod opcode {
    pub(crate) const FUNCTION: u8 = 245;
    pub(crate) const FUNCTION_OLD: u8 = 246;
    pub(crate) const MODULE_AUX: u8 = 247;
    pub(crate) const IDLE: u8 = 248;
    pub(crate) const FREQ: u8 = 249;
    /// Valkey only: number of keys in a cluster slot.
    pub(crate) const SLOT_INFO: u8 = 244;
    pub(crate) const AUX: u8 = 250;
    pub(crate) const RESIZE: u8 = 251;
    pub(crate) const EXPIRE_MS: u8 = 252;
    pub(crate) const EXPIRE_S: u8 = 253;
    pub(crate) const SELECT: u8 = 254;
    pub(crate) const EOF: u8 = 255;
}

pub(crate) mod kind {
    pub(crate) const STRING: u8 = 0;
    pub(crate) const LIST: u8 = 1;
    pub(crate) const SET: u8 = 2;
    pub(crate) const ZSET_TEXT: u8 = 3;
    pub(crate) const HASH: u8 = 4;
    pub(crate) const ZSET: u8 = 5;
    pub(crate) const HASH_ZIPMAP: u8 = 9;
    pub(crate) const LIST_ZIPLIST: u8 = 10;
    pub(crate) const SET_INTSET: u8 = 11;
    pub(crate) const ZSET_ZIPLIST: u8 = 12;
    pub(crate) const HASH_ZIPLIST: u8 = 13;
    pub(crate) const QUICKLIST: u8 = 14;
    pub(crate) const STREAM: u8 = 15;
    pub(crate) const HASH_LISTPACK: u8 = 16;
    pub(crate) const ZSET_LISTPACK: u8 = 17;
    pub(crate) const QUICKLIST_2: u8 = 18;
    pub(crate) const STREAM_2: u8 = 19;
    pub(crate) const SET_LISTPACK: u8 = 20;
    pub(crate) const STREAM_3: u8 = 21;
}

/// Name of the auxiliary field that contains the cache tags of the next key. Redis skips this
/// field.
pub(crate) const TAGS_FIELD: &[u8] = b"pelton-tags";

/// Returns the checksum of `bytes`, continued from the checksum `before`; the first call passes 0.
pub fn crc64(before: u64, bytes: &[u8]) -> u64 {
    let mut digest = CRC.digest_with_initial(before.reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

#[cfg(test)]
mod tests;
