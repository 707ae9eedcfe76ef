//! Playlists in files: which tracks their entries mean.
//!
//! An entry is a path in bytes. What it means is looked for among the files that are there: as it is written; with the
//! separators of Windows; as Latin-1, should it be no UTF-8; and with `%41` as a letter. A path that begins with a slash begins
//! at the library's root, any other in the playlist's folder.

use std::borrow::Cow;

use crate::gather::folder;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The name of a playlist that does not say it: that of its file, without what follows the last dot.
pub(crate) fn name(path: &[u8]) -> String {
    let name = &path[folder(path).len()..];
    let name = name.strip_prefix(b"/").unwrap_or(name);
    let end = name.iter().rposition(|byte| *byte == b'.');
    String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned()
}

/// What an entry names, without the marks of UTF-8 that lists bring along when they are put behind each other. None where
/// nothing is left, or a remark.
pub(crate) fn target(mut entry: &[u8]) -> Option<&[u8]> {
    let mut is_marked = false;
    while let Some(rest) = entry.strip_prefix(UTF8_MARK) {
        (entry, is_marked) = (rest.trim_ascii(), true);
    }
    let is_remark = is_marked && entry.starts_with(b"#");
    (!entry.is_empty() && !is_remark).then_some(entry)
}

/// What `find` has at the place that an entry of the playlist at `path` names.
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

/// Where a target lies below the root. None when it leads out.
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

/// The same with the separators of this system, if it has others.
fn with_slashes(target: &[u8]) -> Option<Vec<u8>> {
    let other = target.contains(&b'\\');
    other.then(|| {
        let bytes = target.iter();
        bytes
            .map(|&byte| if byte == b'\\' { b'/' } else { byte })
            .collect()
    })
}

/// The same in UTF-8, if it is none.
fn from_latin1(target: &[u8]) -> Option<Vec<u8>> {
    let is_other = str::from_utf8(target).is_err();
    is_other.then(|| shown(target).into_owned().into_bytes())
}

/// The same with `%41` as a letter, if it has such.
fn without_escapes(target: &[u8]) -> Option<Vec<u8>> {
    let decoded = tags::percent_decoded(target);
    (decoded != target).then_some(decoded)
}

/// An entry as text: UTF-8, else Latin-1.
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
