//! Preconditions, ranges and HEAD on every kind of body: RFC 9110 §8.8, §13, §14.

use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::harness::{Home, Response, Server, media};

/// Modification time of the original: Sun, 09 Sep 2001 01:46:40 GMT.
const MODIFIED_UNIX_S: u64 = 1_000_000_000;

/// Requests, each with the expected status and Content-Range. A request is a method, followed by
/// fields that are separated by `|`. Placeholders: SELF is the entity tag of the representation,
/// OTHER is another entity tag, LENGTH is the length of the representation, and LAST is the
/// position of its last byte.
const ROWS: [(&str, &str); 66] = [
    ("GET", "200"),
    ("HEAD", "200"),
    // RFC 9110 §13.1.2: If-None-Match
    ("GET if-none-match: SELF", "304"),
    ("HEAD if-none-match: SELF", "304"),
    ("GET if-none-match: W/SELF", "304"),
    ("GET if-none-match: OTHER", "200"),
    ("GET if-none-match: *", "304"),
    ("HEAD if-none-match: *", "304"),
    ("GET if-none-match: OTHER, SELF", "304"),
    ("GET if-none-match: \"a,b\",W/\"c\" , SELF", "304"),
    ("GET if-none-match: OTHER|if-none-match: SELF", "304"),
    ("GET if-none-match: \"a\", \"b\"", "200"),
    ("GET if-none-match: \"\"", "200"),
    ("GET if-none-match: SELFx", "200"),
    ("GET if-none-match: *, OTHER", "200"),
    ("GET if-none-match: unquoted", "200"),
    // RFC 9110 §13.1.1: If-Match, with strong comparison
    ("GET if-match: SELF", "200"),
    ("GET if-match: *", "200"),
    ("GET if-match: OTHER, SELF", "200"),
    ("GET if-match: OTHER", "412"),
    ("HEAD if-match: OTHER", "412"),
    ("GET if-match: W/SELF", "412"),
    ("GET if-match: SELF|if-none-match: SELF", "304"),
    ("GET if-match: OTHER|if-none-match: SELF", "412"),
    // RFC 9110 §13.1.3: If-Modified-Since, in the three forms of §5.6.7
    (
        "GET if-modified-since: Sun, 09 Sep 2001 01:46:40 GMT",
        "304",
    ),
    (
        "HEAD if-modified-since: Sun, 09 Sep 2001 01:46:40 GMT",
        "304",
    ),
    (
        "GET if-modified-since: Sunday, 09-Sep-01 01:46:40 GMT",
        "304",
    ),
    ("GET if-modified-since: Sun Sep  9 01:46:40 2001", "304"),
    (
        "GET if-modified-since: Sun, 09 Sep 2001 01:46:41 GMT",
        "304",
    ),
    (
        "GET if-modified-since: Sun, 09 Sep 2001 01:46:39 GMT",
        "200",
    ),
    ("GET if-modified-since: yesterday", "200"),
    // RFC 9110 §13.2.2: the entity tag takes precedence over the date
    (
        "GET if-none-match: OTHER|if-modified-since: Sun, 09 Sep 2001 01:46:40 GMT",
        "200",
    ),
    (
        "GET if-none-match: SELF|if-modified-since: Sun, 09 Sep 2001 01:46:39 GMT",
        "304",
    ),
    // RFC 9110 §13.1.4: If-Unmodified-Since
    (
        "GET if-unmodified-since: Sun, 09 Sep 2001 01:46:40 GMT",
        "200",
    ),
    (
        "GET if-unmodified-since: Sun, 09 Sep 2001 01:46:39 GMT",
        "412",
    ),
    (
        "GET if-match: SELF|if-unmodified-since: Sun, 09 Sep 2001 01:46:39 GMT",
        "200",
    ),
    // RFC 9110 §14.1.2: byte ranges
    ("GET range: bytes=0-0", "206 bytes 0-0/LENGTH"),
    ("GET range: bytes=0-3", "206 bytes 0-3/LENGTH"),
    ("GET range: bytes=7-19", "206 bytes 7-19/LENGTH"),
    ("GET range: bytes=9-", "206 bytes 9-LAST/LENGTH"),
    ("GET range: bytes=LAST-", "206 bytes LAST-LAST/LENGTH"),
    ("GET range: bytes=-1", "206 bytes LAST-LAST/LENGTH"),
    ("GET range: bytes=-999999", "206 bytes 0-LAST/LENGTH"),
    ("GET range: bytes=0-999999", "206 bytes 0-LAST/LENGTH"),
    (
        "GET range: bytes=0-18446744073709551617",
        "206 bytes 0-LAST/LENGTH",
    ),
    ("GET range: BYTES=0-3", "206 bytes 0-3/LENGTH"),
    ("GET range: bytes= 0-3 ,", "206 bytes 0-3/LENGTH"),
    ("GET range: bytes=LENGTH-", "416 bytes */LENGTH"),
    ("GET range: bytes=999999-1000000", "416 bytes */LENGTH"),
    ("GET range: bytes=-0", "416 bytes */LENGTH"),
    // RFC 9110 §14.2: ranges that are ignored or merged
    ("HEAD range: bytes=0-3", "200"),
    ("GET range: bytes=0-1,5-6", "206 bytes 0-6/LENGTH"),
    ("GET range: bytes=3-1", "200"),
    ("GET range: bytes=+1-2", "200"),
    ("GET range: bytes=", "200"),
    ("GET range: lines=0-3", "200"),
    ("GET range: bytes=0-3|range: bytes=5-6", "200"),
    // RFC 9110 §13.1.5: If-Range
    (
        "GET range: bytes=0-3|if-range: SELF",
        "206 bytes 0-3/LENGTH",
    ),
    ("GET range: bytes=0-3|if-range: OTHER", "200"),
    ("GET range: bytes=0-3|if-range: W/SELF", "200"),
    (
        "GET range: bytes=0-3|if-range: Sun, 09 Sep 2001 01:46:40 GMT",
        "200",
    ),
    ("GET range: bytes=999999-|if-range: OTHER", "200"),
    // RFC 9110 §13.2.2: preconditions are evaluated before ranges
    ("GET range: bytes=0-3|if-none-match: SELF", "304"),
    ("GET range: bytes=999999-|if-none-match: SELF", "304"),
    ("GET range: bytes=0-3|if-match: OTHER", "412"),
    (
        "GET range: bytes=0-3|if-none-match: OTHER",
        "206 bytes 0-3/LENGTH",
    ),
];

