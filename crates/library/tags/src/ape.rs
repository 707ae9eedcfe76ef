//! APEv2 tags, at the end of a file, before an ID3v1 tag. In the table, `@` precedes the offset of
//! a field of the footer in bytes.
//!
//! ```text
//! items · footer: @0 "APETAGEX" · @8 version · @12 length of items and footer in bytes u32
//!                 @16 number of items u32 · @20 flags · @24 reserved
//! item: length u32 · flags u32 · key · zero byte · value; zero bytes separate several values
//! ```
//! Little-endian.

use crate::input::Input;
use crate::media::{Mime, Picture, PictureKind, Stored};
use crate::{Error, Field, Media, Tags, text};

pub(crate) const MAGIC: &[u8; 8] = b"APETAGEX";
pub(crate) const FOOTER_BYTES: u64 = 32;

/// Length in bytes of the longest key that the format allows, including the zero byte after it.
const KEY_BYTES_MAX: usize = 256;
const HAS_HEADER: u32 = 1 << 31;
const KIND: u32 = 6;
const KIND_TEXT: u32 = 0;
const KIND_BINARY: u32 = 2;

/// Reads the tag whose footer ends at `end`. Returns the tag's start and its values.
pub(crate) fn read(
    input: &mut Input<'_>,
    end: u64,
    media: &mut Media,
) -> Result<(u64, Tags), Error> {
    let footer_at = end - FOOTER_BYTES;
    let footer: [u8; FOOTER_BYTES as usize] = input.array(footer_at)?;
    let word = |at: usize| {
        let bytes = footer[at..].first_chunk().expect("a footer has 32 bytes");
        u32::from_le_bytes(*bytes)
    };
    let (bytes, count, flags) = (u64::from(word(12)), word(16), word(20));
    let start = end.checked_sub(bytes.max(FOOTER_BYTES));
    let mut at = start.ok_or(Error::malformed("the APE tag is longer than the file"))?;
    let begin = match flags & HAS_HEADER {
        0 => at,
        _ => at.saturating_sub(FOOTER_BYTES),
    };
    let mut tags = Tags::default();
    for _ in 0..count {
        input.part()?;
        if footer_at < at + 9 {
            break;
        }
        let [l0, l1, l2, l3, f0, f1, f2, f3] = input.array(at)?;
        let value_bytes = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        let room = (footer_at - at - 8).min(KEY_BYTES_MAX as u64) as usize;
        let key = input.bytes(at + 8, room)?;
        let Some(key_bytes) = key.iter().position(|&byte| byte == 0) else {
            media.issue("an item of the APE tag has no key");
            break;
        };
        let field = Field::from_key(&key[..key_bytes]);
        let kind = picture_kind(&key[..key_bytes]);
        let value_at = at + 8 + key_bytes as u64 + 1;
        at = value_at + value_bytes;
        if footer_at < at {
            media.issue("an item of the APE tag is longer than the tag");
            break;
        }
        match (flags & KIND, field, kind) {
            (KIND_TEXT, Some(field), _) => {
                values(input, (value_at, value_bytes), field, &mut tags, media)?;
            }
            (KIND_BINARY, _, Some(kind)) => {
                picture(input, (value_at, value_bytes), kind, media)?;
            }
            _ => {}
        }
    }
    Ok((begin, tags))
}

fn values(
    input: &mut Input<'_>,
    (at, bytes): (u64, u64),
    field: Field,
    tags: &mut Tags,
    media: &mut Media,
) -> Result<(), Error> {
    let limits = input.limits;
    if limits.value_bytes_max as u64 <= bytes {
        media.issue("the value of a tag is longer than the limit; only its beginning is kept");
    }
    limits.admit(tags)?;
    let all = input.bytes(at, bytes.min(limits.value_bytes_max as u64) as usize)?;
    for one in all.split(|&byte| byte == 0) {
        let mut value = String::new();
        text::utf8(one, &mut value);
        tags.push(field, &value);
    }
    Ok(())
}

fn picture_kind(key: &[u8]) -> Option<PictureKind> {
    let kinds: [(&[u8], u8); 3] = [
        (b"Cover Art (Front)", 3),
        (b"Cover Art (Back)", 4),
        (b"Cover Art (Other)", 0),
    ];
    let mut kinds = kinds.into_iter();
    let found = kinds.find(|(name, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, kind)| PictureKind(kind))
}

/// Reads a picture value: a file name, a zero byte, and the picture.
fn picture(
    input: &mut Input<'_>,
    (at, bytes): (u64, u64),
    kind: PictureKind,
    media: &mut Media,
) -> Result<(), Error> {
    let head = input.bytes(at, bytes.min(KEY_BYTES_MAX as u64) as usize)?;
    let Some(name_bytes) = head.iter().position(|&byte| byte == 0) else {
        media.issue("a picture in the APE tag is malformed");
        return Ok(());
    };
    let extension = head[..name_bytes].rsplit(|&byte| byte == b'.').next();
    let mime = extension.map_or(Mime::Unknown, Mime::parse);
    let skip = name_bytes as u64 + 1;
    if media.pictures.len() < input.limits.pictures_max {
        media.pictures.push(Picture {
            kind,
            mime,
            stored: Stored::Plain,
            offset: at + skip,
            bytes: bytes - skip,
            skip: 0,
        });
    }
    Ok(())
}
