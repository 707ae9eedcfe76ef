//! ID3v2.2, 2.3 and 2.4: frame headers, text, and the locations of pictures. In the table, `@`
//! precedes the offset of a field in bytes, and "7-bit" means an integer of four bytes with 7 bits
//! each.
//!
//! ```text
//! tag: @0 "ID3" · @3 version · @5 flags · @6 length, 7-bit, without these 10 bytes and a footer
//! frame 2.2: id 3 bytes · length u24      frame 2.3: id 4 bytes · length u32 · flags u16
//!                                         frame 2.4: id 4 bytes · length, 7-bit · flags u16
//! ```
//! Unsynchronisation inserts a zero byte after each FF. In 2.2 and 2.3 it is applied to the whole
//! tag and shifts every offset, so such a tag, which is rare, is read whole. Sources: id3.org, the
//! informal standards of 2.2, 2.3 and 2.4.

mod frame;

use crate::input::Input;
use crate::media::Stored;
use crate::{Error, Media, Tags};
use frame::Frame;
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 3] = b"ID3";
const HEAD_BYTES: u64 = 10;

const UNSYNCHRONISED: u8 = 0x80;
const EXTENDED: u8 = 0x40;
const FOOTER: u8 = 0x10;

/// Maximum number of bytes that are read from a tag to which unsynchronisation was applied as a
/// whole. Pictures after these bytes are not found.
const WHOLE_BYTES_MAX: u64 = 1 << 20;
/// Bytes per read of a tag to which unsynchronisation was applied as a whole.
const STEP_BYTES: usize = 64 << 10;

/// The header of a tag.
#[derive(Clone, Copy)]
struct Head {
    version: u8,
    flags: u8,
    bytes: u64,
}

/// Returns the end of the tag at `at`, if there is one.
pub(crate) fn end(input: &mut Input<'_>, at: u64) -> Result<Option<u64>, Error> {
    let Some(head) = head(input, at)? else {
        return Ok(None);
    };
    let footer_bytes = if head.flags & FOOTER != 0 {
        HEAD_BYTES
    } else {
        0
    };
    Ok(Some(at + HEAD_BYTES + head.bytes + footer_bytes))
}

fn head(input: &mut Input<'_>, at: u64) -> Result<Option<Head>, Error> {
    let Ok(head) = <&[u8; HEAD_BYTES as usize]>::try_from(input.up_to(at, HEAD_BYTES as usize)?)
    else {
        return Ok(None);
    };
    if !head.starts_with(MAGIC) || head[3] == 0xff {
        return Ok(None);
    }
    Ok(Some(Head {
        version: head[3],
        flags: head[5],
        bytes: synchsafe([head[6], head[7], head[8], head[9]]),
    }))
}

/// Decodes an integer of four bytes with seven bits each. The eighth bit of a byte should be zero,
/// and is ignored.
fn synchsafe(bytes: [u8; 4]) -> u64 {
    let bytes = bytes.into_iter();
    bytes.fold(0, |word, byte| word << 7 | u64::from(byte & 0x7f))
}

/// Reads the tag at `at`. Adds its pictures and issues to `media` and returns its values. An error
/// within the tag loses only the rest of the tag.
pub(crate) fn read(input: &mut Input<'_>, at: u64, media: &mut Media) -> Result<Tags, Error> {
    let Some(head) = head(input, at)? else {
        return Ok(Tags::default());
    };
    if !(2..=4).contains(&head.version) {
        media.issue("an id3 tag of an unknown version");
        return Ok(Tags::default());
    }
    if head.version == 2 && head.flags & EXTENDED != 0 {
        media.issue(
            "a compressed id3v2.2 tag: the standard defines no compression, so it cannot be read",
        );
        return Ok(Tags::default());
    }
    let mut range = at + HEAD_BYTES..at + HEAD_BYTES + head.bytes;
    if input.len() < range.end {
        media.issue("the id3 tag is longer than the file");
        range.end = input.len();
    }
    let mut tags = Tags::default();
    let whole = head.version < 4 && head.flags & UNSYNCHRONISED != 0;
    let walked = match whole {
        true => unsynchronised(input, head, range, media, &mut tags),
        false => Walk::new(head).run(input, range, media, &mut tags),
    };
    match walked {
        Err(err) if err.is_local() => media.issue("the id3 tag is broken"),
        other => other?,
    }
    Ok(tags)
}

/// Removes the unsynchronisation of a whole tag and reads the frames of the result.
fn unsynchronised(
    input: &mut Input<'_>,
    head: Head,
    range: Range<u64>,
    media: &mut Media,
    tags: &mut Tags,
) -> Result<(), Error> {
    let end = range.end.min(range.start + WHOLE_BYTES_MAX);
    if end < range.end {
        media.issue("the unsynchronised id3 tag is longer than the limit; its beginning is kept");
    }
    let mut plain = Plain::default();
    let mut at = range.start;
    while at < end {
        let step = (end - at).min(STEP_BYTES as u64) as usize;
        plain.extend(input.bytes(at, step)?);
        at += step as u64;
    }
    let (mut window, limits) = (Vec::new(), input.limits);
    let (source, len) = (&plain.bytes[..], plain.bytes.len() as u64);
    let mut inner = Input::new(&source, len, &mut window, limits);
    let known = media.pictures.len();
    let walked = Walk::new(head).run(&mut inner, 0..len, media, tags);
    for picture in &mut media.pictures[known..] {
        // Converts offsets in `plain` to offsets in the file.
        let begin = plain.before(picture.offset);
        picture.bytes = plain.before(picture.offset + picture.bytes) - begin;
        picture.offset = range.start + begin;
        picture.stored = Stored::Unsynchronised;
    }
    walked
}

