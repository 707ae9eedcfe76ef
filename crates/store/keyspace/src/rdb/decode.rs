//! Decoding of values from the RDB format.

use bytes::Bytes;

use super::packs::{self, Piece};
use super::{kind, lzf, streams};
use crate::hash::Hash;
use crate::list::{End, List, NodeLimit};
use crate::set::Set;
use crate::settings::Growth;
use crate::string::Str;
use crate::text::parse_double;
use crate::value::{Kind, Value};
use crate::zset::Zset;

/// Reason why decoding stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More input is needed.
    Short,
    /// The input violates the format.
    Bad(&'static str),
}

/// Fault of a string that is longer than its reader allows.
pub(crate) const STRING_TOO_LONG: &str = "a string exceeds proto-max-bulk-len";

/// Read position in untrusted bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

/// A length, or a marker for a string in a special encoding.
enum Length {
    Plain(u64),
    Int8,
    Int16,
    Int32,
    Lzf,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(count).ok_or(Stop::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::Short)?;
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let taken = self.take(N)?;
        Ok(taken
            .try_into()
            .expect("`take` returns the requested length"))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    fn length(&mut self) -> Result<Length, Stop> {
        let first = self.byte()?;
        let low = u64::from(first & 0x3f);
        Ok(match (first >> 6, first) {
            (0, _) => Length::Plain(low),
            (1, _) => Length::Plain(low << 8 | u64::from(self.byte()?)),
            (_, 0x80) => Length::Plain(u64::from(u32::from_be_bytes(self.array()?))),
            (_, 0x81) => Length::Plain(u64::from_be_bytes(self.array()?)),
            (_, 0xc0) => Length::Int8,
            (_, 0xc1) => Length::Int16,
            (_, 0xc2) => Length::Int32,
            (_, 0xc3) => Length::Lzf,
            _ => return Err(Stop::Bad("a length has an unknown encoding")),
        })
    }

    pub(crate) fn len(&mut self) -> Result<usize, Stop> {
        match self.length()? {
            Length::Plain(len) => {
                usize::try_from(len).map_err(|_| Stop::Bad("a length exceeds the address space"))
            }
            _ => Err(Stop::Bad("expected a length, found a string")),
        }
    }

    /// Reads a string whose length, after decompression if it is compressed, is at most `bytes_max`
    /// bytes.
    pub(crate) fn string(&mut self, bytes_max: usize) -> Result<Text<'a>, Stop> {
        let bounded = |len: usize| {
            if len <= bytes_max {
                Ok(len)
            } else {
                Err(Stop::Bad(STRING_TOO_LONG))
            }
        };
        Ok(match self.length()? {
            Length::Plain(len) => {
                let len = usize::try_from(len).map_err(|_| Stop::Bad(STRING_TOO_LONG))?;
                Text::Plain(self.take(bounded(len)?)?)
            }
            Length::Int8 => Text::Int(i64::from(i8::from_le_bytes(self.array()?))),
            Length::Int16 => Text::Int(i64::from(i16::from_le_bytes(self.array()?))),
            Length::Int32 => Text::Int(i64::from(i32::from_le_bytes(self.array()?))),
            Length::Lzf => {
                let short = self.len()?;
                let long = bounded(self.len()?)?;
                let short = self.take(short)?;
                // LZF expands three bytes to at most 264.
                if short.len().saturating_mul(264) < long {
                    return Err(Stop::Bad("the length of a compressed string is impossible"));
                }
                let long = lzf::decompress(short, long);
                Text::Long(long.ok_or(Stop::Bad("a compressed string is corrupt"))?)
            }
        })
    }
}

/// A decoded string: a part of the input, an integer, or a decompressed string.
pub(crate) enum Text<'a> {
    Plain(&'a [u8]),
    Int(i64),
    Long(Vec<u8>),
}

impl Text<'_> {
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Plain(text) => Bytes::copy_from_slice(text),
            Self::Int(number) => Bytes::from(number.to_string()),
            Self::Long(text) => Bytes::from(text),
        }
    }
}

/// Settings for decoding a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) growth: Growth,
    pub(crate) string_bytes_max: usize,
}

/// Reads a value of the RDB type `kind`. Returns `None` for an empty collection, since no key may
/// hold an empty collection.
pub(crate) fn read_value(
    kind: u8,
    from: &mut Cursor<'_>,
    reading: Reading,
) -> Result<Option<Value>, Stop> {
    let value = match kind {
        kind::STRING => Value::Str(Str::new(
            &from.string(reading.string_bytes_max)?.into_bytes(),
        )),
        kind::LIST | kind::LIST_ZIPLIST | kind::QUICKLIST | kind::QUICKLIST_2 => {
            read_list(kind, from, reading)?.into_value()
        }
        kind::SET | kind::SET_INTSET | kind::SET_LISTPACK => {
            read_set(kind, from, reading)?.into_value()
        }
        kind::HASH | kind::HASH_ZIPMAP | kind::HASH_ZIPLIST | kind::HASH_LISTPACK => {
            read_hash(kind, from, reading)?.into_value()
        }
        kind::ZSET_TEXT | kind::ZSET | kind::ZSET_ZIPLIST | kind::ZSET_LISTPACK => {
            read_zset(kind, from, reading)?.into_value()
        }
        6 | 7 => return Err(Stop::Bad("values of Redis modules are not supported")),
        kind::STREAM | kind::STREAM_2 | kind::STREAM_3 => {
            streams::read(kind, from, reading)?.into_value()
        }
        22..=25 => {
            return Err(Stop::Bad("hashes whose fields expire are not supported"));
        }
        _ => return Err(Stop::Bad("a value has an unknown type")),
    };
    Ok((!value.is_vacant()).then_some(value))
}

