use crate::conditional::{self, Validators, Verdict};
use crate::range::{self, Served};
use crate::{Limits, Request, accept, parse};
use testkit::table::check;

/// Parses a request with this method and these field lines, and returns the result of `render` for
/// it.
fn with_request(
    method: &[u8],
    lines: &[u8],
    render: impl FnOnce(&Request<'_>) -> String,
) -> String {
    let mut head = [method, b" / HTTP/1.1\r\nHost: h\r\n", lines].concat();
    if !lines.is_empty() {
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let request = parse(&head, &Limits::default())
        .expect("sound")
        .expect("whole");
    render(&request)
}

/// Splits a row into the method and the field lines.
fn split_method(row: &[u8]) -> (&[u8], &[u8]) {
    let space = row
        .iter()
        .position(|&byte| byte == b' ')
        .unwrap_or(row.len());
    (&row[..space], row.get(space + 1..).unwrap_or(&[]))
}

/// Parses the context of a row: an entity tag, then a Unix time, or `-` for no date. In rows that
/// test ranges, two more words follow. The first is `strong` if the date is a strong validator, or
/// another word if it is not. The second is the length of the representation.
fn validators(context: &str) -> Validators<'_> {
    let mut words = context.split(' ');
    Validators {
        etag: words.next().expect("an entity tag"),
        last_modified_unix_s: words.next().expect("a date or -").parse().ok(),
        last_modified_is_strong: words.next() == Some("strong"),
    }
}

#[test]
fn preconditions() {
    check(include_str!("conditionals.txt"), |row| {
        let (method, lines) = split_method(&row.bytes);
        with_request(method, lines, |request| {
            match conditional::evaluate(request, &validators(row.context)) {
                Verdict::Proceed => "proceed".to_owned(),
                Verdict::NotModified => "304".to_owned(),
                Verdict::PreconditionFailed => "412".to_owned(),
            }
        })
    });
}

#[test]
fn ranges() {
    check(include_str!("ranges.txt"), |row| {
        let (method, lines) = split_method(&row.bytes);
        let (_, length) = row.context.rsplit_once(' ').expect("a length");
        let length_bytes = length.parse().expect("a number");
        with_request(method, lines, |request| {
            match range::evaluate(request, &validators(row.context), length_bytes) {
                Served::Whole => "200".to_owned(),
                Served::Part { start, end } => format!("206 {start}..{end}"),
                Served::Parts(parts) => {
                    let parts: Vec<_> = parts
                        .iter()
                        .map(|(start, end)| format!("{start}..{end}"))
                        .collect();
                    format!("206 {}", parts.join(" "))
                }
                Served::Unsatisfiable => "416".to_owned(),
            }
        })
    });
}

#[test]
fn accepted_formats() {
    check(include_str!("accepts.txt"), |row| {
        with_request(b"GET", &row.bytes, |request| {
            match accept::fold(request.accept(), &["image/avif", "image/webp"]) {
                [true, true] => "avif webp",
                [true, false] => "avif",
                [false, true] => "webp",
                [false, false] => "-",
            }
            .to_owned()
        })
    });
}

#[test]
fn fields_that_name_a_picture_format() {
    let cases = [
        ("X: y", false),
        ("Accept:", false),
        ("Accept: */*", false),
        ("Accept: image/*", false),
        ("Accept: image/", false),
        ("Accept: image/*, */*;q=0.8", false),
        ("Accept: text/html,application/xhtml+xml,*/*;q=0.8", false),
        ("Accept: ximage/png", false),
        ("Accept: image/png;q=0, */*", false),
        ("Accept: image/png", true),
        ("Accept: IMAGE/PNG;q=0.1", true),
        ("Accept: image/*, image/svg+xml", true),
        ("Accept: */*\r\nAccept: image/jpeg", true),
    ];
    for (field, expected) in cases {
        let named = with_request(b"GET", field.as_bytes(), |request| {
            accept::names(request.accept(), "image/").to_string()
        });
        assert_eq!(named, expected.to_string(), "{field}");
    }
}
