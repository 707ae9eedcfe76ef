//! Vorbis comments, which FLAC and Ogg files contain.

use crate::plan::Song;

/// Returns a block of Vorbis comments: vendor, count, and each field as `KEY=value`.
pub(super) fn comments(fields: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut text = |text: &[u8]| {
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text);
    };
    text(b"pelton media");
    let count = (fields.len() as u32).to_le_bytes();
    out.extend(count);
    for field in fields {
        out.extend((field.len() as u32).to_le_bytes());
        out.extend(field);
    }
    out
}

/// Returns the song's fields as Vorbis comments. If `upper` is true, the names of the fields are in
/// upper case, as some taggers write them.
pub(super) fn comment_fields(song: &Song, upper: bool) -> Vec<Vec<u8>> {
    let fields = song.fields.iter().map(|(name, value)| {
        let name = if upper {
            name.to_uppercase()
        } else {
            (*name).to_owned()
        };
        format!("{name}={value}").into_bytes()
    });
    fields.collect()
}
