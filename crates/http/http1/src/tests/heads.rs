use crate::head::{CONTINUE, phrase};
use crate::{Connection, Head, Template, date};

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn a_head_is_a_status_line_fields_and_an_empty_line() {
    let head = written(|out| {
        Head::begin(out, 206)
            .date(&date::format(784_111_777))
            .field("etag", "\"a\"")
            .content_length(4)
            .content_range(6, 10, 10)
            .finish(Connection::Close);
    });
    let expected = "HTTP/1.1 206 Partial Content\r\n\
        date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
        etag: \"a\"\r\n\
        content-length: 4\r\n\
        content-range: bytes 6-9/10\r\n\
        connection: close\r\n\
        \r\n";
    assert_eq!(head, expected);
}

#[test]
fn a_416_names_the_length() {
    let head = written(|out| {
        Head::begin(out, 416)
            .content_range_unsatisfied(10)
            .content_length(0)
            .finish(Connection::KeepAlive);
    });
    let expected = "HTTP/1.1 416 Range Not Satisfiable\r\n\
        content-range: bytes */10\r\n\
        content-length: 0\r\n\
        connection: keep-alive\r\n\
        \r\n";
    assert_eq!(head, expected);
}

#[test]
fn a_value_cannot_end_its_line() {
    let head = written(|out| {
        Head::begin(out, 308)
            .field("location", "/a\r\nset-cookie: b\0")
            .finish(Connection::Persistent);
    });
    let expected = "HTTP/1.1 308 Permanent Redirect\r\nlocation: /a  set-cookie: b \r\n\r\n";
    assert_eq!(head, expected);
}

#[test]
fn a_template_differs_only_in_date_and_connection() {
    let template = Template::new(200, |head| {
        head.field("content-type", "image/webp").content_length(7)
    });
    let head = written(|out| {
        out.extend_from_slice(b"body of the response before");
        template.write(out, &date::format(784_111_777), Connection::Persistent);
        template.write(out, &date::format(0), Connection::KeepAlive);
        template.write(out, &date::format(1), Connection::Close);
    });
    let expected = "body of the response before\
        HTTP/1.1 200 OK\r\n\
        date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
        content-type: image/webp\r\n\
        content-length: 7\r\n\
        \r\n\
        HTTP/1.1 200 OK\r\n\
        date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
        content-type: image/webp\r\n\
        content-length: 7\r\n\
        connection: keep-alive\r\n\
        \r\n\
        HTTP/1.1 200 OK\r\n\
        date: Thu, 01 Jan 1970 00:00:01 GMT\r\n\
        content-type: image/webp\r\n\
        content-length: 7\r\n\
        connection: close\r\n\
        \r\n";
    assert_eq!(head, expected);
    assert_eq!(template.bytes(), 99);
}

#[test]
fn nothing_is_reallocated_when_the_buffer_is_large_enough() {
    let template = Template::new(304, |head| head.field("etag", "\"a\""));
    let mut out = Vec::with_capacity(4_096);
    let begin = out.as_ptr();
    template.write(&mut out, &date::format(0), Connection::Close);
    Head::begin(&mut out, 204).finish(Connection::Close);
    assert_eq!((out.as_ptr(), out.capacity()), (begin, 4_096));
}

#[test]
fn every_status_that_is_used_has_a_phrase() {
    let used = [
        100, 200, 204, 206, 304, 400, 403, 404, 405, 408, 412, 413, 414, 415, 416, 417, 422, 429,
        431, 500, 501, 502, 503, 504, 505,
    ];
    for status in used {
        assert!(phrase(status).is_some(), "{status}");
    }
    assert_eq!(phrase(418), None);
    assert!(CONTINUE.ends_with(b" Continue\r\n\r\n"));
}

#[test]
#[should_panic(expected = "no Content-Length in 204")]
fn no_content_has_no_length() {
    Head::begin(&mut Vec::new(), 204)
        .content_length(0)
        .finish(Connection::Close);
}

#[test]
#[should_panic(expected = "field name \"a b\"")]
fn a_name_is_a_token() {
    Head::begin(&mut Vec::new(), 200)
        .field("a b", "")
        .finish(Connection::Close);
}

#[test]
#[should_panic(expected = "range 4..4 of 10")]
fn a_content_range_has_bytes() {
    Head::begin(&mut Vec::new(), 206)
        .content_range(4, 4, 10)
        .finish(Connection::Close);
}
