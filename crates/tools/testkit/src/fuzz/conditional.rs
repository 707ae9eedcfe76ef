//! Fuzz target for preconditions of HTTP requests, such as If-None-Match.

use http1::conditional::{Validators, Verdict, evaluate};
use http1::{Request, date};

use super::{lines_of, values, with_request};

const CURRENT: [Validators<'_>; 4] = [
    Validators {
        etag: "\"a\"",
        last_modified_unix_s: Some(784_111_777),
        last_modified_is_strong: false,
    },
    Validators {
        etag: "W/\"a\"",
        last_modified_unix_s: Some(784_111_777),
        last_modified_is_strong: false,
    },
    Validators {
        etag: "\"a,b\"",
        last_modified_unix_s: None,
        last_modified_is_strong: false,
    },
    Validators {
        etag: "\"\"",
        last_modified_unix_s: Some(0),
        last_modified_is_strong: true,
    },
];

/// Checks the verdict on a request with the field lines `bytes`. One of the fields must justify the
/// verdict, and fields of lower precedence must not change it.
pub fn conditional(bytes: &[u8]) {
    for current in CURRENT {
        with_request("GET", bytes, |request| {
            let verdict = evaluate(request, &current);
            assert_has_reason(request, &current, verdict);
            assert_ranks_hold(request, &current, verdict);
            assert_match_is_found(request, &current, verdict);
        });
    }
}

fn is_any(values: &[&[u8]]) -> bool {
    values == [b"*"]
}

/// Returns the part of the entity tag that weak comparison compares: the tag without `W/`, but with
/// its quotes.
fn opaque<'a>(current: &Validators<'a>) -> &'a [u8] {
    current.etag.trim_start_matches("W/").as_bytes()
}

fn is_within(part: &[u8], values: &[&[u8]]) -> bool {
    let mut values = values.iter();
    values.any(|value| value.windows(part.len()).any(|window| window == part))
}

fn only_date(values: &[&[u8]]) -> Option<i64> {
    match values {
        [value] => date::parse(value),
        _ => None,
    }
}

fn assert_has_reason(request: &Request<'_>, current: &Validators<'_>, verdict: Verdict) {
    let if_match = values(request, "if-match");
    let if_none_match = values(request, "if-none-match");
    let unmodified_since = only_date(&values(request, "if-unmodified-since"));
    let modified_since = only_date(&values(request, "if-modified-since"));
    match verdict {
        Verdict::Proceed => {
            assert!(!is_any(&if_none_match));
            let is_current = current
                .last_modified_unix_s
                .is_some_and(|modified| modified_since.is_some_and(|since| modified <= since));
            assert!(!is_current || !if_none_match.is_empty());
            assert!(if_match.is_empty() || is_any(&if_match) || !current.etag.starts_with("W/"));
        }
        Verdict::NotModified if if_none_match.is_empty() => {
            assert!(current.last_modified_unix_s.is_some());
            assert!(current.last_modified_unix_s <= modified_since);
        }
        Verdict::NotModified => {
            assert!(is_any(&if_none_match) || is_within(opaque(current), &if_none_match));
        }
        Verdict::PreconditionFailed if if_match.is_empty() => {
            assert!(unmodified_since < current.last_modified_unix_s && unmodified_since.is_some());
        }
        Verdict::PreconditionFailed => assert!(!is_any(&if_match)),
    }
}

/// Returns the verdict on another request, which has the method `method` and those fields of
/// `request` whose names `keep` accepts.
fn verdict_with(
    request: &Request<'_>,
    current: &Validators<'_>,
    method: &str,
    keep: impl Fn(&str) -> bool,
) -> Option<Verdict> {
    let mut verdict = None;
    with_request(method, &lines_of(request, keep), |request| {
        verdict = Some(evaluate(request, current));
    });
    verdict
}

/// Checks that entity tags take precedence over dates (RFC 9110 §13.2.2), and that preconditions
/// have an effect only on GET and HEAD (§13.2.1).
fn assert_ranks_hold(request: &Request<'_>, current: &Validators<'_>, verdict: Verdict) {
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    let same = |keep: &dyn Fn(&str) -> bool, expected| {
        let other = verdict_with(request, current, "GET", keep);
        assert_eq!(other.unwrap_or(expected), expected);
    };
    if !request.if_match().is_empty() {
        same(&|name| !is(name, "if-unmodified-since"), verdict);
    }
    if !request.if_none_match().is_empty() {
        same(&|name| !is(name, "if-modified-since"), verdict);
    }
    if verdict == Verdict::PreconditionFailed {
        same(
            &|name| is(name, "if-match") || is(name, "if-unmodified-since"),
            verdict,
        );
    }
    same(
        &|name| !name.to_ascii_lowercase().starts_with("if-"),
        Verdict::Proceed,
    );
    let head = verdict_with(request, current, "HEAD", |_| true);
    assert_eq!(head.unwrap_or(verdict), verdict);
    let post = verdict_with(request, current, "POST", |_| true);
    assert_eq!(post.unwrap_or(Verdict::Proceed), Verdict::Proceed);
}

/// Checks that an additional line with the current entity tag matches, regardless of the lines
/// before it.
fn assert_match_is_found(request: &Request<'_>, current: &Validators<'_>, verdict: Verdict) {
    if verdict == Verdict::PreconditionFailed {
        return;
    }
    let mut lines = lines_of(request, |_| true);
    lines.extend_from_slice(b"If-None-Match: \"x\", ");
    lines.extend_from_slice(opaque(current));
    with_request("GET", &lines, |request| {
        assert_eq!(evaluate(request, current), Verdict::NotModified);
    });
}
