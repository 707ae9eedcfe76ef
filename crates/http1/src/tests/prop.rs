//! Bytes that nobody thought of.

use super::assert_verdicts_are_final;
use crate::conditional::{self, Validators, Verdict};
use crate::range::{self, Served};
use crate::{FIELDS_BOUND, Limits, Request, accept, parse};
use proptest::prelude::*;

/// Limits that short inputs reach.
const TIGHT: Limits = Limits {
    head_bytes_max: 96,
    fields_max: 4,
    target_bytes_max: 24,
    body_bytes_max: 64,
    chunk_line_bytes_max: 24,
    trailer_bytes_max: 32,
};

/// Heads made of parts that belong in heads, in orders that do not, with single bytes thrown in.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let parts: &[&[u8]] = &[
        b"GET ",
        b"HEAD ",
        b"OPTIONS ",
        b"/a?b",
        b"*",
        b"http://i/",
        b" HTTP/1.1\r\n",
        b" HTTP/1.0\r\n",
        b"GET / HTTP/1.1\r\n",
        b"Host: h\r\n",
        b"Host: ",
        b"h",
        b"\r\n",
        b"\r",
        b"\n",
        b" ",
        b"\t",
        b":",
        b",",
        b"\"",
        b"\0",
        b"Content-Length: 5\r\n",
        b"Content-Length: ",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b"Accept: image/webp;q=0.5, \"x\r\n",
        b"If-None-Match: \"a\", W/\"b\r\n",
        b"If-Match: *\r\n",
        b"Range: bytes=1-\r\n",
        b"If-Range: \"a\"\r\n",
        b"X: y\r\n",
        b"\r\n\r\n",
        b"\xff",
    ];
    let middle = proptest::collection::vec(proptest::sample::select(parts), 0..12);
    let begin = prop_oneof![Just(""), Just("GET / HTTP/1.1\r\nHost: h\r\n")];
    let end = prop_oneof![Just(""), Just("\r\n"), Just("\r\n\r\n")];
    (begin, middle, end).prop_map(|(begin, middle, end)| {
        [begin.as_bytes(), &middle.concat(), end.as_bytes()].concat()
    })
}

/// What must hold for whatever was accepted.
fn assert_request_is_sound(request: &Request<'_>, bytes: &[u8], limits: &Limits) {
    assert!(request.head_bytes <= bytes.len().min(limits.head_bytes_max));
    assert!(bytes[..request.head_bytes].ends_with(b"\r\n\r\n"));
    let path = request.target.path;
    assert!(path.starts_with('/') || path == "*");
    assert!(request.fields().count() <= limits.fields_max.min(FIELDS_BOUND));
    for (name, value) in request.fields() {
        assert!(!name.is_empty());
        assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)));
    }
    let by_name = request.values("accept").into_iter();
    assert!(request.accept().into_iter().eq(by_name));
    assert_eq!(request.accept().into_iter().count(), request.accept().len());
}

/// Nothing that reads an accepted request may panic, either, or answer what cannot be.
fn assert_answers_are_sound(request: &Request<'_>) {
    let current = Validators {
        etag: "\"a\"",
        last_modified_unix_s: Some(0),
        last_modified_is_strong: true,
    };
    let verdict = conditional::evaluate(request, &current);
    let is_conditional = request
        .fields()
        .any(|(name, _)| name.to_ascii_lowercase().starts_with("if-"));
    assert!(is_conditional || verdict == Verdict::Proceed);
    if let Served::Part { start, end } = range::evaluate(request, &current, 10) {
        assert!(start < end && end <= 10 && !request.range().is_empty());
    }
    let [named] = accept::fold(request.accept(), &["image/webp"]);
    let has_name = |value: &[u8]| {
        let value = value.to_ascii_lowercase();
        value.windows(10).any(|window| window == b"image/webp")
    };
    assert!(!named || request.accept().into_iter().any(has_name));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_bytes_reach_a_panic_and_no_verdict_changes(
        bytes in prop_oneof![heads(), proptest::collection::vec(any::<u8>(), 0..120)],
    ) {
        for limits in [Limits::default(), TIGHT] {
            assert_verdicts_are_final(&bytes, &limits);
            if let Ok(Some(request)) = parse(&bytes, &limits) {
                assert_request_is_sound(&request, &bytes, &limits);
                assert_answers_are_sound(&request);
            }
        }
    }

    #[test]
    fn no_field_value_reaches_a_panic(
        name in proptest::sample::select(&["Accept", "If-Match", "If-None-Match", "If-Range",
            "If-Modified-Since", "If-Unmodified-Since", "Range", "Connection", "Expect"][..]),
        value in "[ -~]{0,40}",
        more in r#"([*,"\\;=/q0-9a-]|bytes=|W/|image/webp){0,12}"#,
    ) {
        let head = format!(
            "GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=0-\r\n{name}: {value}\r\n{name}: {more}\r\n\r\n"
        );
        if let Ok(Some(request)) = parse(head.as_bytes(), &Limits::default()) {
            assert_request_is_sound(&request, head.as_bytes(), &Limits::default());
            assert_answers_are_sound(&request);
        }
    }
}
