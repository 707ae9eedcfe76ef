//! Names of downloads, and of the files within a downloaded archive.

use std::collections::HashSet;

use crate::params::encoded;

/// Returns a Content-Disposition value (RFC 6266 §4.3) for a download. The name is encoded by RFC
/// 8187, as names contain non-ASCII letters.
pub(crate) fn attachment(name: &[u8]) -> String {
    format!("attachment; filename*=UTF-8''{}", encoded(name))
}

/// Returns the target of each file in the library, percent-encoded.
pub(crate) fn targets(paths: &[Vec<u8>]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("/{}", encoded(path)))
}

/// Returns a name for each file of a list. A name begins with the file's number in the list, so
/// that the files keep their order when sorted by name.
pub(crate) fn numbered(paths: &[Vec<u8>]) -> Vec<String> {
    let width = paths.len().to_string().len();
    let names = paths
        .iter()
        .map(|path| path.rsplit(|&byte| byte == b'/').next().unwrap_or(path));
    let names = (1..).zip(names);
    names
        .map(|(number, name): (usize, _)| format!("{number:0width$} {}", in_archive(name)))
        .collect()
}

/// Returns a name for each file: its path below the common folder of all files, with a number in
/// front if another file has the same name.
pub(crate) fn below_common_folder(paths: &[Vec<u8>]) -> Vec<String> {
    let folder = common_folder(paths);
    let mut taken = HashSet::new();
    let names = paths.iter().map(|path| in_archive(&path[folder.len()..]));
    let names = (1..).zip(names).map(|(number, name): (usize, String)| {
        if taken.insert(name.clone()) {
            name
        } else {
            format!("{number} {name}")
        }
    });
    names.collect()
}

/// Returns the deepest folder that contains all files, with a slash at the end, or an empty path
/// for the root.
pub(crate) fn common_folder(paths: &[Vec<u8>]) -> &[u8] {
    let mut folder = paths.first().map_or(&b""[..], |path| parent(path));
    for path in paths {
        while !path.starts_with(folder) {
            folder = parent(folder.strip_suffix(b"/").unwrap_or(folder));
        }
    }
    folder
}

/// Returns the folder of a path, with a slash at the end.
fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte == b'/');
    end.map_or(&[], |end| &path[..=end])
}

/// Replaces characters that programs misinterpret when they unpack an archive.
fn in_archive(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    text.replace(|letter: char| letter == '\\' || letter.is_control(), "_")
}
