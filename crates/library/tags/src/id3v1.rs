//! ID3v1: the last 128 bytes of a file. In the table, `@` precedes the offset of a field in bytes.
//! A comment of 28 bytes may be followed by a zero byte and the track number.
//!
//! ```text
//! @0 "TAG" · @3 title · @33 artist · @63 album · @93 year · @97 comment · @127 genre
//! ```

use crate::{Field, Tags, genres, text};

pub(crate) const BYTES: usize = 128;

/// Parses the tag; returns `None` if the bytes are not an ID3v1 tag.
pub(crate) fn read(tag: &[u8]) -> Option<Tags> {
    let tag: &[u8; BYTES] = tag.try_into().ok()?;
    if !tag.starts_with(b"TAG") {
        return None;
    }
    let mut tags = Tags::default();
    let mut push = |field, bytes: &[u8]| {
        let end = bytes.iter().position(|&byte| byte == 0);
        let mut value = String::new();
        text::latin1(&bytes[..end.unwrap_or(bytes.len())], &mut value);
        tags.push(field, &value);
    };
    push(Field::Title, &tag[3..33]);
    push(Field::Artist, &tag[33..63]);
    push(Field::Album, &tag[63..93]);
    push(Field::Date, &tag[93..97]);
    push(Field::Comment, &tag[97..127]);
    if tag[125] == 0 && tag[126] != 0 {
        tags.push(Field::TrackNumber, &tag[126].to_string());
    }
    if let Some(genre) = genres::name(tag[127].into()) {
        tags.push(Field::Genre, genre);
    }
    Some(tags)
}
