//! Source of an imgproxy URL: the part of its path after the options.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{ImgproxyError, decode_base64url};

/// Beginning of a source that is a file of the library.
const LOCAL: &str = "local:///";
/// Characters that are escaped in a target. A source has its own rule for `%` and `?`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Splits the part of a path after the options into the source and the extension, if any. Decodes
/// the source.
pub(super) fn split(rest: &str) -> Result<(String, Option<&str>), ImgproxyError> {
    let (encoded, separator) = match rest.strip_prefix("plain/") {
        Some(plain) => (plain, '@'),
        None => (rest, '.'),
    };
    let (source, extension) = match encoded.split_once(separator) {
        Some((source, extension)) => (source, Some(extension)),
        None => (encoded, None),
    };
    if source.is_empty() {
        return Err(ImgproxyError::path("the URL has no source"));
    }
    if extension.is_some_and(|extension| extension.contains(separator)) {
        let problem = "the URL has more than one extension; write @ in a plain source as %40";
        return Err(ImgproxyError::path(problem));
    }
    let extension = extension.filter(|extension| !extension.is_empty());
    let decoded = match separator {
        '@' => plain(source)?,
        _ => from_base64(source)?,
    };
    Ok((decoded, extension))
}

fn plain(source: &str) -> Result<String, ImgproxyError> {
    let mut triplets = source.split('%').skip(1);
    let is_valid = triplets.all(|part| {
        let digits = part.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let decoded = percent_decode_str(source).decode_utf8();
    match decoded {
        Ok(decoded) if is_valid => Ok(decoded.into_owned()),
        _ => Err(ImgproxyError::path(
            "the source has malformed percent-encoding",
        )),
    }
}

/// Decodes a source in base64url. Slashes may divide it, and padding is ignored.
fn from_base64(source: &str) -> Result<String, ImgproxyError> {
    let joined = source.replace('/', "");
    let decoded = decode_base64url(joined.trim_end_matches('='));
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.ok_or_else(|| {
        let problem = "the source is neither plain/URL nor base64url; if it is meant as an option, its colon is missing";
        ImgproxyError::path(problem)
    })
}

/// Returns the path of the library file that `source` names, percent-encoded as in a target. As in
/// imgproxy, percent signs of the source are literal, and a question mark ends the path.
pub(super) fn library_path(source: &str) -> Result<String, ImgproxyError> {
    let Some(path) = source.strip_prefix(LOCAL) else {
        return Err(ImgproxyError::source(match source.contains("://") {
            true => "the source is not local:///PATH; remote sources are not supported yet",
            false => "the source has no scheme; local:///PATH names a file of the library",
        }));
    };
    let path = path.trim_start_matches('/');
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    Ok(format!("/{}", utf8_percent_encode(path, ESCAPED)))
}
