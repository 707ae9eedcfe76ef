//! XMP of a picture: the tags and texts of its XML, in their order (ISO 16684-1).
//!
//! The reader validates nothing, because a text that is broken in one place may be sound in others.
//! It handles what writers of XMP use: elements, attributes, character references, CDATA sections,
//! comments and processing instructions. Callers resolve the prefixes of namespaces.

use std::borrow::Cow;

/// Text before the XMP in a JPEG segment.
pub(crate) const SEGMENT_PREFIX: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// Maximum number of bytes of a character reference between `&` and `;`, such as `#x10FFFF`.
const REFERENCE_BYTES_MAX: usize = 10;

/// Part of an XMP text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<'t> {
    /// Start tag. A tag such as `<a/>` has an event [`Event::End`], too.
    Start(Tag<'t>),
    /// End tag.
    End,
    /// Text between two tags.
    Text(Text<'t>),
}

/// Start tag of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'t> {
    pub(crate) name: Name<'t>,
    attributes: &'t str,
}

impl<'t> Tag<'t> {
    /// Returns the names and values of the attributes, up to the first malformed one.
    pub(crate) fn attributes(self) -> impl Iterator<Item = (Name<'t>, Text<'t>)> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|it| matches!(it, '"' | '\''))?;
            let (value, after) = after[1..].split_once(quote)?;
            rest = after;
            Some((Name::new(name.trim()), Text::Escaped(value)))
        })
    }
}

/// Name of an element or attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'t> {
    /// Text before the colon, which stands for a namespace; empty if there is no colon.
    pub(crate) prefix: &'t str,
    pub(crate) local: &'t str,
}

impl<'t> Name<'t> {
    fn new(name: &'t str) -> Name<'t> {
        let (prefix, local) = name.rsplit_once(':').unwrap_or(("", name));
        Name { prefix, local }
    }
}

/// Text as it is written in the XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text<'t> {
    /// Text with character references, such as `&amp;`.
    Escaped(&'t str),
    /// Content of a CDATA section, which has no character references.
    Literal(&'t str),
}

impl<'t> Text<'t> {
    /// Returns the text with its character references replaced. Unknown references stay unchanged.
    pub(crate) fn decoded(self) -> Cow<'t, str> {
        let mut rest = match self {
            Text::Escaped(text) if text.contains('&') => text,
            Text::Escaped(text) | Text::Literal(text) => return Cow::Borrowed(text),
        };
        let mut out = String::with_capacity(rest.len());
        while let Some((before, after)) = rest.split_once('&') {
            out.push_str(before);
            let end = after
                .bytes()
                .take(REFERENCE_BYTES_MAX)
                .position(|it| it == b';');
            let letter = end.and_then(|end| referenced(&after[..end]));
            match (letter, end) {
                (Some(letter), Some(end)) => {
                    out.push(letter);
                    rest = &after[end + 1..];
                }
                _ => {
                    out.push('&');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// Returns the character for a reference without `&` and `;`.
fn referenced(reference: &str) -> Option<char> {
    Some(match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

/// Returns the events of an XMP text, up to the first tag without an end.
pub(crate) fn events(text: &str) -> Events<'_> {
    Events {
        rest: text,
        is_in_empty_tag: false,
    }
}

/// Iterator over the events of an XMP text.
pub(crate) struct Events<'t> {
    rest: &'t str,
    /// True between the two events of a tag such as `<a/>`.
    is_in_empty_tag: bool,
}

impl<'t> Iterator for Events<'t> {
    type Item = Event<'t>;

    fn next(&mut self) -> Option<Event<'t>> {
        if std::mem::take(&mut self.is_in_empty_tag) {
            return Some(Event::End);
        }
        while !self.rest.is_empty() {
            let Some(markup) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Event::Text(Text::Escaped(text)));
            };
            if let Some(section) = markup.strip_prefix("![CDATA[") {
                let (text, rest) = section.split_once("]]>")?;
                self.rest = rest;
                return Some(Event::Text(Text::Literal(text)));
            }
            if markup.starts_with(['!', '?']) {
                let end = match markup.starts_with("!--") {
                    true => "-->",
                    false => ">",
                };
                self.rest = markup.split_once(end)?.1;
                continue;
            }
            let end = tag_end(markup)?;
            let tag = &markup[..end];
            self.rest = &markup[end + 1..];
            if tag.starts_with('/') {
                return Some(Event::End);
            }
            self.is_in_empty_tag = tag.ends_with('/');
            let tag = tag.trim_end_matches('/');
            let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            let name = Name::new(name);
            return Some(Event::Start(Tag { name, attributes }));
        }
        None
    }
}

/// Returns the offset of the `>` that ends a tag. Values of attributes may contain this character.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    tag.bytes().position(|byte| {
        match quote {
            None if byte == b'>' => return true,
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            Some(open) if open == byte => quote = None,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests;
