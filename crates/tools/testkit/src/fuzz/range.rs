//! Fuzz target for Range and If-Range.

use http1::conditional::Validators;
use http1::range::{PARTS_MAX, Served, evaluate};
use http1::{Request, date};

use super::{lines_of, values, with_request};

/// Lengths of the representation: small ones, which the ranges in short inputs can exceed, and the
/// largest.
const LENGTHS: [u64; 5] = [0, 1, 10, 4_096, u64::MAX];

/// Checks `bytes` as the value of a Range field; `bytes` may also contain further field lines. The
/// served parts of the representation are the same as for a naive parser.
pub fn range(bytes: &[u8]) {
    let lines = [b"Range: ", bytes].concat();
    for last_modified_is_strong in [false, true] {
        let current = Validators {
            etag: "\"a\"",
            last_modified_unix_s: Some(784_111_777),
            last_modified_is_strong,
        };
        with_request("GET", &lines, |request| {
            for length_bytes in LENGTHS {
                let served = evaluate(request, &current, length_bytes);
                assert_eq!(
                    parts(&served),
                    naive(request, &current, length_bytes),
                    "length {length_bytes}"
                );
            }
            assert_only_get_has_ranges(request, &current);
        });
    }
}

fn assert_only_get_has_ranges(request: &Request<'_>, current: &Validators<'_>) {
    let lines = lines_of(request, |name| !name.eq_ignore_ascii_case("content-length"));
    for method in ["HEAD", "OPTIONS", "POST"] {
        with_request(method, &lines, |request| {
            assert_eq!(evaluate(request, current, 10), Served::Whole, "{method}");
        });
    }
}

/// Returns the parts to serve as pairs of start and end. `None` means the whole representation, and
/// an empty list means status 416.
fn parts(served: &Served) -> Option<Vec<(u64, u64)>> {
    match *served {
        Served::Whole => None,
        Served::Part { start, end } => Some(vec![(start, end)]),
        Served::Parts(parts) => Some(parts.iter().collect()),
        Served::Unsatisfiable => Some(Vec::new()),
    }
}

fn naive(
    request: &Request<'_>,
    current: &Validators<'_>,
    length_bytes: u64,
) -> Option<Vec<(u64, u64)>> {
    let ranges = values(request, "range");
    let conditions = values(request, "if-range");
    let current_is_meant = match conditions.as_slice() {
        [] => true,
        [value] => {
            let is_date = date::parse(value) == current.last_modified_unix_s;
            *value == current.etag.as_bytes() || (current.last_modified_is_strong && is_date)
        }
        _ => false,
    };
    let &[value] = ranges.as_slice() else {
        return None;
    };
    naive_set(value, u128::from(length_bytes)).filter(|_| current_is_meant)
}

/// Evaluates a Range field by RFC 9110 §14.1.2, with 128-bit numbers, which cannot overflow.
/// Returns `None` if the field must be ignored.
fn naive_set(value: &[u8], length: u128) -> Option<Vec<(u64, u64)>> {
    let text = str::from_utf8(value).ok()?.to_ascii_lowercase();
    let set = text.strip_prefix("bytes=")?;
    let specs = set.split(',').map(|spec| spec.trim_matches([' ', '\t']));
    let specs: Vec<&str> = specs.filter(|spec| !spec.is_empty()).collect();
    if specs.is_empty() || PARTS_MAX < specs.len() {
        return None;
    }
    let mut wanted = Vec::new();
    for spec in specs {
        let (first, last) = spec.split_once('-')?;
        let bounds = (naive_number(first), naive_number(last));
        wanted.push(match bounds {
            (Some(first), Some(last)) if first <= last => (first, length.min(last + 1)),
            (Some(first), None) if last.is_empty() => (first, length),
            (None, Some(count)) if first.is_empty() => {
                if length == 0 && count != 0 {
                    // A suffix range selects the whole of an empty representation, which is sent
                    // with status 200. So the field is ignored, even if a later range is malformed.
                    return None;
                }
                (length - count.min(length), length)
            }
            _ => return None,
        });
    }
    wanted.retain(|(start, end)| start < end);
    wanted.sort_unstable();
    let mut joined: Vec<(u128, u128)> = Vec::new();
    for (start, end) in wanted {
        match joined.last_mut() {
            Some(last) if start <= last.1 + 128 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    let small = |number: u128| {
        u64::try_from(number).expect("the offset is below the length, which has 64 bits")
    };
    let small = |(start, end)| (small(start), small(end));
    Some(joined.into_iter().map(small).collect())
}

/// Parses a number. Numbers above 64 bits become `u64::MAX`, because they exceed every length.
fn naive_number(digits: &str) -> Option<u128> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    match significant {
        "" => Some(0),
        _ => Some(u128::from(significant.parse().unwrap_or(u64::MAX))),
    }
}
