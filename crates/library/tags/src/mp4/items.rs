//! iTunes metadata items: text, numbers and locations of covers.

use super::{Atom, atom, find, next};
use crate::input::Input;
use crate::media::{Mime, Picture, PictureKind, Stored};
use crate::{Error, Field, Media, genres, text};
use std::ops::Range;

/// Encoding of an item's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    /// A big-endian number of one to eight bytes.
    Number,
    /// Two numbers, such as track and total: a u16 at offset 2 and a u16 at offset 4.
    Pair,
    /// A u16: ID3v1's genre number plus one.
    Genre,
}

const ITEMS: &[(&[u8; 4], Field, Form)] = &[
    (b"\xa9nam", Field::Title, Form::Text),
    (b"\xa9ART", Field::Artist, Form::Text),
    (b"aART", Field::AlbumArtist, Form::Text),
    (b"\xa9alb", Field::Album, Form::Text),
    (b"\xa9day", Field::Date, Form::Text),
    (b"\xa9gen", Field::Genre, Form::Text),
    (b"gnre", Field::Genre, Form::Genre),
    (b"trkn", Field::TrackNumber, Form::Pair),
    (b"disk", Field::DiscNumber, Form::Pair),
    (b"\xa9wrt", Field::Composer, Form::Text),
    (b"\xa9cmt", Field::Comment, Form::Text),
    (b"\xa9lyr", Field::Lyrics, Form::Text),
    (b"\xa9grp", Field::Grouping, Form::Text),
    (b"\xa9wrk", Field::Work, Form::Text),
    (b"\xa9mvn", Field::MovementName, Form::Text),
    (b"\xa9too", Field::EncodedBy, Form::Text),
    (b"cprt", Field::Copyright, Form::Text),
    (b"cpil", Field::Compilation, Form::Number),
    (b"tmpo", Field::Bpm, Form::Number),
    (b"rtng", Field::Explicit, Form::Number),
    (b"sonm", Field::TitleSort, Form::Text),
    (b"soar", Field::ArtistSort, Form::Text),
    (b"soal", Field::AlbumSort, Form::Text),
    (b"soaa", Field::AlbumArtistSort, Form::Text),
    (b"soco", Field::ComposerSort, Form::Text),
];

/// Types of values, as numbered in a `data` box.
const UTF16: u32 = 2;
const JPEG: u32 = 13;
const PNG: u32 = 14;
const BMP: u32 = 27;
/// Maximum bytes of the name of a freeform item; items with longer names are ignored.
const NAME_BYTES_MAX: u64 = 64;

/// Reads the metadata items in a `udta` box.
pub(super) fn read(
    input: &mut Input<'_>,
    udta: &Range<u64>,
    media: &mut Media,
) -> Result<(), Error> {
    let Some(meta) = find(input, udta, b"meta")? else {
        return Ok(());
    };
    // In ISO files, the content of `meta` begins with version and flags. In QuickTime files, it
    // begins with a box, whose type is then at offset 4.
    let is_bare = &input.field(&meta, 4)? == b"hdlr";
    let boxes = meta.start + if is_bare { 0 } else { 4 }..meta.end;
    let Some(ilst) = find(input, &boxes, b"ilst")? else {
        return Ok(());
    };
    let mut at = ilst.start;
    while let Some(item) = next(input, &mut at, &ilst)? {
        input.limits.admit(&media.tags)?;
        match &item.kind {
            b"covr" => covers(input, &item, media)?,
            b"----" => free(input, &item, media)?,
            kind => {
                if let Some(&(_, field, form)) = ITEMS.iter().find(|(name, ..)| *name == kind) {
                    values(input, item.body, (field, form), media)?;
                }
            }
        }
    }
    Ok(())
}

