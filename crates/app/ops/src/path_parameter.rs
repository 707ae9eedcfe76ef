//! Parameter of a query that names a file or folder of the library.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use percent_encoding::percent_decode_str;
use variants::library::LibraryPath;

/// Returns the path in the parameter `name` of a query. Returns `None` for an empty query, which
/// means the whole library to callers. A parameter with another name is an error: a misspelt name
/// must not select the whole library.
///
/// # Errors
/// If the query has another parameter, or if the value cannot name a file or folder of the library.
pub(crate) fn path_parameter(
    query: Option<&str>,
    name: &str,
) -> Result<Option<LibraryPath>, InvalidPath> {
    let Some(query) = query.filter(|query| !query.is_empty()) else {
        return Ok(None);
    };
    let value = match query.split_once('=') {
        Some((found, value)) if found == name && !value.contains('&') => value,
        _ => return Err(InvalidPath),
    };
    let decoded: Vec<u8> = percent_decode_str(value).collect();
    let relative = decoded.strip_prefix(b"/").unwrap_or(&decoded);
    let relative = relative.strip_suffix(b"/").unwrap_or(relative);
    let has_no_nul = !relative.contains(&0);
    let path = LibraryPath::from_relative(Path::new(OsStr::from_bytes(relative)));
    match path.filter(|_| has_no_nul) {
        Some(path) => Ok(Some(path)),
        None => Err(InvalidPath),
    }
}

/// Error of a query that has an unexpected parameter, or a value that cannot name a file or folder
/// of the library.
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
        assert_eq!(path_parameter(Some(""), "path"), Ok(None));
        assert_eq!(path("path=%2Fa%20b/c/"), Ok(Some("a b/c".into())));
        for wrong in [
            "paths=a",
            "path=a&x=1",
            "x=1&path=a",
            "path",
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