/// Sends the request of every row with `accept` as the Accept field, and checks the responses.
/// `other` is the response with another representation of the same photograph.
fn check(server: &Server, accept: &str, other: &Response) {
    let whole = server.get_as("/p.jpg", accept);
    assert_eq!((whole.status, whole.body.is_empty()), (200, false));
    assert_ne!(whole.etag(), other.etag(), "two representations, one tag");
    assert!(whole.etag().starts_with('"'), "a strong tag");
    for (request, expected) in ROWS {
        let expected = filled(expected, &whole, other);
        let (method, fields) = request.split_once(' ').unwrap_or((request, ""));
        let mut lines = format!("accept: {accept}\r\n");
        for field in fields.split('|').filter(|field| !field.is_empty()) {
            lines.push_str(&filled(field, &whole, other));
            lines.push_str("\r\n");
        }
        let response = server.send(method, "/p.jpg", &lines);
        let outcome = match response.field("content-range") {
            Some(range) => format!("{} {range}", response.status),
            None => response.status.to_string(),
        };
        assert_eq!(outcome, expected, "accept: {accept}, {request}");
        judge(&response, &whole, method, request);
    }
}

fn filled(text: &str, whole: &Response, other: &Response) -> String {
    text.replace("SELF", whole.etag())
        .replace("OTHER", other.etag())
        .replace("LENGTH", &whole.body.len().to_string())
        .replace("LAST", &(whole.body.len() - 1).to_string())
}

/// Checks that the body of `response` is the part of `whole` that the status and Content-Range
/// describe, and that the fields about the representation are the same in both. `whole` contains
/// the complete representation.
fn judge(response: &Response, whole: &Response, method: &str, request: &str) {
    let body = match (method, response.status) {
        ("HEAD", _) | (_, 304) => &[],
        (_, 200) => &whole.body[..],
        (_, 206) => {
            let range = response.field("content-range").expect("checked above");
            let range = range.strip_prefix("bytes ").expect("bytes are counted");
            let (range, _) = range.split_once('/').expect("a length follows");
            let (first, last) = range.split_once('-').expect("a first and a last byte");
            let place = |place: &str| place.parse::<usize>().expect("a number");
            &whole.body[place(first)..=place(last)]
        }
        _ => &response.body[..],
    };
    assert_eq!(response.body, body, "{request}");
    if method == "HEAD" && response.status == 200 {
        let length = whole.body.len().to_string();
        assert_eq!(response.field("content-length"), Some(&length[..]));
    }
    if matches!(response.status, 200 | 206 | 304) {
        for name in ["etag", "vary", "cache-control", "last-modified"] {
            assert_eq!(response.field(name), whole.field(name), "{request}");
        }
    }
    if matches!(response.status, 200 | 206) {
        for name in ["content-type", "accept-ranges", "x-content-type-options"] {
            assert_eq!(response.field(name), whole.field(name), "{request}");
        }
    }
    if matches!(response.status, 412 | 416) {
        assert_eq!(response.content_type(), "application/problem+json");
        assert_eq!(response.field("etag"), None, "{request}");
    }
    assert!(response.field("date").is_some(), "{request}");
}

