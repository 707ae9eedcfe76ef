use expect_test::{Expect, expect};
use http1::Limits;

use super::request;

/// The words that a head is put into, or why it is refused.
fn check(method: &str, uri: &str, fields: &[(&str, &str)], expected: &Expect) {
    let mut head = http::Request::builder().method(method).uri(uri);
    for (name, value) in fields {
        head = head.header(*name, *value);
    }
    let (head, ()) = head.body(()).expect("a head").into_parts();
    let mut text = Vec::new();
    let judged = request(&head, &mut text, &Limits::default());
    let told = match judged {
        Err(reject) => format!("{} {}\n", reject.status, reject.reason),
        Ok(_) => String::from_utf8(text)
            .expect("these are ASCII")
            .replace('\r', ""),
    };
    expected.assert_eq(&told);
}

#[test]
fn a_head_becomes_that_of_http1() {
    check(
        "GET",
        "https://h:8443/a%20b.jpg?w=640",
        &[("accept", "image/avif"), ("accept", "image/webp")],
        &expect![[r#"
            GET /a%20b.jpg?w=640 HTTP/1.1
            host: h:8443
            accept: image/avif
            accept: image/webp

        "#]],
    );
    check(
        "OPTIONS",
        "*",
        &[("host", "h")],
        &expect![[r#"
            OPTIONS * HTTP/1.1
            host: h

        "#]],
    );
}

#[test]
fn hosts_must_agree_and_be_there() {
    let agreed = expect![[r#"
        GET / HTTP/1.1
        host: h

    "#]];
    check("GET", "http://h/", &[("host", "H")], &agreed);
    check("GET", "/", &[("host", "h")], &agreed);
    let differ = expect![[r#"
        400 Host and :authority differ
    "#]];
    check("GET", "http://h/", &[("host", "other")], &differ);
    check("GET", "http://h/", &[("host", "h"), ("host", "x")], &differ);
    check(
        "GET",
        "/",
        &[],
        &expect![[r#"
            400 no Host
        "#]],
    );
    check(
        "GET",
        "http://user@h/",
        &[],
        &expect![[r#"
            400 Host is not a host and a port
        "#]],
    );
}

#[test]
fn what_frames_a_message_is_left_out() {
    check(
        "POST",
        "http://h/",
        &[
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("connection", "close"),
            ("te", "trailers"),
        ],
        &expect![[r#"
            POST / HTTP/1.1
            host: h
            te: trailers

        "#]],
    );
}

#[test]
fn the_rules_of_http1_hold() {
    let refusals = [
        ("BREW", "/".to_owned(), 501),
        ("CONNECT", "/".to_owned(), 501),
        ("GET", format!("/{}", "a".repeat(9_000)), 414),
    ];
    for (method, target, status) in refusals {
        let uri = format!("http://h{target}");
        let head = http::Request::builder().method(method).uri(uri);
        let (head, ()) = head.body(()).expect("a head").into_parts();
        assert_eq!(status_of(&head), Some(status));
    }
    let mut many = http::Request::builder().uri("http://h/");
    for _ in 0..64 {
        many = many.header("a", "b");
    }
    let (head, ()) = many.body(()).expect("a head").into_parts();
    assert_eq!(status_of(&head), Some(431));
}

/// What a head is refused with, if it is.
fn status_of(head: &http::request::Parts) -> Option<u16> {
    let mut text = Vec::new();
    let judged = request(head, &mut text, &Limits::default());
    judged.err().map(|reject| reject.status)
}
