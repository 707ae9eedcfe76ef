use crate::{Limits, Malformed, Response};
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(output: &str, expected: &Expect) {
    let rendered = match Response::parse(output.as_bytes(), &Limits::default()) {
        Ok(Response::Document {
            status,
            fields,
            body_at,
        }) => format!("{status} {fields:?} {:?}", &output[body_at..]),
        Ok(Response::LocalRedirect(target)) => format!("elsewhere {target}"),
        Ok(Response::Bytes) => "bytes".to_owned(),
        Err(malformed) => format!("malformed {malformed:?}"),
    };
    expected.assert_eq(&rendered);
}

#[test]
fn documents() {
    check(
        "Content-Type: text/plain\n\nhello\n\nyou",
        &expect![[r#"200 [("Content-Type", "text/plain")] "hello\n\nyou""#]],
    );
    check(
        "status:404 Not Found\r\ncontent-type:\ttext/html \r\nX-A: 1\r\n\r\n",
        &expect![[r#"404 [("content-type", "text/html"), ("X-A", "1")] """#]],
    );
    check("Status: 204\n\n", &expect![[r#"204 [] """#]]);
}

#[test]
fn fields_that_the_server_sets_are_dropped() {
    check(
        "Content-Type: a/b\nContent-Length: 99\nConnection: close\nTransfer-Encoding: chunked\nServer: s\n\nx",
        &expect![[r#"200 [("Content-Type", "a/b")] "x""#]],
    );
}

#[test]
fn redirects() {
    check("Location: /a/b?c\n\n", &expect!["elsewhere /a/b?c"]);
    check(
        "Location: https://h/\n\n",
        &expect![[r#"302 [("Location", "https://h/")] """#]],
    );
    check(
        "Location: //h/\n\n",
        &expect![[r#"302 [("Location", "//h/")] """#]],
    );
    check(
        "Status: 301\nLocation: /a\nContent-Type: text/plain\n\nmoved",
        &expect![[r#"301 [("Location", "/a"), ("Content-Type", "text/plain")] "moved""#]],
    );
}

#[test]
fn bytes_without_a_head() {
    for output in [
        "",
        "\n",
        "hello",
        "hello\n\nyou",
        "Note: this is no head\n\nyou",
        "Content-Type: text/plain",
        "Content-Type: text/plain\n",
        "Content-Type : text/plain\n\n",
        " Content-Type: text/plain\n\n",
        "Content-Type: text/plain\nand more\n\n",
        "Content-Type: text/\u{1}plain\n\n",
    ] {
        check(output, &expect!["bytes"]);
    }
    let long = format!("Content-Type: {}\n\n", "x".repeat(16 << 10));
    check(&long, &expect!["bytes"]);
}

#[test]
fn malformed_heads() {
    let fields = "A: 1\n".repeat(64);
    for (output, why) in [
        ("Status: 99\n\n", Malformed::Status),
        ("Status: 100\n\n", Malformed::Status),
        ("Status: 600\n\n", Malformed::Status),
        ("Status: +20\n\n", Malformed::Status),
        ("Status: ok\n\n", Malformed::Status),
        ("Status: 200\nStatus: 200\n\n", Malformed::Status),
        ("Location:\n\n", Malformed::Location),
        ("Location: http://a b/\n\n", Malformed::Location),
        ("Location: /a\nLocation: /b\n\n", Malformed::Location),
        ("Content-Type:\n\n", Malformed::ContentType),
        (&format!("Status: 200\n{fields}\n"), Malformed::Fields),
    ] {
        assert_eq!(
            Response::parse(output.as_bytes(), &Limits::default()),
            Err(why),
            "{output:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_response_or_refused(head in "[A-Za-z:/ \r\n\u{0}-\u{ff}]{0,200}", rest: Vec<u8>) {
        let output = [b"Status: 200\n", head.as_bytes(), &rest].concat();
        if let Ok(Response::Document { status, fields, body_at }) = Response::parse(&output, &Limits::default()) {
            prop_assert!((200..=599).contains(&status));
            prop_assert!(body_at <= output.len());
            for (name, value) in fields {
                prop_assert!(!name.contains(['\r', '\n', ':']) && !value.contains(['\r', '\n', '\0']));
            }
        }
    }
}
