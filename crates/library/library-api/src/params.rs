//! Parameters of a query or a form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use std::borrow::Cow;

/// Parameters in order; a name may occur more than once.
#[derive(Clone, Debug, Default)]
pub struct Params<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Params<'a> {
    /// Parses `application/x-www-form-urlencoded` text, for example a query.
    #[must_use]
    pub fn parse(text: &'a str) -> Params<'a> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let decoded = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Params(decoded.collect())
    }

    /// Appends the parameters of another query or form.
    pub fn extend(&mut self, text: &'a str) {
        self.0.extend(Params::parse(text).0);
    }

    /// Returns the first value of `name`, if any.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns all values of `name`, in order.
    pub fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        let pairs = self.0.iter().filter(move |(known, _)| known == name);
        pairs.map(|(_, value)| &**value)
    }
}

/// Decodes percent-encoding and `+`. A broken escape is left unchanged; invalid UTF-8 is replaced
/// with U+FFFD.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

/// Bytes that [`encoded`] escapes.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Percent-encodes a path for use in a request target: everything except slashes and the unreserved
/// characters of RFC 3986 §2.3.
pub(crate) fn encoded(path: &[u8]) -> String {
    percent_encode(path, RESERVED).to_string()
}
