//! Short byte strings, glob patterns, and numbers as text.

use std::fmt;

use crate::memory::allocated;

/// Maximum length of a string that is stored in a [`Key`] itself.
const INLINE: usize = 22;

/// An immutable byte string of 24 bytes: up to 22 bytes are inline, a longer string is on the heap.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

impl Key {
    pub(crate) fn new(text: &[u8]) -> Self {
        if text.len() <= INLINE {
            let mut bytes = [0; INLINE];
            bytes[..text.len()].copy_from_slice(text);
            let len = text.len() as u8;
            Self::Inline { len, bytes }
        } else {
            Self::Heap(text.into())
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Inline { len, bytes } => &bytes[..*len as usize],
            Self::Heap(bytes) => bytes,
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Inline { .. } => 0,
            Self::Heap(bytes) => allocated(bytes.len()),
        }
    }

    /// Reallocates the key's bytes, if they are on the heap.
    pub(crate) fn reallocate(&mut self) {
        if let Self::Heap(bytes) = self {
            *bytes = bytes.clone();
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().escape_ascii().fmt(to)
    }
}

/// Parses a floating-point number by the rules of Redis: surrounding blanks and NaN are invalid.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = text.parse().ok()?;
    (!value.is_nan()).then_some(value)
}

/// Returns the text of a floating-point number, as in replies.
pub(crate) fn double_text(value: f64) -> Vec<u8> {
    let mut text = Vec::with_capacity(24);
    resp::double(value, &mut text);
    text
}

/// Returns whether `text` matches a glob pattern: `*`, `?`, `[a-z]`, `[^a]`, and `\` before a
/// literal.
#[must_use]
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let mut pattern = pattern;
    let mut text = text;
    // Pattern after the last star, and the text that the star has not consumed yet.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            pattern = rest;
            retry = Some((rest, text));
            if rest.is_empty() {
                return true;
            }
            continue;
        }
        if let [byte, after @ ..] = text {
            if let Some(rest) = match_one(pattern, *byte) {
                pattern = rest;
                text = after;
                continue;
            }
        } else if pattern.is_empty() {
            return true;
        }
        let Some((rest, [_, after @ ..])) = retry else {
            return false;
        };
        retry = Some((rest, after));
        pattern = rest;
        text = after;
    }
}

/// Returns the rest of the pattern after its first element, if that element matches `byte`.
fn match_one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', class @ ..] => match_class(class, byte),
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// Returns the pattern after the `]` of a class such as `[a-z]`, if the class matches `byte`. A
/// class without `]` extends to the end of the pattern.
fn match_class(class: &[u8], byte: u8) -> Option<&[u8]> {
    let (negated, mut class) = match class {
        [b'^', class @ ..] => (true, class),
        class => (false, class),
    };
    let mut found = false;
    loop {
        match class {
            [] => break,
            [b']', rest @ ..] => {
                class = rest;
                break;
            }
            [b'\\', literal, rest @ ..] => {
                found |= *literal == byte;
                class = rest;
            }
            [from, b'-', to, rest @ ..] => {
                found |= (*from.min(to)..=*from.max(to)).contains(&byte);
                class = rest;
            }
            [literal, rest @ ..] => {
                found |= *literal == byte;
                class = rest;
            }
        }
    }
    (found != negated).then_some(class)
}

#[cfg(test)]
mod tests;
