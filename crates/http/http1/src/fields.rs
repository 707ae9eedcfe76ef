//! Field lines of a request. The section of the head with the field lines is validated once.
//! Iterators then split this section into names and values on demand.

/// Fields that are needed to parse a request, or to answer it from a cache. The discriminant is the
/// index in [`KNOWN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Host,
    Accept,
    Range,
    Expect,
    IfMatch,
    IfRange,
    Connection,
    IfNoneMatch,
    ContentLength,
    IfModifiedSince,
    TransferEncoding,
    IfUnmodifiedSince,
}

const KNOWN: [(Known, &str); 12] = [
    (Known::Host, "host"),
    (Known::Accept, "accept"),
    (Known::Range, "range"),
    (Known::Expect, "expect"),
    (Known::IfMatch, "if-match"),
    (Known::IfRange, "if-range"),
    (Known::Connection, "connection"),
    (Known::IfNoneMatch, "if-none-match"),
    (Known::ContentLength, "content-length"),
    (Known::IfModifiedSince, "if-modified-since"),
    (Known::TransferEncoding, "transfer-encoding"),
    (Known::IfUnmodifiedSince, "if-unmodified-since"),
];

const _: () = {
    let mut at = 0;
    while at < KNOWN.len() {
        assert!(
            KNOWN[at].0 as usize == at,
            "KNOWN is in the order of the enum"
        );
        at += 1;
    }
};

impl Known {
    /// Returns the known field of this name, if any.
    pub(crate) fn from_name(name: &str) -> Option<Known> {
        KNOWN
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map(|(known, _)| *known)
    }
}

/// Positions of the known fields in the section of field lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownFields<'a> {
    counts: [u8; KNOWN.len()],
    /// For each field, the span from the start of the first value to the end of the last value.
    spans: [&'a [u8]; KNOWN.len()],
}

impl<'a> KnownFields<'a> {
    /// Records one more line of the field `known`. `value`, the value of the line, lies within
    /// `section`.
    pub(crate) fn note(&mut self, known: Known, section: &'a [u8], value: &'a [u8]) {
        let at = known as usize;
        self.spans[at] = extend_span(section, self.counts[at] != 0, self.spans[at], value);
        self.counts[at] = self.counts[at].saturating_add(1);
    }

    pub(crate) fn values(&self, known: Known) -> Values<'a> {
        let at = known as usize;
        Values {
            name: KNOWN[at].1,
            count: usize::from(self.counts[at]),
            span: self.spans[at],
        }
    }
}

/// Returns `span`, extended to the end of `value`. If `found` is false, there is no span yet, and
/// `value` itself is returned.
fn extend_span<'a>(section: &'a [u8], found: bool, span: &'a [u8], value: &'a [u8]) -> &'a [u8] {
    let begin = offset_in(section, if found { span } else { value });
    &section[begin..offset_in(section, value) + value.len()]
}

/// Returns the offset of `part` in `whole`, which contains it.
pub(crate) fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    let offset = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    assert!(offset <= whole.len(), "`part` does not lie within `whole`");
    offset
}

/// Iterator over the field lines of a request, in order.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Creates the iterator. `section` consists of whole, validated lines, each with its CRLF.
    pub(crate) fn new(section: &'a [u8]) -> Fields<'a> {
        Fields { rest: section }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, &'a [u8]);

    fn next(&mut self) -> Option<(&'a str, &'a [u8])> {
        let colon = self.rest.iter().position(|&byte| byte == b':')?;
        let (name, rest) = self.rest.split_at(colon);
        let line_end = rest.iter().position(|&byte| byte == b'\r');
        let (value, rest) = rest.split_at(line_end.unwrap_or(rest.len()));
        let value = trim(&value[1..]);
        self.rest = rest.get(2..).unwrap_or(&[]);
        let name = str::from_utf8(name).expect("a name that was parsed is a token");
        Some((name, value))
    }
}

/// Values of all field lines with one name. RFC 9110 §5.3: the values of a list-valued field form
/// one list.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    name: &'static str,
    count: usize,
    /// Value of the line, if there is only one. Otherwise the bytes from the start of the first
    /// value to the end of the last value, including all lines between them.
    span: &'a [u8],
}

impl<'a> Values<'a> {
    pub(crate) fn find(section: &'a [u8], name: &'static str) -> Values<'a> {
        let mut values = Values {
            name,
            count: 0,
            span: &[],
        };
        for (_, value) in Fields::new(section).filter(|(at, _)| at.eq_ignore_ascii_case(name)) {
            values.span = extend_span(section, values.count != 0, values.span, value);
            values.count += 1;
        }
        values
    }

    /// Returns whether no line has this name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns how many lines have this name.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns the value if exactly one line has this name.
    #[must_use]
    pub fn only(&self) -> Option<&'a [u8]> {
        (self.count == 1).then_some(self.span)
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = &'a [u8];
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        let first_end = match self.count {
            0 | 1 => None,
            _ => self.span.iter().position(|&byte| byte == b'\r'),
        };
        let (first, rest) = self.span.split_at(first_end.unwrap_or(self.span.len()));
        ValuesIter {
            name: self.name,
            first: (self.count != 0).then_some(trim(first)),
            rest: Fields::new(rest.get(2..).unwrap_or(&[])),
        }
    }
}

/// Iterator over [`Values`].
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    name: &'static str,
    first: Option<&'a [u8]>,
    rest: Fields<'a>,
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let name = self.name;
        self.first.take().or_else(|| {
            self.rest
                .find(|(at, _)| at.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        })
    }
}

/// Removes white space from both ends; RFC 9110 §5.6.3.
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
