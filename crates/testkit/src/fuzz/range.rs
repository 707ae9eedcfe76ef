//! Range and If-Range.

use http1::conditional::Validators;
use http1::range::{Served, evaluate};
use http1::{Request, date};

use super::{lines_of, values, with_request};

/// Lengths of the representation, small enough for ranges to meet their ends, and the largest.
const LENGTHS: [u64; 5] = [0, 1, 10, 4_096, u64::MAX];

/// The value of a Range field, behind which more lines may stand: what is served is what the naive reading serves.
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
                    served,
                    naive(request, &current, length_bytes),
                    "of {length_bytes}"
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

fn naive(request: &Request<'_>, current: &Validators<'_>, length_bytes: u64) -> Served {
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
        return Served::Whole;
    };
    match naive_spec(value, u128::from(length_bytes)) {
        Some(served) if current_is_meant => served,
        _ => Served::Whole,
    }
}

/// RFC 9110 §14.1.2 with numbers that are large enough; `None` is what is ignored.
fn naive_spec(value: &[u8], length: u128) -> Option<Served> {
    let text = str::from_utf8(value).ok()?.to_ascii_lowercase();
    let set = text.strip_prefix("bytes=")?;
    let specs = set.split(',').map(|spec| spec.trim_matches([' ', '\t']));
    let specs: Vec<&str> = specs.filter(|spec| !spec.is_empty()).collect();
    let &[spec] = specs.as_slice() else {
        return None;
    };
    let (first, last) = spec.split_once('-')?;
    let bounds = (naive_number(first), naive_number(last));
    let (start, end) = match bounds {
        (Some(first), Some(last)) if first <= last => (first, length.min(last + 1)),
        (Some(first), None) if last.is_empty() => (first, length),
        (None, Some(count)) if first.is_empty() => {
            if length == 0 && count != 0 {
                return Some(Served::Whole);
            }
            (length - count.min(length), length)
        }
        _ => return None,
    };
    if end <= start {
        return Some(Served::Unsatisfiable);
    }
    let small = |number: u128| u64::try_from(number).expect("within a length of 64 bits");
    Some(Served::Part {
        start: small(start),
        end: small(end),
    })
}

/// A number. Those beyond 64 bits are all one: each is beyond every length.
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