/// Checks every representation of one photograph, on a server that was started with `flags`.
fn check_all(flags: &[&str]) {
    let home = Home::with(&[("p.jpg", &media::photo(200, 150, 1))]);
    let original = File::options()
        .write(true)
        .open(home.library().join("p.jpg"));
    original
        .and_then(|file| file.set_modified(UNIX_EPOCH + Duration::from_secs(MODIFIED_UNIX_S)))
        .expect("the original can be changed");
    let server = Server::plain(&home, flags);
    let avif = server.get_as("/p.jpg", "image/avif");
    let webp = server.get_as("/p.jpg", "image/webp");
    let jpeg = server.get("/p.jpg");
    for (response, media_type) in [
        (&avif, "image/avif"),
        (&webp, "image/webp"),
        (&jpeg, "image/jpeg"),
    ] {
        assert_eq!(response.content_type(), media_type);
        let modified = Some("Sun, 09 Sep 2001 01:46:40 GMT");
        assert_eq!(response.field("last-modified"), modified);
    }
    check(&server, "image/avif", &webp);
    check(&server, "image/webp", &jpeg);
    check(&server, "*/*", &avif);
    server.stop();
}

#[test]
fn preconditions_and_ranges_hold_for_bodies_in_memory() {
    check_all(&[]);
}

#[test]
fn preconditions_and_ranges_hold_for_bodies_that_the_kernel_sends() {
    check_all(&["--limits-memory-body-bytes-max", "1"]);
}

#[test]
fn preconditions_and_ranges_hold_for_bodies_that_the_disk_did_not_take() {
    let home = Home::with(&[("p.jpg", &media::photo(64, 48, 1)), ("file", b"")]);
    let data = home.library().join("file/data");
    let data = data.to_str().expect("paths of tests are text");
    let server = Server::plain(&home, &["--data", data]);
    let whole = server.get_as("/p.jpg", "image/webp");
    assert_eq!(whole.content_type(), "image/webp");
    let fields = format!(
        "accept: image/webp\r\nrange: bytes=3-17\r\nif-range: {}\r\n",
        whole.etag()
    );
    let part = server.send("GET", "/p.jpg", &fields);
    assert_eq!((part.status, &part.body[..]), (206, &whole.body[3..18]));
    let fields = format!("accept: image/webp\r\nif-none-match: {}\r\n", whole.etag());
    assert_eq!(server.send("GET", "/p.jpg", &fields).status, 304);
    server.stop();
}

#[test]
fn provisional_answers_have_no_date_to_be_compared_with() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    // Responses stay provisional, since background conversions are enabled but never start.
    let server = Server::start(&home, &["--limits-improving-max", "0"]);
    let response = server.get_as("/p.jpg", "image/avif");
    assert_eq!(response.field("last-modified"), None);
    let since = "accept: image/avif\r\nif-modified-since: Fri, 01 Jan 2100 00:00:00 GMT\r\n";
    assert_eq!(server.send("GET", "/p.jpg", since).status, 200);
    server.stop();
}

/// Serves a file that has a single representation and this modification time.
fn dated(modified: SystemTime) -> (Home, Server) {
    let home = Home::with(&[("song.flac", b"fLaC and what follows")]);
    let song = File::options()
        .write(true)
        .open(home.library().join("song.flac"));
    song.and_then(|file| file.set_modified(modified))
        .expect("the original can be changed");
    let server = Server::plain(&home, &[]);
    (home, server)
}

/// RFC 9110 §13.1.5, §8.8.2.2: for a target with only one representation, If-Range accepts the
/// exact modification date, which here is long past.
#[test]
fn if_range_accepts_a_date_for_a_single_representation() {
    let (_home, server) = dated(UNIX_EPOCH + Duration::from_secs(MODIFIED_UNIX_S));
    for (date, status) in [
        ("Sun, 09 Sep 2001 01:46:40 GMT", 206),
        ("Sun, 09 Sep 2001 01:46:39 GMT", 200),
        ("Sun, 09 Sep 2001 01:46:41 GMT", 200),
        ("yesterday", 200),
    ] {
        let fields = format!("range: bytes=5-7\r\nif-range: {date}\r\n");
        let response = server.send("GET", "/song.flac", &fields);
        assert_eq!(response.status, status, "{date}");
    }
    server.stop();
}

/// RFC 9110 §8.8.2.1: Last-Modified must not be later than the date of the response.
#[test]
fn last_modified_is_not_later_than_the_date() {
    let (_home, server) = dated(SystemTime::now() + Duration::from_secs(86_400));
    let response = server.get("/song.flac");
    let date = |name| http1::date::parse(response.or_dash(name).as_bytes()).expect("a date");
    assert!(date("last-modified") <= date("date"));
    let range = format!(
        "range: bytes=5-7\r\nif-range: {}\r\n",
        response.or_dash("last-modified")
    );
    assert_eq!(server.send("GET", "/song.flac", &range).status, 200);
    server.stop();
}
