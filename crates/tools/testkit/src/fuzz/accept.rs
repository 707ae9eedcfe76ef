//! Fuzz target for the Accept field.

use http1::{Request, accept::fold, accept::names};

use super::{lines_of, values, with_request};

const WEBP: &str = "image/webp";
const AVIF: &str = "image/avif";

/// Checks `bytes` as the value of an Accept field. `bytes` may also contain further field lines. A
/// media type is acceptable only if it occurs in the value; a weight of zero always excludes the
/// type. If the value has no quotes, the result equals that of a naive parser.
pub fn accept(bytes: &[u8]) {
    let lines = [b"Accept: ", bytes].concat();
    with_request("GET", &lines, |request| {
        let [avif, webp] = fold(request.accept(), &[AVIF, WEBP]);
        assert_eq!(fold(request.accept(), &[WEBP, AVIF]), [webp, avif]);
        assert!(!avif || is_within(AVIF, request));
        assert!(!webp || is_within(WEBP, request));
        // `names` must find every acceptable type. The converse does not hold: a type that is
        // listed twice, once with weight zero, is found by `names` but not acceptable.
        assert!(names(request.accept(), "image/") || !(avif || webp));
        let has_quotes = values(request, "accept")
            .iter()
            .any(|value| value.contains(&b'"'));
        if !has_quotes {
            assert_eq!([avif, webp], [AVIF, WEBP].map(|name| naive(name, request)));
        }
        assert_more_lines(request, [avif, webp]);
    });
}

fn is_within(media_type: &str, request: &Request<'_>) -> bool {
    let has = |value: &[u8]| {
        let value = value.to_ascii_lowercase();
        value
            .windows(media_type.len())
            .any(|window| window == media_type.as_bytes())
    };
    values(request, "accept").into_iter().any(has)
}

/// Checks how one more Accept line changes the result. A line with `image/webp` and a weight of
/// zero excludes only this type. A line with `image/webp` and a parameter that is not a weight
/// changes nothing, nor does a line with only other types. A line with `image/webp` alone can only
/// make this type acceptable.
fn assert_more_lines(request: &Request<'_>, [avif, webp]: [bool; 2]) {
    let lines = lines_of(request, |_| true);
    let with = |more: &str, check: &dyn Fn([bool; 2])| {
        let lines = [&lines[..], b"Accept: ", more.as_bytes()].concat();
        with_request("GET", &lines, |request| {
            check(fold(request.accept(), &[AVIF, WEBP]));
        });
    };
    with("image/webp;q=0", &|named| assert_eq!(named, [avif, false]));
    with("image/webp;a=b", &|named| assert_eq!(named, [avif, webp]));
    with("*/*, \"", &|named| assert_eq!(named, [avif, webp]));
    with("image/webp", &|named| {
        assert_eq!(named[0], avif);
        assert!(named[1] || !webp);
    });
    // Repeating the same lines does not change the result.
    let again = lines_of(request, |name| name.eq_ignore_ascii_case("accept"));
    with_request("GET", &[&lines[..], &again].concat(), |request| {
        assert_eq!(fold(request.accept(), &[AVIF, WEBP]), [avif, webp]);
    });
}

/// Returns whether `media_type` is acceptable by RFC 9110 §12.5.1, for values without quoted
/// strings.
fn naive(media_type: &str, request: &Request<'_>) -> bool {
    let mut named = false;
    for value in values(request, "accept") {
        let text: String = value.iter().map(|&byte| char::from(byte)).collect();
        for member in text.to_ascii_lowercase().split(',') {
            let mut words = member.split(';').map(|word| word.trim_matches([' ', '\t']));
            if words.next() != Some(media_type) {
                continue;
            }
            let parameters: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let weight = match parameters.as_slice() {
                [] => Some(1.0),
                [weight] => weight.strip_prefix("q=").and_then(naive_weight),
                _ => None,
            };
            match weight {
                Some(0.0) => return false,
                Some(_) => named = true,
                None => {}
            }
        }
    }
    named
}

fn naive_weight(text: &str) -> Option<f64> {
    let is_shaped = text.starts_with(['0', '1'])
        && text.len() <= 5
        && text.bytes().skip(1).take(1).all(|byte| byte == b'.')
        && text.bytes().skip(2).all(|byte| byte.is_ascii_digit());
    let weight: f64 = text.parse().ok().filter(|_| is_shaped)?;
    (weight <= 1.0).then_some(weight)
}
