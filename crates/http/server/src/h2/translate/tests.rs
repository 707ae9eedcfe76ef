use expect_test::{Expect, expect};
use http1::Limits;
use http2::{Connection, PREFACE, hpack};

use super::request;

/// Asserts that a head with `fields` becomes the expected HTTP/1.1 text, or is refused with the
/// expected status and reason.
fn check(fields: &[(&str, &str)], expected: &Expect) {
    expected.assert_eq(&completed(fields));
}

fn completed(fields: &[(&str, &str)]) -> String {
    let (mut connection, mut out) = (Connection::new(http2::Limits::default()), Vec::new());
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::field(&mut block, name.as_bytes(), value.as_bytes());
    }
    // The connection preface and an empty SETTINGS frame precede the head, a HEADERS frame of
    // stream 1.
    let [_, l0, l1, l2] = (block.len() as u32).to_be_bytes();
    let head = [l0, l1, l2, 1, 5, 0, 0, 0, 1];
    let input = [&PREFACE[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0], &head, &block].concat();
    let mut rest = &input[..];
    while let Some(received) = connection.receive(rest, &mut out).expect("sound frames") {
        rest = &rest[received.bytes..];
    }
    assert!(connection.is_open(1), "{fields:?}");
    let mut text = Vec::new();
    let parsed = request(connection.head(), &mut text, &Limits::default());
    match parsed {
        Err(reject) => format!("{} {}\n", reject.status, reject.reason),
        Ok(_) => String::from_utf8(text)
            .expect("these are ASCII")
            .replace('\r', ""),
    }
}

/// Returns the pseudo-header fields of a request for `path`, without `:authority`.
fn pseudo_fields<'a>(method: &'a str, path: &'a str) -> [(&'a str, &'a str); 3] {
    [(":method", method), (":scheme", "https"), (":path", path)]
}

#[test]
fn a_head_becomes_that_of_http1() {
    let fields = [
        (":authority", "h:8443"),
        ("accept", "image/avif"),
        ("accept", "image/webp"),
    ];
    check(
        &[&pseudo_fields("GET", "/a%20b.jpg?w=640")[..], &fields].concat(),
        &expect![[r#"
            GET /a%20b.jpg?w=640 HTTP/1.1
            host: h:8443
            accept: image/avif
            accept: image/webp

        "#]],
    );
    check(
        &[&pseudo_fields("OPTIONS", "*")[..], &[("host", "h")]].concat(),
        &expect![[r#"
            OPTIONS * HTTP/1.1
            host: h

        "#]],
    );
}

#[test]
fn what_would_break_the_line_is_refused() {
    let host = [("host", "h")];
    for (method, path) in [
        ("GET", "/a b"),
        ("GET", "/a HTTP/1.1"),
        ("GET", "/a\tb"),
        ("GET", "a"),
        ("G T", "/"),
        ("GET /x HTTP/1.1", "/"),
    ] {
        let outcome = completed(&[&pseudo_fields(method, path)[..], &host].concat());
        assert!(outcome.starts_with("400 "), "{method} {path}: {outcome}");
    }
}

#[test]
fn hosts_must_agree_and_be_there() {
    let get =
        |fields: &[(&'static str, &'static str)]| [&pseudo_fields("GET", "/")[..], fields].concat();
    let agreed = expect![[r#"
        GET / HTTP/1.1
        host: h

    "#]];
    check(&get(&[(":authority", "h"), ("host", "H")]), &agreed);
    check(&get(&[("host", "h")]), &agreed);
    let differ = expect![[r#"
        400 Host and :authority differ
    "#]];
    check(&get(&[(":authority", "h"), ("host", "other")]), &differ);
    check(
        &get(&[(":authority", "h"), ("host", "h"), ("host", "x")]),
        &differ,
    );
    check(
        &get(&[]),
        &expect![[r#"
            400 the request has no Host field
        "#]],
    );
    check(
        &get(&[(":authority", "user@h")]),
        &expect![[r#"
            400 the Host field is not a host with an optional port
        "#]],
    );
}

/// RFC 9113 §8.2.3: a client may send each cookie in a field of its own. The server joins these
/// fields.
#[test]
fn cookies_become_one_line() {
    let fields = [
        ("host", "h"),
        ("cookie", "a=1"),
        ("accept", "*/*"),
        ("cookie", "b=2; c=3"),
        ("cookie", ""),
    ];
    check(
        &[&pseudo_fields("GET", "/")[..], &fields].concat(),
        &expect![[r#"
            GET / HTTP/1.1
            host: h
            cookie: a=1; b=2; c=3
            accept: */*

        "#]],
    );
    let mut many = [&pseudo_fields("GET", "/")[..], &[("host", "h")]].concat();
    many.resize(4 + 200, ("cookie", "name=value"));
    assert!(completed(&many).starts_with("GET / "), "200 cookies");
}

/// RFC 9113 §8.3.1: `:path` begins with a slash. The only schemes served are http and https.
#[test]
fn targets_are_paths_of_http() {
    let with = |scheme, path| {
        let fields = [
            (":method", "GET"),
            (":scheme", scheme),
            (":authority", "h"),
            (":path", path),
        ];
        completed(&fields)
    };
    for path in ["http://h/a.jpg", "https://other/a.jpg", "//", "h/a", "?a"] {
        let outcome = with("https", path);
        let is_refused = outcome.starts_with("400 ");
        assert_eq!(is_refused, !path.starts_with('/'), "{path}: {outcome}");
    }
    for (scheme, is_served) in [
        ("http", true),
        ("HTTPS", true),
        ("ftp", false),
        ("", false),
        ("httpx", false),
    ] {
        let outcome = with(scheme, "/");
        assert_eq!(
            outcome.starts_with("GET "),
            is_served,
            "{scheme}: {outcome}"
        );
    }
}