/// Bytes of a tag after reversing the unsynchronisation, with the positions of the removed zero
/// bytes.
#[derive(Default)]
struct Plain {
    bytes: Vec<u8>,
    /// For each removed byte, the number of bytes kept before it.
    left_out: Vec<u32>,
    after_ff: bool,
}

impl Plain {
    fn extend(&mut self, stored: &[u8]) {
        for byte in stored {
            let kept = self.bytes.len();
            undo(&[*byte], &mut self.after_ff, &mut self.bytes);
            if self.bytes.len() == kept {
                self.left_out.push(kept as u32);
            }
        }
    }

    /// Converts an offset in `bytes` to the offset in the stored tag, by adding the number of zero
    /// bytes removed before it.
    fn before(&self, plain: u64) -> u64 {
        let left_out = self
            .left_out
            .partition_point(|kept| u64::from(*kept) <= plain);
        plain + left_out as u64
    }
}

/// Appends `bytes` to `out` without the zero bytes after FF. `after_ff` is true if the byte before
/// `bytes` was FF, and is updated for the next call.
pub(crate) fn undo(bytes: &[u8], after_ff: &mut bool, out: &mut Vec<u8>) {
    for &byte in bytes {
        if !(*after_ff && byte == 0) {
            out.push(byte);
        }
        *after_ff = byte == 0xff;
    }
}

/// Iteration over the frames of a tag.
struct Walk {
    head: Head,
    /// True if frame lengths in a 2.4 tag have 8 instead of 7 bits per byte, as old versions of
    /// iTunes wrote them; `None` until a frame shows the number of bits.
    plain_lengths: Option<bool>,
}

impl Walk {
    fn new(head: Head) -> Walk {
        Walk {
            head,
            plain_lengths: None,
        }
    }

    fn run(
        mut self,
        input: &mut Input<'_>,
        range: Range<u64>,
        media: &mut Media,
        tags: &mut Tags,
    ) -> Result<(), Error> {
        let mut at = self.behind_extended_head(input, &range)?;
        let head_bytes = if self.head.version == 2 { 6 } else { 10 };
        let mut dates = frame::OldDate::default();
        while at + head_bytes < range.end {
            input.part()?;
            let head = input.bytes(at, head_bytes as usize)?;
            let id_bytes = if self.head.version == 2 { 3 } else { 4 };
            let (id, rest) = head.split_at(id_bytes);
            if id[0] == 0 {
                break;
            }
            if !is_id(id) {
                media.issue("invalid data between id3 frames");
                break;
            }
            let mut name = [0; 4];
            name[..id_bytes].copy_from_slice(id);
            let flags = *rest
                .last()
                .expect("a frame's head is longer than the frame's id");
            let length = match *rest {
                [b2, b1, b0] => [0, b2, b1, b0],
                [b3, b2, b1, b0, ..] => [b3, b2, b1, b0],
                _ => unreachable!("heads have 6 or 10 bytes"),
            };
            let body = at + head_bytes;
            let frame = Frame {
                version: self.head.version,
                name,
                flags: if self.head.version == 2 { 0 } else { flags },
                tag_unsynchronised: self.head.version == 4 && self.head.flags & UNSYNCHRONISED != 0,
            };
            // Read the fields of the picture now. The next call may read the header of the next
            // frame, and that read may move the window past the picture.
            let picture = frame.picture_head(input, body, range.end)?;
            let bytes = self.length(input, length, body, &range)?;
            if range.end < body + bytes {
                media.issue("an id3 frame is longer than its tag");
                break;
            }
            match picture {
                Some(found) => found.report(body..body + bytes, input.limits, media),
                None => frame.read(input, body..body + bytes, (tags, &mut dates), media)?,
            }
            at = body + bytes;
        }
        dates.finish(tags);
        Ok(())
    }

    fn behind_extended_head(
        &self,
        input: &mut Input<'_>,
        range: &Range<u64>,
    ) -> Result<u64, Error> {
        if self.head.version == 2 || self.head.flags & EXTENDED == 0 {
            return Ok(range.start);
        }
        let length: [u8; 4] = input.field(range, 0)?;
        let bytes = match self.head.version {
            // In version 2.3, the length of the extended header excludes its own four bytes.
            3 => 4 + u64::from(u32::from_be_bytes(length)),
            _ => synchsafe(length),
        };
        Ok(range.start.saturating_add(bytes).min(range.end))
    }

    fn length(
        &mut self,
        input: &mut Input<'_>,
        length: [u8; 4],
        body: u64,
        range: &Range<u64>,
    ) -> Result<u64, Error> {
        let plain = u64::from(u32::from_be_bytes(length));
        let safe = synchsafe(length);
        if self.head.version != 4 || plain == safe {
            return Ok(plain);
        }
        let is_plain = match self.plain_lengths {
            Some(known) => known,
            None if length.iter().any(|byte| 0x80 <= *byte) => true,
            None => !fits(input, body + safe, range)? && fits(input, body + plain, range)?,
        };
        self.plain_lengths = Some(is_plain);
        Ok(if is_plain { plain } else { safe })
    }
}

/// Returns whether `at` is the tag's end, or the start of a frame or of padding.
fn fits(input: &mut Input<'_>, at: u64, range: &Range<u64>) -> Result<bool, Error> {
    if range.end <= at {
        return Ok(at == range.end);
    }
    let next = input.up_to(at, 4)?;
    Ok(next.first().is_none_or(|first| *first == 0) || is_id(next))
}

/// Returns whether a frame may have this id. Old versions of iTunes wrote the three letters of 2.2
/// and a zero byte into 2.3 tags.
fn is_id(id: &[u8]) -> bool {
    let letters = match id {
        [three @ .., 0] if three.len() == 3 => three,
        id => id,
    };
    let mut letters = letters.iter();
    letters.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
