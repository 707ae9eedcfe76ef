//! Byte ranges: RFC 9110 §14.

use crate::conditional::{Validators, strongly_equal};
use crate::date;
use crate::fields::trim;
use crate::{Method, Request};

/// How much of the representation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// 200 with everything.
    Whole,
    /// 206 with the bytes `start..end`, of which there is at least one.
    Part {
        /// First byte.
        start: u64,
        /// One past the last byte, at most the length.
        end: u64,
    },
    /// 416, with the length in Content-Range.
    Unsatisfiable,
}

/// Evaluates Range and If-Range for a representation of `length_bytes`. To be asked after the preconditions let the
/// request proceed (RFC 9110 §13.2.2, step 5).
///
/// Several ranges are answered with everything: §14.2 lets a server ignore Range, a client of pictures or music never
/// asks for several, and many small or overlapping ones are an attack (§17.15).
#[must_use]
pub fn evaluate(request: &Request<'_>, current: &Validators<'_>, length_bytes: u64) -> Served {
    // §14.2: Range means nothing but in a GET.
    if request.method != Method::Get {
        return Served::Whole;
    }
    let Some(spec) = request.range().only().and_then(single) else {
        return Served::Whole;
    };
    let if_range = request.if_range();
    if !if_range.is_empty()
        && !if_range
            .only()
            .is_some_and(|value| is_current(value, current))
    {
        return Served::Whole;
    }
    select(spec, length_bytes)
}

/// A range as the client wrote it. Numbers too large for 64 bits are as good as the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spec {
    From(u64),
    FromTo(u64, u64),
    Last(u64),
}

/// The one range of the field. An unknown unit, several ranges, or anything malformed: none (§14.2: ignored).
fn single(value: &[u8]) -> Option<Spec> {
    let equals = value.iter().position(|&byte| byte == b'=')?;
    let (unit, set) = (&value[..equals], &value[equals + 1..]);
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let mut specs = set
        .split(|&byte| byte == b',')
        .map(trim)
        .filter(|spec| !spec.is_empty());
    let spec = specs.next()?;
    if specs.next().is_some() {
        return None;
    }
    let dash = spec.iter().position(|&byte| byte == b'-')?;
    match (&spec[..dash], &spec[dash + 1..]) {
        (b"", last) => number(last).map(Spec::Last),
        (first, b"") => number(first).map(Spec::From),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Spec::FromTo(first, last))
        }
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0_u64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    }))
}

/// §14.1.2.
fn select(spec: Spec, length_bytes: u64) -> Served {
    let (start, end) = match spec {
        Spec::From(first) => (first, length_bytes),
        Spec::FromTo(first, last) => (first, last.saturating_add(1).min(length_bytes)),
        // The last bytes of nothing are satisfiable, but no Content-Range can say so.
        Spec::Last(count) if count != 0 && length_bytes == 0 => return Served::Whole,
        Spec::Last(count) => (length_bytes.saturating_sub(count), length_bytes),
    };
    if start < end {
        Served::Part { start, end }
    } else {
        Served::Unsatisfiable
    }
}

/// §13.1.5: the part the client has is of the same bytes: an equal strong entity tag, or the exact date where a date
/// is a strong validator.
fn is_current(value: &[u8], current: &Validators<'_>) -> bool {
    if strongly_equal(value, current.etag) {
        return true;
    }
    current.last_modified_is_strong
        && current.last_modified_unix_s.is_some()
        && date::parse(value) == current.last_modified_unix_s
}
