//! Properties that hold for arbitrary bytes.

use proptest::prelude::*;
use testkit::fuzz;

/// Generates heads from typical parts in random order, mixed with random single bytes.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 1_000 }))]

    #[test]
    fn arbitrary_heads_keep_the_invariants(
        bytes in prop_oneof![heads(), proptest::collection::vec(any::<u8>(), 0..120)],
    ) {
        fuzz::request(&bytes);
    }

    #[test]
    fn arbitrary_fields_keep_the_invariants(
        name in proptest::sample::select(&["If-Match", "If-None-Match", "If-Range", "If-Modified-Since",
            "If-Unmodified-Since", "Range", "Connection", "Expect"][..]),
        value in "[ -~]{0,40}",
        more in r#"([*,"\\;=/q0-9a-]|bytes=|W/|image/webp){0,12}"#,
    ) {
        let lines = format!("{name}: {value}\r\n{name}: {more}");
        fuzz::conditional(lines.as_bytes());
        fuzz::range(format!("bytes=0-\r\n{lines}").as_bytes());
        fuzz::range(more.as_bytes());
        fuzz::accept(format!("{value}\r\nAccept: {more}").as_bytes());
    }
}
