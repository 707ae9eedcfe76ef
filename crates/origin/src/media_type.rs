//! Media types of what is no picture: audio by its magic bytes, allowed files by their extension.

use std::collections::BTreeSet;

/// The media type of audio that begins with `head`.
#[must_use]
pub fn audio(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| {
        head.get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let brand = |name: &[u8]| at(4, b"ftyp") && at(8, name);
    // MPEG audio, layers I–III: eleven sync bits, then a version and a layer that are not the reserved ones.
    let frame_sync = |head: &[u8]| {
        matches!(head, [0xff, second, third, ..]
            if second & 0xe0 == 0xe0 && second & 0x18 != 0x08 && second & 0x06 != 0 && third & 0xf0 != 0xf0)
    };
    match head {
        _ if at(0, b"fLaC") => Some("audio/flac"),
        _ if at(0, b"ID3") => Some("audio/mpeg"),
        _ if at(0, b"OggS") => Some("audio/ogg"),
        _ if brand(b"M4A ") || brand(b"M4B ") => Some("audio/mp4"),
        _ if at(0, b"RIFF") && at(8, b"WAVE") => Some("audio/wav"),
        _ if at(0, b"FORM") && (at(8, b"AIFF") || at(8, b"AIFC")) => Some("audio/aiff"),
        _ if frame_sync(head) => Some("audio/mpeg"),
        _ if at(0, b"wvpk") => Some("audio/x-wavpack"),
        // A text may begin so; no text has a version behind it.
        _ if at(0, b"MAC ") && at(5, &[0x0f]) => Some("audio/x-ape"),
        _ if at(0, b"MPCK") => Some("audio/x-musepack"),
        _ if at(0, b"MP+\x07") || at(0, b"MP+\x17") => Some("audio/x-musepack"),
        _ if at(0, b"DSD \x1c\0\0\0") => Some("audio/x-dsf"),
        _ if at(0, b"TTA1") => Some("audio/x-tta"),
        // AAC in ADTS, which has layer 0.
        [0xff, second, ..] if second & 0xf6 == 0xf0 => Some("audio/aac"),
        _ => None,
    }
}

/// Media types by extension, for files that the operator allowed.
const BY_EXTENSION: &[(&str, &str)] = &[
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jxl", "image/jxl"),
    ("md", "text/markdown; charset=utf-8"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain; charset=utf-8"),
    ("vtt", "text/vtt; charset=utf-8"),
    ("webm", "video/webm"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// Which files are served that are neither pictures nor audio.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedTypes {
    /// Every extension, and none.
    pub all: bool,
    /// Extensions in lower case, without the dot.
    pub extensions: BTreeSet<String>,
}

impl AllowedTypes {
    /// The media type of a file with this extension; `None` where it is not allowed.
    #[must_use]
    pub fn media_type(&self, extension: &str) -> Option<&'static str> {
        if !self.all && !self.extensions.contains(extension) {
            return None;
        }
        let row = BY_EXTENSION.binary_search_by_key(&extension, |row| row.0);
        Some(row.map_or("application/octet-stream", |row| BY_EXTENSION[row].1))
    }
}