/// Reads the `data` boxes of an item. `range` is the part of the item that contains these boxes.
fn values(
    input: &mut Input<'_>,
    range: Range<u64>,
    (field, form): (Field, Form),
    media: &mut Media,
) -> Result<(), Error> {
    let mut at = range.start;
    while let Some(data) = next(input, &mut at, &range)? {
        if &data.kind != b"data" || data.body.end < data.body.start + 8 {
            continue;
        }
        let kind = u32::from_be_bytes(input.array(data.body.start)?) & 0xff_ffff;
        let bytes = data.body.end - data.body.start - 8;
        let limit = input.limits.value_bytes_max as u64;
        if limit < bytes {
            media.issue("the value of a tag is longer than the limit; only its beginning is kept");
        }
        let value = input.bytes(data.body.start + 8, bytes.min(limit) as usize)?;
        if let Some(value) = spell(value, kind, form) {
            media.tags.push(field, &value);
        }
    }
    Ok(())
}

fn spell(value: &[u8], kind: u32, form: Form) -> Option<String> {
    match form {
        Form::Text => {
            let mut out = String::new();
            match kind {
                UTF16 => text::utf16(value, true, &mut out),
                _ => text::utf8(value, &mut out),
            }
            Some(out)
        }
        Form::Number => {
            let value = value.first_chunk::<8>().map_or(value, |long| long);
            let number = value
                .iter()
                .fold(0, |number, &byte| number << 8 | u64::from(byte));
            (number != 0).then(|| number.to_string())
        }
        Form::Pair => match *value {
            [_, _, n1, n0, t1, t0, ..] => {
                let (number, total) = (u16::from_be_bytes([n1, n0]), u16::from_be_bytes([t1, t0]));
                match (number, total) {
                    (0, 0) => None,
                    (number, 0) => Some(number.to_string()),
                    (number, total) => Some(format!("{number}/{total}")),
                }
            }
            [_, _, n1, n0, ..] => Some(u16::from_be_bytes([n1, n0]).to_string()),
            _ => None,
        },
        Form::Genre => {
            let number = u16::from_be_bytes(*value.first_chunk()?);
            genres::name(usize::from(number).checked_sub(1)?).map(str::to_owned)
        }
    }
}

/// Reads a freeform item, whose `mean` and `name` boxes identify the field.
fn free(input: &mut Input<'_>, item: &Atom, media: &mut Media) -> Result<(), Error> {
    let mut at = item.body.start;
    let mut field = None;
    while let Some(part) = next(input, &mut at, &item.body)? {
        if &part.kind == b"name" {
            let name = part.body.start + 4..part.body.end;
            let bytes = name.end.saturating_sub(name.start).min(NAME_BYTES_MAX);
            field = Field::from_key(input.bytes(name.start, bytes as usize)?);
            break;
        }
    }
    match field {
        Some(field) => values(input, at..item.body.end, (field, Form::Text), media),
        None => Ok(()),
    }
}

fn covers(input: &mut Input<'_>, item: &Atom, media: &mut Media) -> Result<(), Error> {
    let mut at = item.body.start;
    while let Some(data) = atom(input, at, item.body.end)? {
        at = data.body.end;
        if &data.kind != b"data" || data.body.end < data.body.start + 8 {
            continue;
        }
        if input.limits.pictures_max <= media.pictures.len() {
            media.issue("the file has more pictures than the limit allows");
            break;
        }
        let kind = u32::from_be_bytes(input.array(data.body.start)?) & 0xff_ffff;
        // The first picture is the cover; items do not state a picture's kind.
        let is_first = media.pictures.is_empty();
        media.pictures.push(Picture {
            kind: if is_first {
                PictureKind::FRONT
            } else {
                PictureKind::OTHER
            },
            mime: match kind {
                JPEG => Mime::Jpeg,
                PNG => Mime::Png,
                BMP => Mime::Bmp,
                _ => Mime::Unknown,
            },
            stored: Stored::Plain,
            offset: data.body.start + 8,
            bytes: data.body.end - data.body.start - 8,
            skip: 0,
        });
    }
    Ok(())
}
