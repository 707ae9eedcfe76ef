//! Byte ranges: RFC 9110 §14.

use crate::conditional::{Validators, strongly_equal};
use crate::date;
use crate::fields::trim;
use crate::{Method, Request};

/// Portion of the representation to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// 200 with the whole representation.
    Whole,
    /// 206 with the bytes `start..end`, at least one byte.
    Part {
        /// Offset of the first byte.
        start: u64,
        /// Offset after the last byte, at most the length.
        end: u64,
    },
    /// 206 with several parts (§14.6).
    Parts(Parts),
    /// 416, with the length in Content-Range.
    Unsatisfiable,
}

/// Maximum number of ranges per request. With more, the whole representation is sent, as §14.2 lets
/// a server do.
pub const PARTS_MAX: usize = 10;

/// Maximum gap between two ranges that are merged into one part. Sending the gap costs no more than
/// the head that a second part would need. Merging also limits the response to about the length of
/// the representation. A request for many small or overlapping ranges is thus useless as an attack
/// (§17.15).
const GAP_BYTES_MAX: u64 = 128;

/// At least two parts in ascending order. Each part is non-empty, and is separated from the next
/// part by more than `GAP_BYTES_MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    parts: [(u64, u64); PARTS_MAX],
    count: usize,
}

impl Parts {
    /// Returns the parts. Each part is the offset of its first byte and the offset after its last
    /// byte.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.parts[..self.count].iter().copied()
    }
}

/// Evaluates Range and If-Range for a representation of `length_bytes`. Call after the
/// preconditions let the request proceed (RFC 9110 §13.2.2, step 5).
#[must_use]
pub fn evaluate(request: &Request<'_>, current: &Validators<'_>, length_bytes: u64) -> Served {
    // §14.2: Range has a meaning only in a GET.
    if request.method != Method::Get {
        return Served::Whole;
    }
    let Some(specs) = request.range().only().and_then(Specs::read) else {
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
    specs.select(length_bytes)
}

/// Range as the client wrote it. Numbers that exceed 64 bits are clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spec {
    From(u64),
    FromTo(u64, u64),
    Last(u64),
}

/// Ranges of one Range field, in the order in which the client wrote them.
struct Specs {
    specs: [Spec; PARTS_MAX],
    count: usize,
}

impl Specs {
    /// Parses a Range field. Returns `None`, so that the field is ignored (§14.2), for an unknown
    /// unit, too many ranges, or malformed input.
    fn read(value: &[u8]) -> Option<Specs> {
        let equals = value.iter().position(|&byte| byte == b'=')?;
        let (unit, set) = (&value[..equals], &value[equals + 1..]);
        if !unit.eq_ignore_ascii_case(b"bytes") {
            return None;
        }
        let mut read = Specs {
            specs: [Spec::From(0); PARTS_MAX],
            count: 0,
        };
        let specs = set.split(|&byte| byte == b',').map(trim);
        for spec in specs.filter(|spec| !spec.is_empty()) {
            *read.specs.get_mut(read.count)? = Spec::read(spec)?;
            read.count += 1;
        }
        (read.count != 0).then_some(read)
    }

    fn select(&self, length_bytes: u64) -> Served {
        let mut parts = [(0, 0); PARTS_MAX];
        let mut count = 0;
        for spec in &self.specs[..self.count] {
            match select(*spec, length_bytes) {
                Served::Part { start, end } => {
                    parts[count] = (start, end);
                    count += 1;
                }
                Served::Unsatisfiable => {}
                other => return other,
            }
        }
        // §14.2: overlapping ranges, and ranges with a gap shorter than a part's head, may be
        // merged.
        parts[..count].sort_unstable();
        let mut last = 0;
        for at in 1..count {
            let (start, end) = parts[at];
            if start <= parts[last].1.saturating_add(GAP_BYTES_MAX) {
                parts[last].1 = parts[last].1.max(end);
            } else {
                last += 1;
                parts[last] = (start, end);
            }
        }
        match (count, last) {
            (0, _) => Served::Unsatisfiable,
            (_, 0) => Served::Part {
                start: parts[0].0,
                end: parts[0].1,
            },
            _ => Served::Parts(Parts {
                parts,
                count: last + 1,
            }),
        }
    }
}

impl Spec {
    fn read(spec: &[u8]) -> Option<Spec> {
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

/// Returns the bytes of a representation that a range selects: §14.1.2.
fn select(spec: Spec, length_bytes: u64) -> Served {
    let (start, end) = match spec {
        Spec::From(first) => (first, length_bytes),
        Spec::FromTo(first, last) => (first, last.saturating_add(1).min(length_bytes)),
        // A suffix range of an empty representation is satisfiable, but Content-Range cannot
        // express it, so the response is a 200.
        Spec::Last(count) if count != 0 && length_bytes == 0 => return Served::Whole,
        Spec::Last(count) => (length_bytes.saturating_sub(count), length_bytes),
    };
    if start < end {
        Served::Part { start, end }
    } else {
        Served::Unsatisfiable
    }
}

/// Returns whether the If-Range field `value` matches the current representation (§13.1.5): the
/// strong entity tag is equal, or the date is equal and a strong validator.
fn is_current(value: &[u8], current: &Validators<'_>) -> bool {
    if strongly_equal(value, current.etag) {
        return true;
    }
    current.last_modified_is_strong
        && current.last_modified_unix_s.is_some()
        && date::parse(value) == current.last_modified_unix_s
}
