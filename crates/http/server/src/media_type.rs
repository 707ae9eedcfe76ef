//! Media types of files that are not pictures: audio by its magic bytes, allowed files by their
//! extension.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use tags::{Container, ErrorKind};

/// Returns the media type of a file whose first bytes `head` identify it as audio.
#[must_use]
pub fn audio(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| {
        head.get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let brand = |name: &[u8]| at(4, b"ftyp") && at(8, name);
    // MPEG audio, layers I–III: eleven sync bits, then a version and a layer that are not reserved.
    let frame_sync = |head: &[u8]| {
        matches!(head, [0xff, second, third, ..]
            if second & 0xe0 == 0xe0 && second & 0x18 != 0x08 && second & 0x06 != 0 && third & 0xf0 != 0xf0)
    };
    match head {
        _ if at(0, b"fLaC") => Some("audio/flac"),
        _ if at(0, b"ID3") => Some("audio/mpeg"),
        _ if at(0, b"OggS") => Some("audio/ogg"),
        _ if brand(b"M4A ") || brand(b"M4B ") => Some("audio/mp4"),
        _ if (at(0, b"RIFF") || at(0, b"RF64") || at(0, b"BW64")) && at(8, b"WAVE") => {
            Some("audio/wav")
        }
        _ if at(0, b"FORM") && (at(8, b"AIFF") || at(8, b"AIFC")) => Some("audio/aiff"),
        _ if frame_sync(head) => Some("audio/mpeg"),
        _ if at(0, b"wvpk") => Some("audio/x-wavpack"),
        // Text may begin with `MAC ` too. But only in a file of Monkey's Audio do these version
        // numbers follow.
        _ if at(0, b"MAC ") && (at(5, &[0x0e]) || at(5, &[0x0f])) => Some("audio/x-ape"),
        _ if at(0, b"MPCK") => Some("audio/x-musepack"),
        _ if at(0, b"MP+\x07") || at(0, b"MP+\x17") => Some("audio/x-musepack"),
        _ if at(0, b"DSD \x1c\0\0\0") => Some("audio/x-dsf"),
        _ if at(0, b"TTA1") => Some("audio/x-tta"),
        // AAC in ADTS frames, whose layer field is 0.
        [0xff, second, ..] if second & 0xf6 == 0xf0 => Some("audio/aac"),
        _ => None,
    }
}

/// Extensions of music files that the first bytes do not always identify. MP4 of any brand, ASF and
/// Matroska may be films. A recorded stream may begin in the middle of a frame.
const MUSIC: [&str; 13] = [
    "aac", "m4a", "m4b", "m4r", "mka", "mp1", "mp2", "mp3", "mp4", "mpga", "weba", "webm", "wma",
];

/// Returns the media type of a file with an extension of [`MUSIC`], if the file is music. Parses
/// the file as a scan of the library does. An `.mp4` with moving pictures is not music.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn audio_within(
    source: &(impl tags::ReadAt + ?Sized),
    file_bytes: u64,
    extension: &str,
) -> io::Result<Option<&'static str>> {
    if !MUSIC.contains(&extension) {
        return Ok(None);
    }
    let limits = tags::Limits::default();
    let found = tags::Reader::new(limits.clone()).read(source, file_bytes);
    let container = found.map(|media| media.container);
    let audio = match container {
        Ok(Container::Mpeg) => Ok(Some("audio/mpeg")),
        Ok(Container::Adts) => Ok(Some("audio/aac")),
        Ok(Container::Matroska) if matches!(extension, "weba" | "webm") => Ok(Some("audio/webm")),
        Ok(Container::Matroska) => Ok(Some("audio/x-matroska")),
        Ok(Container::Asf) => Ok(Some("audio/x-ms-wma")),
        Ok(Container::Mp4) if extension != "mp4" => Ok(Some("audio/mp4")),
        Ok(Container::Mp4) => tags::has_video(source, file_bytes, &limits)
            .map(|has_video| (!has_video).then_some("audio/mp4")),
        Ok(_) => Ok(None),
        Err(err) => Err(err),
    };
    match audio {
        Err(err) if err.kind == ErrorKind::Io => Err(io::Error::other(err)),
        Err(_) => Ok(None),
        Ok(audio) => Ok(audio),
    }
}

/// Extensions of videos that browsers can play.
pub const VIDEOS: [&str; 4] = ["m4v", "mov", "mp4", "webm"];

/// Media types by file extension, for files that the operator allowed.
const BY_EXTENSION: &[(&str, &str)] = &[
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jxl", "image/jxl"),
    ("m4v", "video/mp4"),
    ("md", "text/markdown; charset=utf-8"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain; charset=utf-8"),
    ("vtt", "text/vtt; charset=utf-8"),
    ("webm", "video/webm"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// Set of file extensions that the operator configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedTypes {
    /// True if every file belongs to the set, with any extension or none.
    pub all: bool,
    /// Extensions in lower case, without the dot.
    pub extensions: BTreeSet<String>,
}

impl AllowedTypes {
    /// Returns the set of all extensions.
    #[must_use]
    pub fn every() -> AllowedTypes {
        AllowedTypes {
            all: true,
            ..AllowedTypes::default()
        }
    }

    /// Returns whether a file of this name has one of the extensions.
    #[must_use]
    pub fn admits(&self, name: &Path) -> bool {
        let extension = name.extension().and_then(|extension| extension.to_str());
        self.all
            || extension
                .is_some_and(|extension| self.extensions.contains(&extension.to_ascii_lowercase()))
    }

    /// Returns the media type of a file with this extension, or `None` if it is not allowed.
    #[must_use]
    pub fn media_type(&self, extension: &str) -> Option<&'static str> {
        if !self.all && !self.extensions.contains(extension) {
            return None;
        }
        let row = BY_EXTENSION.binary_search_by_key(&extension, |row| row.0);
        Some(row.map_or("application/octet-stream", |row| BY_EXTENSION[row].1))
    }
}

#[cfg(test)]
mod tests;
