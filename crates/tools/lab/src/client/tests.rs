use super::*;

#[test]
fn a_field_is_found_in_any_case() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nCache-Status: Pelton; hit\r\n\r\nabc";
    let response = parse(bytes).expect("it is a response");
    assert_eq!(response.status, 200);
    assert_eq!(response.body, b"abc");
    assert_eq!(response.field("cache-status"), Some("Pelton; hit"));
    assert_eq!(response.field("etag"), None);
}

#[test]
fn a_response_is_complete_by_its_length() {
    for (bytes, expected) in [
        (
            &b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"[..],
            Some(1),
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Some(0)),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n",
            Some(0),
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", None),
    ] {
        assert_eq!(missing_bytes(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn a_body_cut_short_is_no_answer() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nabc",
        b"hello",
        b"",
    ] {
        assert_eq!(parse(bytes), None, "{bytes:?}");
    }
}
