//! Packed collections written by Redis: listpack, ziplist, zipmap, intset.

use std::borrow::Cow;

use crate::listpack::back_bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a [u8]),
    Int(i64),
}

impl<'a> Piece<'a> {
    pub(super) fn text(&self) -> Cow<'a, [u8]> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Int(number) => Cow::Owned(number.to_string().into_bytes()),
        }
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.to_vec(),
            Self::Int(number) => number.to_string().into_bytes(),
        }
    }
}

/// Decodes a little-endian signed number of up to 8 bytes.
fn signed(bytes: &[u8]) -> i64 {
    let fill = if bytes.last().is_some_and(|&byte| 0x80 <= byte) {
        0xff
    } else {
        0
    };
    let mut whole = [fill; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(whole)
}

fn number(bytes: &[u8]) -> usize {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole) as usize
}

/// Returns the elements of a listpack; `None` if the listpack is invalid.
///
/// ```text
/// bytes 4 │ count 2 │ (encoding and data │ length of the two, backwards) … │ 255
/// ```
///
/// `bytes` is the size of the listpack, and `count` the number of elements; 4 and 2 are the widths
/// of these fields in bytes. The length after each element is read from its last byte to its first.
/// 255 is the last byte of the listpack.
pub(super) fn listpack(pack: &[u8]) -> Option<Vec<Piece<'_>>> {
    let total = number(pack.get(..4)?);
    let mut rest = pack.get(6..)?;
    if total != pack.len() {
        return None;
    }
    let mut pieces = Vec::new();
    loop {
        let (first, behind) = rest.split_first()?;
        let byte = |at: usize| behind.get(at).map(|&byte| usize::from(byte));
        let low = usize::from(*first);
        // Number of bytes of the encoding after its first byte, and number of bytes of the data.
        let (head, data): (usize, usize) = match first {
            0..=0x7f => (0, 0),
            0x80..=0xbf => (0, low & 0x3f),
            0xc0..=0xdf => (1, 0),
            0xe0..=0xef => (1, (low & 0x0f) << 8 | byte(0)?),
            0xf0 => (4, number(behind.get(..4)?)),
            0xf1 => (0, 2),
            0xf2 => (0, 3),
            0xf3 => (0, 4),
            0xf4 => (0, 8),
            0xff => return behind.is_empty().then_some(pieces),
            _ => return None,
        };
        let body = behind.get(head..head.checked_add(data)?)?;
        pieces.push(match first {
            0..=0x7f => Piece::Int(i64::from(*first)),
            0xc0..=0xdf => {
                let thirteen = ((low & 0x1f) << 8 | byte(0)?) as i64;
                Piece::Int(if thirteen < 1 << 12 {
                    thirteen
                } else {
                    thirteen - (1 << 13)
                })
            }
            0xf1..=0xf4 => Piece::Int(signed(body)),
            _ => Piece::Text(body),
        });
        let back = back_bytes(1 + head + data);
        rest = behind.get(head + data + back..)?;
    }
}

/// Returns the elements of a ziplist; `None` if the ziplist is invalid.
///
/// ```text
/// bytes 4 │ last 4 │ count 2 │ (length of the previous element │ encoding │ data) … │ 255
/// ```
///
/// `bytes` is the size of the ziplist, `last` the offset of the last element, and `count` the
/// number of elements; 4 and 2 are the widths of these fields in bytes. 255 is the last byte.
pub(super) fn ziplist(pack: &[u8]) -> Option<Vec<Piece<'_>>> {
    let total = number(pack.get(..4)?);
    let mut rest = pack.get(10..)?;
    if total != pack.len() {
        return None;
    }
    let mut pieces = Vec::new();
    loop {
        match rest.first()? {
            0xff => return (rest.len() == 1).then_some(pieces),
            0xfe => rest = rest.get(5..)?,
            _ => rest = rest.get(1..)?,
        }
        let (first, behind) = rest.split_first()?;
        let low = usize::from(*first);
        let (head, data): (usize, usize) = match first {
            0x00..=0x3f => (0, low),
            0x40..=0x7f => (1, (low & 0x3f) << 8 | usize::from(*behind.first()?)),
            0x80 => (
                4,
                u32::from_be_bytes(behind.get(..4)?.try_into().ok()?) as usize,
            ),
            0xc0 => (0, 2),
            0xd0 => (0, 4),
            0xe0 => (0, 8),
            0xf0 => (0, 3),
            0xfe => (0, 1),
            0xf1..=0xfd => (0, 0),
            _ => return None,
        };
        let body = behind.get(head..head.checked_add(data)?)?;
        pieces.push(match first {
            0x00..=0x80 => Piece::Text(body),
            0xf1..=0xfd => Piece::Int(i64::from(first & 0x0f) - 1),
            _ => Piece::Int(signed(body)),
        });
        rest = behind.get(head + data..)?;
    }
}

/// Returns the alternating fields and values of a zipmap; `None` if the zipmap is invalid.
///
/// ```text
/// count u8 │ (length │ field │ length │ unused u8 │ value │ padding) … │ the byte 255
/// length: u8, or the byte 254 followed by u32
/// ```
///
/// `count` is the number of pairs, and `unused` the number of bytes of padding after the value.
pub(super) fn zipmap(pack: &[u8]) -> Option<Vec<Piece<'_>>> {
    let mut rest = pack.get(1..)?;
    let mut pieces = Vec::new();
    loop {
        let (len, behind) = match rest.first()? {
            0xff => return (rest.len() == 1 && pieces.len() % 2 == 0).then_some(pieces),
            0xfe => (number(rest.get(1..5)?), rest.get(5..)?),
            len => (usize::from(*len), rest.get(1..)?),
        };
        let is_value = pieces.len() % 2 == 1;
        let unused = if is_value {
            usize::from(*behind.first()?)
        } else {
            0
        };
        let behind = behind.get(usize::from(is_value)..)?;
        pieces.push(Piece::Text(behind.get(..len)?));
        rest = behind.get(len.checked_add(unused)?..)?;
    }
}

/// Returns the members of an intset; `None` if the intset is invalid.
///
/// ```text
/// width 4 │ count 4 │ numbers
/// ```
///
/// `width` is the number of bytes per member, and `count` the number of members; each of these two
/// fields has 4 bytes.
pub(super) fn intset(pack: &[u8]) -> Option<Vec<Piece<'_>>> {
    let width = number(pack.get(..4)?);
    let count = number(pack.get(4..8)?);
    let numbers = pack.get(8..)?;
    let is_sound = matches!(width, 2 | 4 | 8) && count.checked_mul(width) == Some(numbers.len());
    is_sound.then(|| {
        numbers
            .chunks_exact(width)
            .map(|it| Piece::Int(signed(it)))
            .collect()
    })
}
