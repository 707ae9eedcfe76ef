//! Playlist files: M3U, as players and rippers write it.
//!
//! ```text
//! #EXTM3U                          header, often left out
//! #PLAYLIST:For the road           name of the playlist
//! #EXTINF:213,Artist - Title       seconds and title of the next entry
//! ../Artist/Album/01 Title.flac    entry: path relative to the list's folder or a root, or a URL
//! ```
//! Lines end with LF, CR LF or CR; any other line that begins with `#` is a comment. The format has
//! no standard. It is the format of Winamp, with further tags that VLC and Apple's HTTP Live
//! Streaming (RFC 8216 §4.1) use. Paths are returned as bytes: if a list is in Latin-1, the names
//! of its files may be in Latin-1 or in UTF-8. Only a caller with access to the files can find out
//! the encoding.

use crate::{Error, ErrorKind, Limits, ReadAt, text};
use percent_encoding::percent_decode;
use std::borrow::Cow;

#[cfg(test)]
mod tests;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const SCHEME: &[u8] = b"file://";

/// Contents of a playlist file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Name of the playlist, if it has one.
    pub name: Option<String>,
    /// Entries, in the file's order.
    pub entries: Vec<Listed>,
}

/// An entry of a playlist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Path or URL as written in the playlist. For a `file:` URL, only the path in the URL.
    pub target: Vec<u8>,
    /// Title of the entry; empty if there is none.
    pub title: String,
}

/// Reads a whole playlist file of `len` bytes.
///
/// # Errors
/// [`ErrorKind::Limit`] if the file is larger, or has more entries, than the limits allow;
/// [`ErrorKind::Unknown`] if the file lists the segments of an HTTP stream, or is in UTF-16;
/// [`ErrorKind::Io`] if the file cannot be read.
pub fn listing(
    source: &(impl ReadAt + ?Sized),
    len: u64,
    limits: &Limits,
) -> Result<Listing, Error> {
    if limits.listing_bytes_max < len {
        return Err(Error::limit("playlist is larger than the limit allows"));
    }
    let mut bytes = vec![0; len as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match source.read_at(filled as u64, &mut bytes[filled..]) {
            Ok(0) => return Err(Error::truncated("file ends too early")),
            Ok(count) => filled += count,
            Err(err) => return Err(Error::io(err)),
        }
    }
    parse(&bytes, limits)
}

fn parse(bytes: &[u8], limits: &Limits) -> Result<Listing, Error> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::new(ErrorKind::Unknown, "playlist is in UTF-16"));
    }
    let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    let mut found = Listing::default();
    let mut title = String::new();
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = line.trim_ascii();
        match line {
            [] => {}
            [b'#', mark @ ..] => remark(mark, &mut found, &mut title, limits)?,
            target => {
                if limits.listing_entries_max <= found.entries.len() {
                    return Err(Error::limit(
                        "playlist has more entries than the limit allows",
                    ));
                }
                found.entries.push(Listed {
                    target: path(target).into_owned(),
                    title: std::mem::take(&mut title),
                });
            }
        }
    }
    Ok(found)
}

/// Reads a line that begins with `#`: a name, a title or a comment.
fn remark(
    mark: &[u8],
    found: &mut Listing,
    title: &mut String,
    limits: &Limits,
) -> Result<(), Error> {
    let value_text = |bytes: &[u8]| {
        let mut value_text = String::new();
        text::latin1(bytes.trim_ascii(), &mut value_text);
        crop(&mut value_text, limits.value_bytes_max);
        value_text
    };
    if mark.starts_with(b"EXT-X-") {
        return Err(Error::new(
            ErrorKind::Unknown,
            "the playlist lists segments of an HLS stream, not tracks",
        ));
    } else if let Some(rest) = mark.strip_prefix(b"EXTINF:") {
        let comma = rest.iter().position(|byte| *byte == b',');
        *title = comma.map_or_else(String::new, |comma| value_text(&rest[comma + 1..]));
    } else if let Some(name) = mark.strip_prefix(b"PLAYLIST:") {
        found.name = Some(value_text(name)).filter(|name| !name.is_empty());
    }
    Ok(())
}

fn crop(text: &mut String, bytes_max: usize) {
    if bytes_max < text.len() {
        let end = (0..=bytes_max)
            .rev()
            .find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
}

/// Returns the path that a `file:` URL contains. Returns any other target unchanged.
fn path(target: &[u8]) -> Cow<'_, [u8]> {
    let is_url = target
        .get(..SCHEME.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(SCHEME));
    if !is_url {
        return target.into();
    }
    let rest = &target[SCHEME.len()..];
    let rest = rest.strip_prefix(b"localhost").unwrap_or(rest);
    percent_decoded(rest).into()
}

/// Decodes percent-encoding (RFC 3986 §2.1); an invalid triplet stays as it is.
#[must_use]
pub fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    percent_decode(bytes).collect()
}
