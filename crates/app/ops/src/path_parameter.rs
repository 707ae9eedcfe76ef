//! Parameter of a query that names a file or folder of the library.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use percent_encoding::percent_decode_str;
use variants::library::LibraryPath;

/// Returns the path in the parameter `name`; `None` if the query lacks the parameter.
///
/// # Errors
/// If the value cannot name a file or folder of the library.
pub(crate) fn path_parameter(
    query: Option<&str>,
    name: &str,
) -> Result<Option<LibraryPath>, InvalidPath> {
    let pairs = query.unwrap_or("").split('&');
    let mut values = pairs.filter_map(|pair| match pair.split_once('=') {
        Some((found, value)) if found == name => Some(value),
        _ => None,
    });
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let decoded: Vec<u8> = percent_decode_str(value).collect();
    let relative = decoded.strip_prefix(b"/").unwrap_or(&decoded);
    let relative = relative.strip_suffix(b"/").unwrap_or(relative);
    let is_text = !relative.contains(&0);
    let path = LibraryPath::from_relative(Path::new(OsStr::from_bytes(relative)));
    match path.filter(|_| is_text) {
        Some(path) => Ok(Some(path)),
        None => Err(InvalidPath),
    }
}

/// Error of a parameter whose value cannot name a file or folder of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidPath;

#[cfg(test)]
mod tests {
    use super::{InvalidPath, path_parameter};

    #[test]
    fn a_path_is_decoded_and_cannot_leave_the_library() {
        let path = |query| {
            path_parameter(Some(query), "path").map(|path| path.map(|it| it.as_path().to_owned()))
        };
        assert_eq!(path_parameter(None, "path"), Ok(None));
        assert_eq!(path("paths=a"), Ok(None));
        assert_eq!(path("x=1&path=%2Fa%20b/c/"), Ok(Some("a b/c".into())));
        for wrong in [
            "path=",
            "path=/",
            "path=a/../b",
            "path=.git",
            "path=a//b",
            "path=a%00",
        ] {
            assert_eq!(path(wrong), Err(InvalidPath), "{wrong}");
        }
    }
}
