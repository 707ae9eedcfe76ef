//! Vorbis comments, as used in FLAC, Vorbis and Opus.
//!
//! ```text
//! vendor length u32 · vendor · count u32 · count × (length u32 · KEY=value)
//! ```
//! Little-endian. A comment may contain a picture in base64. Such a comment is recognised by its
//! key. The picture is located, but not read.

use crate::input::Input;
use crate::media::{Mime, Picture, PictureKind, Stored};
use crate::{Error, Field, Media, text};
use std::ops::Range;

/// Sequential reader: over a block of a FLAC file, or over a packet that spans the pages of an Ogg
/// stream.
pub(crate) trait Flow {
    /// Returns an upper bound for the number of remaining bytes, without reading further pages of
    /// an Ogg stream.
    fn left(&self) -> u64;
    /// Returns the file offset of the next byte.
    fn offset(&mut self) -> Result<u64, Error>;
    /// Returns the next `count` bytes.
    fn take(&mut self, count: usize) -> Result<&[u8], Error>;
    /// Skips the next `count` bytes.
    fn skip(&mut self, count: u64) -> Result<(), Error>;
    /// Counts one comment against [`crate::Limits::parts_max`].
    fn part(&mut self) -> Result<(), Error>;
}

/// A contiguous range of the file.
pub(crate) struct Block<'a, 'b> {
    pub(crate) input: &'a mut Input<'b>,
    pub(crate) range: Range<u64>,
}

impl Flow for Block<'_, '_> {
    fn left(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    fn offset(&mut self) -> Result<u64, Error> {
        Ok(self.range.start)
    }

    fn take(&mut self, count: usize) -> Result<&[u8], Error> {
        let at = self.range.start;
        self.skip(count as u64)?;
        self.input.bytes(at, count)
    }

    fn skip(&mut self, count: u64) -> Result<(), Error> {
        if self.left() < count {
            return Err(Error::malformed("comment is longer than its block"));
        }
        self.range.start += count;
        Ok(())
    }

    fn part(&mut self) -> Result<(), Error> {
        self.input.part()
    }
}

/// Maximum bytes of a key, including the `=`; comments with longer keys are ignored.
const KEY_BYTES_MAX: usize = 64;
/// Key of a comment that contains a FLAC picture block in base64.
const PICTURE_KEY: &[u8] = b"METADATA_BLOCK_PICTURE";
/// Key of a comment that contains only the bytes of a picture in base64, without a FLAC picture
/// block. This is an older convention.
const COVER_KEY: &[u8] = b"COVERART";
/// Number of base64 letters that are decoded from the start of a picture block. The fields before
/// the picture are within these letters.
const PICTURE_HEAD_LETTERS: usize = 1024;

/// Reads all comments from `flow` into `media`. `stored` states how the base64 of a picture is
/// stored in the file: contiguous, or interrupted by the headers of Ogg pages.
pub(crate) fn read(
    flow: &mut impl Flow,
    limits: &crate::Limits,
    stored: Stored,
    media: &mut Media,
) -> Result<(), Error> {
    let vendor_bytes = length(flow)?;
    flow.skip(vendor_bytes)?;
    let count = length(flow)?;
    let mut value = String::new();
    for _ in 0..count {
        flow.part()?;
        let bytes = length(flow)?;
        if flow.left() < bytes {
            return Err(Error::malformed("comment is longer than its block"));
        }
        comment(flow, limits, bytes, (stored, &mut value), media)?;
        limits.admit(&media.tags)?;
    }
    Ok(())
}

fn length(flow: &mut impl Flow) -> Result<u64, Error> {
    let bytes = flow.take(4)?;
    let bytes = bytes
        .first_chunk()
        .expect("`take` returns as many bytes as requested");
    Ok(u32::from_le_bytes(*bytes).into())
}

fn comment(
    flow: &mut impl Flow,
    limits: &crate::Limits,
    bytes: u64,
    (stored, value): (Stored, &mut String),
    media: &mut Media,
) -> Result<(), Error> {
    let start = flow.offset()?;
    let whole = bytes.min(limits.value_bytes_max as u64) as usize;
    let head_bytes = whole.min(KEY_BYTES_MAX);
    let head = flow.take(head_bytes)?;
    let Some(key_bytes) = head.iter().position(|&byte| byte == b'=') else {
        media.issue("a comment has no key, or an invalid key");
        return flow.skip(bytes - head_bytes as u64);
    };
    let key = &head[..key_bytes];
    let is_block = key.eq_ignore_ascii_case(PICTURE_KEY);
    if is_block || key.eq_ignore_ascii_case(COVER_KEY) {
        let value_bytes = bytes - key_bytes as u64 - 1;
        let taken = head_bytes - key_bytes - 1;
        let mut letters = head[key_bytes + 1..].to_vec();
        let more =
            (value_bytes as usize).min(PICTURE_HEAD_LETTERS) - taken.min(PICTURE_HEAD_LETTERS);
        letters.extend_from_slice(flow.take(more)?);
        let offset = start + key_bytes as u64 + 1;
        let picture = match is_block {
            true => picture_head(&decode_base64(&letters)),
            false => Some((PictureKind::FRONT, Mime::Unknown, 0)),
        };
        match picture {
            Some((kind, mime, skip)) if media.pictures.len() < limits.pictures_max => {
                media.pictures.push(Picture {
                    kind,
                    mime,
                    stored,
                    offset,
                    bytes: value_bytes,
                    skip,
                });
            }
            Some(_) => media.issue("more pictures than the limit allows"),
            None => media.issue("a picture in a comment is broken"),
        }
        return flow.skip(value_bytes - (taken + more) as u64);
    }
    let Some(field) = Field::from_key(key) else {
        return flow.skip(bytes - head_bytes as u64);
    };
    value.clear();
    let rest = whole - head_bytes;
    if rest == 0 {
        text::utf8(&head[key_bytes + 1..], value);
    } else {
        let mut joined = head[key_bytes + 1..].to_vec();
        joined.extend_from_slice(flow.take(rest)?);
        text::utf8(&joined, value);
    }
    if whole as u64 != bytes {
        media.issue("a value is longer than the limit; its beginning is kept");
        flow.skip(bytes - whole as u64)?;
    }
    media.tags.push(field, value);
    Ok(())
}

/// Parses the fields before the picture in FLAC's picture block. The last value returned is the
/// length of these fields in bytes. `@` precedes the offset of a field in bytes:
///
/// ```text
/// @0 kind u32 · @4 length u32 · media type · length u32 · description ·
/// width, height, depth, colours u32 · length u32 · picture
/// ```
pub(crate) fn picture_head(block: &[u8]) -> Option<(PictureKind, Mime, u32)> {
    let u32_at = |at: usize| {
        let bytes = block.get(at..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    };
    let kind = PictureKind(u8::try_from(u32_at(0)?).unwrap_or(0));
    let mime_bytes = u32_at(4)? as usize;
    let mime = Mime::parse(block.get(8..8usize.checked_add(mime_bytes)?)?);
    let text_bytes = u32_at(8 + mime_bytes)? as usize;
    let skip = (8 + mime_bytes)
        .checked_add(text_bytes)?
        .checked_add(4 + 16 + 4)?;
    Some((kind, mime, u32::try_from(skip).ok()?))
}

/// Decodes base64, up to the first byte that is not a base64 letter.
pub(crate) fn decode_base64(letters: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(letters.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0);
    for &letter in letters {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'\r' | b'\n' => continue,
            _ => break,
        };
        word = word << 6 | u32::from(value);
        bits += 6;
        if 8 <= bits {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    out
}
