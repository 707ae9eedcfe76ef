//! Resolution of the entries of playlist files to tracks.
//!
//! An entry is a path, in bytes. Its file is looked up under several spellings of the path, in this
//! order: as written; with backslashes replaced by slashes; converted from Latin-1, if it is not
//! UTF-8; with percent-encoding such as `%41` decoded. A path that begins with a slash is relative
//! to the root of the library, any other path to the folder of the playlist.

use std::borrow::Cow;

use crate::gather::folder;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the default name of a playlist: its file name without the extension.
pub(crate) fn name(path: &[u8]) -> String {
    let name = &path[folder(path).len()..];
    let name = name.strip_prefix(b"/").unwrap_or(name);
    let end = name.iter().rposition(|byte| *byte == b'.');
    String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned()
}

/// Returns the entry without byte order marks at its start. Such marks occur inside a file if
/// playlists were concatenated. Returns `None` if the remaining text is empty or a comment.
pub(crate) fn target(mut entry: &[u8]) -> Option<&[u8]> {
    let mut is_marked = false;
    while let Some(rest) = entry.strip_prefix(UTF8_MARK) {
        (entry, is_marked) = (rest.trim_ascii(), true);
    }
    let is_remark = is_marked && entry.starts_with(b"#");
    (!entry.is_empty() && !is_remark).then_some(entry)
}

/// Resolves an entry of the playlist at `path`: calls `find` with each spelling of the entry until
/// it returns a result, and returns that result.
pub(crate) fn resolve<T>(
    path: &[u8],
    target: &[u8],
    find: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let folder = folder(path);
    let look = |target: &[u8]| find(&below(folder, target)?);
    let either = |target: &[u8]| look(target).or_else(|| look(&with_slashes(target)?));
    either(target)
        .or_else(|| either(&from_latin1(target)?))
        .or_else(|| either(&without_escapes(target)?))
}

/// Returns the path of an entry relative to the root of the library. Returns `None` if the path
/// leads out of the library.
fn below(folder: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let start: &[u8] = if target.starts_with(b"/") {
        b""
    } else {
        folder
    };
    let is_name = |part: &&[u8]| !part.is_empty() && *part != b".";
    let parts = start.split(|byte| *byte == b'/');
    let parts = parts.chain(target.split(|byte| *byte == b'/'));
    let mut names: Vec<&[u8]> = Vec::new();
    for part in parts.filter(is_name) {
        match part {
            b".." => _ = names.pop()?,
            name => names.push(name),
        }
    }
    Some(names.join(&b'/'))
}

/// Returns the entry with backslashes replaced by slashes, or `None` if it has no backslash.
fn with_slashes(target: &[u8]) -> Option<Vec<u8>> {
    let other = target.contains(&b'\\');
    other.then(|| {
        let bytes = target.iter();
        bytes
            .map(|&byte| if byte == b'\\' { b'/' } else { byte })
            .collect()
    })
}

/// Returns the entry converted from Latin-1 to UTF-8, or `None` if it is valid UTF-8 already.
fn from_latin1(target: &[u8]) -> Option<Vec<u8>> {
    let is_other = str::from_utf8(target).is_err();
    is_other.then(|| shown(target).into_owned().into_bytes())
}

/// Returns the entry with percent-encoding decoded, or `None` if it contains no percent-encoding.
fn without_escapes(target: &[u8]) -> Option<Vec<u8>> {
    let decoded = tags::percent_decoded(target);
    (decoded != target).then_some(decoded)
}

/// Returns the entry as text: decoded as UTF-8 if it is valid, and otherwise as Latin-1.
pub(crate) fn shown(target: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(target) {
        Ok(text) => text.into(),
        Err(_) => target
            .iter()
            .map(|&byte| char::from(byte))
            .collect::<String>()
            .into(),
    }
}
