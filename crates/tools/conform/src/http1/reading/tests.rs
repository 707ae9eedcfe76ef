use super::{Difference, End, ParsedRequest, Reading};
use crate::http1::oracle::hyper;
use crate::http1::ours;

/// Parses a [`Reading`] from one line, such as `GET /, POST /b+2…, waits`. Requests have the form
/// `METHOD TARGET`, with `+N` for N bytes of content and `…` for an incomplete body. The state of
/// the connection after the last request follows.
fn reading(text: &str) -> Reading {
    let (requests, end) = text.rsplit_once(", ").unwrap_or(("", text));
    let requests = requests.split(", ").filter(|request| !request.is_empty());
    let requests = requests.map(|request| {
        let whole = !request.ends_with('…');
        let request = request.trim_end_matches('…');
        let (line, content) = request.split_once('+').unwrap_or((request, "0"));
        ParsedRequest {
            line: line.to_owned(),
            content_bytes: content.parse().ok(),
            whole,
        }
    });
    Reading {
        requests: requests.collect(),
        end: match end {
            "waits" => End::Waits,
            "closes" => End::Closes,
            why => End::Refuses(why.to_owned()),
        },
    }
}

#[test]
fn what_parts_two_readings_is_named() {
    let refused = |why: &str| Some(Difference::RefusedThere(why.to_owned()));
    let framed = |what| Some(Difference::Framed(what));
    let rows = [
        // Cases without a finding: the interpretations are equal, or ours is stricter.
        ("GET /, waits", "GET /, waits", None),
        ("GET /, 400", "GET /, GET /b, waits", None),
        ("GET /, closes", "GET /, GET /b, waits", None),
        ("POST /+5…, waits", "POST /+2…, waits", None),
        ("POST /+5…, waits", "POST /…, 400", None),
        ("POST /+5…, 413", "POST /+5, waits", None),
        ("POST /+5…, 413", "400", None),
        ("GET HTTP://a?b, waits", "GET http://a/?b, waits", None),
        ("POST /+?, waits", "POST /+7, waits", None),
        // We accept, the oracle refuses.
        ("GET /, waits", "400", refused("400")),
        ("GET /, GET /b, waits", "GET /, 400", refused("400")),
        ("POST /+5, waits", "POST /…, 400", refused("400")),
        ("POST /+5…, waits", "400", refused("400")),
        // Both accept, but their interpretations differ.
        (
            "GET /, waits",
            "GET /b, waits",
            framed("a request line that Pelton and the compared parser read differently"),
        ),
        (
            "GET /, GET /b, waits",
            "GET /, waits",
            framed("one request fewer than Pelton found in the same bytes"),
        ),
        (
            "GET /, waits",
            "GET /, GET /b, waits",
            framed("one request more than Pelton found in the same bytes"),
        ),
        (
            "POST /+5, waits",
            "POST /+6, waits",
            framed("a body whose length Pelton and the compared parser read differently"),
        ),
        (
            "POST /+5, waits",
            "POST /+9…, waits",
            framed("an incomplete body, where Pelton found the end of the body"),
        ),
        (
            "POST /+5…, waits",
            "POST /+3, waits",
            framed("the end of a body that Pelton found incomplete"),
        ),
        // The oracle closes the connection, and never reads the second request, so this is not a
        // finding.
        ("GET /, GET /b, waits", "GET /, closes", None),
    ];
    for (ours, theirs, expected) in rows {
        let found = reading(ours).difference(&reading(theirs));
        assert_eq!(found, expected, "{ours} | {theirs}");
    }
}

#[test]
fn both_readers_see_the_same_connection() {
    let bytes = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi\
        POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: t\r\n\r\n\
        GET /c?d HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /never";
    assert_eq!(
        ours::read(bytes),
        reading("POST /a+2, POST /b+?, GET /c?d, closes")
    );
    assert_eq!(
        hyper::read(bytes),
        reading("POST /a+2, POST /b+3, GET /c?d, closes")
    );
    let bytes = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhi";
    assert_eq!(ours::read(bytes), reading("POST /a+5…, waits"));
    assert_eq!(hyper::read(bytes), reading("POST /a+2…, waits"));
    let bytes = b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n";
    let why = "400 a field line does not begin with a name and a colon";
    assert_eq!(ours::read(bytes), reading(&format!("GET /, {why}")));
    assert_eq!(
        hyper::read(bytes),
        reading("GET /, invalid HTTP header parsed")
    );
}
