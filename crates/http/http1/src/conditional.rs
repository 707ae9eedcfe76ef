//! Preconditions of conditional requests: RFC 9110 §13.

use crate::date;
use crate::fields::trim;
use crate::{Method, Request, Values};

/// Validators of the representation that would be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validators<'a> {
    /// Entity tag as in the ETag field, including the quotes.
    pub etag: &'a str,
    /// Date in the Last-Modified field, in seconds since 1970. `None` if the response has no
    /// Last-Modified field.
    pub last_modified_unix_s: Option<i64>,
    /// True if no two representations of this target ever share a date, so that a client may use
    /// the date to combine two parts (RFC 9110 §8.8.2.2). False if the target has several formats
    /// to negotiate, or if a provisional representation is later replaced by a better one.
    pub last_modified_is_strong: bool,
}

/// Outcome of the preconditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Serve the request, with its range, if any.
    Proceed,
    /// 304: the client's copy is current.
    NotModified,
    /// 412: the representation that the client named is not the current one.
    PreconditionFailed,
}

/// Evaluates the request's preconditions in the order of RFC 9110 §13.2.2. Call this function only
/// if the response without preconditions would be 2xx. Returns [`Verdict::Proceed`] for methods
/// other than GET and HEAD, because here these methods select no representation (§13.2.1).
#[must_use]
pub fn evaluate(request: &Request<'_>, current: &Validators<'_>) -> Verdict {
    if !matches!(request.method, Method::Get | Method::Head) {
        return Verdict::Proceed;
    }
    let if_match = request.if_match();
    if !if_match.is_empty() {
        if !matches(if_match, |tag| strongly_equal(tag, current.etag)) {
            return Verdict::PreconditionFailed;
        }
    } else if let Some(since) = date_of(request.if_unmodified_since())
        && let Some(modified) = current.last_modified_unix_s
        && since < modified
    {
        return Verdict::PreconditionFailed;
    }
    let if_none_match = request.if_none_match();
    if !if_none_match.is_empty() {
        if matches(if_none_match, |tag| weakly_equal(tag, current.etag)) {
            return Verdict::NotModified;
        }
    } else if let Some(since) = date_of(request.if_modified_since())
        && let Some(modified) = current.last_modified_unix_s
        && modified <= since
    {
        return Verdict::NotModified;
    }
    Verdict::Proceed
}

/// Parses the date of a field. RFC 9110 §13.1.3, §13.1.4: a field that is not a date, or occurs
/// twice, is ignored.
fn date_of(values: Values<'_>) -> Option<i64> {
    values.only().and_then(date::parse)
}

/// Returns whether the field is `*`, or contains an entity tag for which `is_equal` returns true.
/// Members that are not entity tags are skipped.
fn matches(values: Values<'_>, is_equal: impl Fn(&[u8]) -> bool) -> bool {
    if values.only() == Some(b"*") {
        return true;
    }
    values.into_iter().flat_map(EntityTags).any(is_equal)
}

/// Compares strongly, RFC 9110 §8.8.3.2: both tags are strong and identical.
pub(crate) fn strongly_equal(tag: &[u8], current: &str) -> bool {
    tag.starts_with(b"\"") && tag == current.as_bytes()
}

/// Compares weakly, RFC 9110 §8.8.3.2: the tags are identical apart from `W/`.
fn weakly_equal(tag: &[u8], current: &str) -> bool {
    opaque(tag) == opaque(current.as_bytes())
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// Iterator over the entity tags of a comma-separated list. A comma inside the quotes of a tag does
/// not end the tag. A list member that is not an entity tag is skipped up to the next comma.
struct EntityTags<'a>(&'a [u8]);

impl<'a> Iterator for EntityTags<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.0.is_empty() {
            let rest = trim(self.0);
            let tag_bytes = entity_tag_bytes(rest).unwrap_or(0);
            let (tag, rest) = rest.split_at(tag_bytes);
            let comma = rest.iter().position(|&byte| byte == b',');
            let (between, rest) = rest.split_at(comma.unwrap_or(rest.len()));
            self.0 = rest.get(1..).unwrap_or(&[]);
            if !tag.is_empty() && trim(between).is_empty() {
                return Some(tag);
            }
        }
        None
    }
}

/// Returns the length of the entity tag at the start of `value`, if any: RFC 9110 §8.8.3.
pub(crate) fn entity_tag_bytes(value: &[u8]) -> Option<usize> {
    let quoted = opaque(value).strip_prefix(b"\"")?;
    let end = quoted
        .iter()
        .position(|&byte| !matches!(byte, 0x21 | 0x23..=0x7e | 0x80..))?;
    (quoted[end] == b'"').then_some(value.len() - quoted.len() + end + 1)
}