/// Reads a packed collection, which is stored as a string.
fn read_pack<T>(
    from: &mut Cursor<'_>,
    reading: Reading,
    unpack: impl FnOnce(&[u8]) -> Option<Vec<Piece<'_>>>,
    each: impl FnOnce(Vec<Piece<'_>>) -> T,
) -> Result<T, Stop> {
    let pack = from.string(reading.string_bytes_max)?.into_bytes();
    let pieces = unpack(&pack).ok_or(Stop::Bad("a packed collection is corrupt"))?;
    Ok(each(pieces))
}

fn read_list(kind: u8, from: &mut Cursor<'_>, reading: Reading) -> Result<List, Stop> {
    let mut list = List::new(NodeLimit(reading.growth.encodings.list_node_size));
    let append = |list: &mut List, pieces: Vec<Piece<'_>>| {
        pieces
            .iter()
            .for_each(|it| list.push(End::Right, &Bytes::from(it.to_vec())));
    };
    if kind == kind::LIST_ZIPLIST {
        read_pack(from, reading, packs::ziplist, |pieces| {
            append(&mut list, pieces)
        })?;
        return Ok(list);
    }
    for _ in 0..from.len()? {
        match kind {
            kind::QUICKLIST => {
                read_pack(from, reading, packs::ziplist, |pieces| {
                    append(&mut list, pieces)
                })?;
            }
            kind::QUICKLIST_2 if from.len()? == 2 => {
                read_pack(from, reading, packs::listpack, |pieces| {
                    append(&mut list, pieces)
                })?;
            }
            _ => {
                let element = from.string(reading.string_bytes_max)?.into_bytes();
                list.push(End::Right, &element);
            }
        }
    }
    Ok(list)
}

fn read_set(kind: u8, from: &mut Cursor<'_>, reading: Reading) -> Result<Set, Stop> {
    let mut set = Set::new();
    let growth = reading.growth;
    if kind == kind::SET {
        for _ in 0..from.len()? {
            let member = from.string(reading.string_bytes_max)?.into_bytes();
            if !set.add(&member, growth) {
                return Err(Stop::Bad("a set contains a duplicate member"));
            }
        }
        return Ok(set);
    }
    let unpack = if kind == kind::SET_INTSET {
        packs::intset
    } else {
        packs::listpack
    };
    read_pack(from, reading, unpack, |pieces| {
        let all_new = pieces.iter().all(|piece| set.add(&piece.to_vec(), growth));
        if all_new {
            Ok(())
        } else {
            Err(Stop::Bad("a set contains a duplicate member"))
        }
    })??;
    Ok(set)
}

fn read_hash(kind: u8, from: &mut Cursor<'_>, reading: Reading) -> Result<Hash, Stop> {
    let mut hash = Hash::new();
    let growth = reading.growth;
    let twice = Stop::Bad("a hash contains a duplicate field");
    if kind == kind::HASH {
        for _ in 0..from.len()? {
            let name = from.string(reading.string_bytes_max)?.into_bytes();
            let value = from.string(reading.string_bytes_max)?.into_bytes();
            if !hash.set(&name, Str::new(&value), growth) {
                return Err(twice);
            }
        }
        return Ok(hash);
    }
    let unpack = match kind {
        kind::HASH_ZIPMAP => packs::zipmap,
        kind::HASH_ZIPLIST => packs::ziplist,
        _ => packs::listpack,
    };
    read_pack(from, reading, unpack, |pieces| {
        let pairs = pieces.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return Err(Stop::Bad("a field of a hash has no value"));
        }
        for pair in pairs {
            if !hash.set(&pair[0].to_vec(), Str::copied(&pair[1].to_vec()), growth) {
                return Err(twice);
            }
        }
        Ok(())
    })??;
    Ok(hash)
}

fn read_zset(kind: u8, from: &mut Cursor<'_>, reading: Reading) -> Result<Zset, Stop> {
    let mut zset = Zset::new();
    let growth = reading.growth;
    let twice = Stop::Bad("a sorted set contains a duplicate member or a NaN score");
    if kind == kind::ZSET || kind == kind::ZSET_TEXT {
        for _ in 0..from.len()? {
            let name = from.string(reading.string_bytes_max)?.into_bytes();
            let score = if kind == kind::ZSET {
                f64::from_le_bytes(from.array()?)
            } else {
                read_score(from)?
            };
            if score.is_nan() || zset.set(&name, score, growth).is_some() {
                return Err(twice);
            }
        }
        return Ok(zset);
    }
    let unpack = if kind == kind::ZSET_ZIPLIST {
        packs::ziplist
    } else {
        packs::listpack
    };
    read_pack(from, reading, unpack, |pieces| {
        let pairs = pieces.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return Err(Stop::Bad("a member of a sorted set has no score"));
        }
        for pair in pairs {
            let score = parse_double(&pair[1].to_vec())
                .ok_or(Stop::Bad("a score of a sorted set is not a number"))?;
            if zset.set(&pair[0].to_vec(), score, growth).is_some() {
                return Err(twice);
            }
        }
        Ok(())
    })??;
    Ok(zset)
}

/// Reads a score of the old format: a length and text, or a special length that stands for an
/// infinity or NaN.
fn read_score(from: &mut Cursor<'_>) -> Result<f64, Stop> {
    match from.byte()? {
        253 => Err(Stop::Bad("a score of a sorted set is not a number")),
        254 => Ok(f64::INFINITY),
        255 => Ok(f64::NEG_INFINITY),
        len => {
            let text = from.take(usize::from(len))?;
            parse_double(text).ok_or(Stop::Bad("a score of a sorted set is not a number"))
        }
    }
}
