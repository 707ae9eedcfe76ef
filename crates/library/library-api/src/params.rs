//! Parameters of a query or a form.

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
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'+' => out.push(b' '),
            b'%' => match escape(rest) {
                Some(escaped) => {
                    out.push(escaped);
                    rest = &rest[2..];
                }
                None => out.push(b'%'),
            },
            other => out.push(other),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

fn escape(rest: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*rest.get(at)?).to_digit(16);
    Some((digit(0)? << 4 | digit(1)?) as u8)
}

/// Percent-encodes a path for a target: everything except slashes and the unreserved characters of
/// RFC 3986 §2.3.
pub(crate) fn encoded(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len() + 8);
    for &byte in path {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    out
}
