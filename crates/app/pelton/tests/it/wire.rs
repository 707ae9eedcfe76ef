//! HTTP/1.1 connections: order, persistence, methods, and malformed requests.

use std::fmt::Write as _;

use crate::harness::{Home, Response, Server, media};

/// Starts a server with a photograph and a text of ten digits.
fn served() -> (Home, Server) {
    let home = Home::with(&[
        ("p.jpg", &media::photo(200, 150, 1)),
        ("digits.txt", b"0123456789"),
    ]);
    let server = Server::plain(&home, &["--allowed-types", "txt"]);
    (home, server)
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (home, server) = served();
    let avif = server.get_as("/p.jpg", "image/avif");
    let webp = server.get_as("/p.jpg", "image/webp");
    let jpeg = server.get("/p.jpg");
    let digits = server.get("/digits.txt");
    // Sixteen requests in one write: hits, misses, errors and originals.
    let requests = [
        ("GET", "/p.jpg", "accept: image/avif\r\n"),
        ("GET", "/digits.txt", ""),
        ("GET", "/p.jpg?w=100", "accept: image/webp\r\n"),
        ("HEAD", "/p.jpg", "accept: image/webp\r\n"),
        ("GET", "/p.jpg", "accept: image/webp\r\n"),
        ("GET", "/missing.jpg", ""),
        ("GET", "/p.jpg", ""),
        ("GET", "/digits.txt", "range: bytes=2-4\r\n"),
        ("POST", "/p.jpg", "content-length: 4\r\n"),
        ("GET", "/p.jpg?w=0", ""),
        ("GET", "/healthz", ""),
        ("OPTIONS", "/p.jpg", ""),
        ("GET", "/p.jpg?w=101", "accept: image/webp\r\n"),
        (
            "GET",
            "/p.jpg",
            "accept: image/avif\r\nif-none-match: *\r\n",
        ),
        ("GET", "/", ""),
        ("GET", "/digits.txt", ""),
    ];
    let mut batch = String::new();
    for (method, target, fields) in requests {
        write!(
            batch,
            "{method} {target} HTTP/1.1\r\nhost: h\r\n{fields}\r\n"
        )
        .expect("writing to a string cannot fail");
        if method == "POST" {
            batch.push_str("body");
        }
    }
    let mut client = server.connect();
    client.send(batch);
    let answers = requests.map(|(method, ..)| match method {
        "HEAD" => client.head(),
        _ => client.response(),
    });
    let statuses = answers.each_ref().map(|response| response.status);
    assert_eq!(
        statuses,
        [
            200, 200, 200, 200, 200, 404, 200, 206, 405, 400, 200, 204, 200, 304, 303, 200
        ]
    );
    assert_eq!(answers[0].body, avif.body);
    assert_eq!(answers[1].body, digits.body);
    assert_eq!(answers[2].size(), (100, 75));
    assert_eq!(answers[3].etag(), webp.etag());
    assert_eq!(answers[4].body, webp.body);
    assert_eq!(answers[6].body, jpeg.body);
    assert_eq!(answers[7].body, b"234");
    assert_eq!(answers[12].size(), (101, 76));
    assert_eq!(answers[13].etag(), avif.etag());
    assert_eq!(answers[15].body, digits.body);
    server.stop();
    drop(home);
}

#[test]
fn sixteen_large_answers_arrive_whole_and_in_order() {
    let home = Home::new();
    let photos: Vec<_> = (0..4).map(|seed| media::photo(800, 600, seed)).collect();
    for (number, photo) in photos.iter().enumerate() {
        home.put(&format!("{number}.jpg"), photo);
    }
    let server = Server::plain(&home, &[]);
    let mut client = server.connect();
    let order = [0, 1, 2, 3, 3, 2, 1, 0, 0, 2, 1, 3, 0, 0, 3, 1];
    let batch = order.map(|number| format!("GET /{number}.jpg HTTP/1.1\r\nhost: h\r\n\r\n"));
    client.send(batch.concat());
    for number in order {
        let response = client.response();
        assert!(65_536 < response.body.len(), "large enough for sendfile");
        assert_eq!(response.body, photos[number]);
    }
    server.stop();
}

#[test]
fn requests_may_come_in_any_pieces() {
    let (home, server) = served();
    let request = b"GET /digits.txt HTTP/1.1\r\nhost: h\r\nrange: bytes=1-2\r\n\r\n";
    for piece_bytes in [1, 2, 3, 7, 19] {
        let mut client = server.connect();
        for piece in request.chunks(piece_bytes) {
            client.send(piece);
        }
        assert_eq!(client.response().body, b"12");
    }
    server.stop();
    drop(home);
}

#[test]
fn connections_persist_as_their_version_says() {
    let (home, server) = served();
    let rows = [
        ("HTTP/1.1", "", None, false),
        ("HTTP/1.1", "connection: close\r\n", Some("close"), true),
        ("HTTP/1.1", "connection: x, CLOSE\r\n", Some("close"), true),
        ("HTTP/1.1", "connection: keep-alive\r\n", None, false),
        ("HTTP/1.0", "", Some("close"), true),
        (
            "HTTP/1.0",
            "connection: keep-alive\r\n",
            Some("keep-alive"),
            false,
        ),
    ];
    for (version, fields, connection, ends) in rows {
        let mut client = server.connect();
        let request = format!("GET /digits.txt {version}\r\nhost: h\r\n{fields}\r\n");
        client.send(&request);
        let response = client.response();
        assert_eq!(response.body, b"0123456789");
        assert_eq!(response.field("connection"), connection, "{request}");
        if ends {
            assert!(client.is_ended(), "{request}");
        } else {
            client.send(&request);
            assert_eq!(client.response().body, b"0123456789");
        }
    }
    // HTTP/1.0 may omit Host.
    let mut client = server.connect();
    client.send("GET /digits.txt HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().body, b"0123456789");
    server.stop();
    drop(home);
}

#[test]
fn a_client_that_closed_its_sending_half_is_still_answered() {
    let (home, server) = served();
    let mut client = server.connect();
    client.request("GET", "/p.jpg?w=50", "accept: image/avif\r\n");
    client.request("GET", "/digits.txt", "");
    client.end_sending();
    assert_eq!(client.response().size(), (50, 38));
    assert_eq!(client.response().body, b"0123456789");
    assert!(client.is_ended());
    server.stop();
    drop(home);
}

#[test]
fn answers_do_not_wait_for_the_body_behind_them() {
    let (home, server) = served();
    let mut client = server.connect();
    client.request("GET", "/digits.txt", "");
    client.request("POST", "/digits.txt", "content-length: 4\r\n");
    assert_eq!(client.response().body, b"0123456789");
    client.send("body");
    assert_eq!(client.response().status, 405);
    // The response to the first request is also sent if the body of the second one stays
    // incomplete.
    client.request("GET", "/digits.txt", "range: bytes=3-\r\n");
    client.request("POST", "/digits.txt", "content-length: 4\r\n");
    client.send("bo");
    client.end_sending();
    assert_eq!(client.response().body, b"3456789");
    assert!(client.is_ended());
    server.stop();
    drop(home);
}

#[test]
fn unread_bodies_are_skipped() {
    let (home, server) = served();
    let bodies = [
        "content-length: 11\r\n\r\nGET / bogus".to_owned(),
        "transfer-encoding: chunked\r\n\r\n5;x=y\r\nGET /\r\n0\r\n\r\n".to_owned(),
        "transfer-encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\ntrailer: x\r\n\r\n".to_owned(),
        "content-length: 0\r\n\r\n".to_owned(),
        format!("content-length: 60000\r\n\r\n{}", "x".repeat(60_000)),
    ];
    for body in bodies {
        for method in ["POST", "GET"] {
            let mut client = server.connect();
            client.send(format!(
                "{method} /digits.txt HTTP/1.1\r\nhost: h\r\n{body}"
            ));
            client.request("GET", "/digits.txt", "range: bytes=9-\r\n");
            let first = client.response();
            let status = if method == "POST" { 405 } else { 200 };
            assert_eq!(first.status, status, "{method}");
            assert_eq!(client.response().body, b"9");
        }
    }
    server.stop();
    drop(home);
}

#[test]
fn a_body_that_waits_to_be_asked_for_is_refused() {
    let (home, server) = served();
    let mut client = server.connect();
    let fields = "expect: 100-continue\r\ncontent-length: 1000000\r\n";
    client.request("POST", "/digits.txt", fields);
    let response = client.response();
    assert_eq!(
        (response.status, response.field("connection")),
        (405, Some("close"))
    );
    assert!(client.is_ended());
    server.stop();
    drop(home);
}

#[test]
fn only_get_head_and_options_are_offered() {
    let (home, server) = served();
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE"] {
        for target in ["/p.jpg", "/missing", "/-/metrics", "/"] {
            let response = server.send(method, target, "");
            assert_eq!(
                (response.status, response.field("allow")),
                (405, Some("GET, HEAD, OPTIONS")),
                "{method} {target}"
            );
            assert_eq!(response.content_type(), "application/problem+json");
        }
    }
    for target in ["/p.jpg", "/missing", "*"] {
        let response = server.send("OPTIONS", target, "");
        let allow = Some("GET, HEAD, OPTIONS");
        assert_eq!((response.status, response.field("allow")), (204, allow));
        assert_eq!(response.field("content-length"), None);
    }
    let unknown = server.send("BREW", "/p.jpg", "");
    assert_eq!(
        (unknown.status, unknown.field("connection")),
        (501, Some("close"))
    );
    server.stop();
    drop(home);
}

/// Malformed requests get a status, and then the connection is closed.
#[test]
fn broken_requests_get_a_status_and_are_closed() {
    let (home, server) = served();
    let long = "x".repeat(20_000);
    let many = "x: y\r\n".repeat(101);
    let rows: [(&str, String, u16); 22] = [
        ("no host", "GET / HTTP/1.1\r\n\r\n".into(), 400),
        ("two hosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n".into(), 400),
        ("bad host", "GET / HTTP/1.1\r\nhost: a b\r\n\r\n".into(), 400),
        ("no version", "GET /\r\n\r\n".into(), 400),
        ("later version", "GET / HTTP/2.0\r\nhost: h\r\n\r\n".into(), 505),
        ("other protocol", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".into(), 400),
        ("no target", "GET  HTTP/1.1\r\nhost: h\r\n\r\n".into(), 400),
        ("relative target", "GET p.jpg HTTP/1.1\r\nhost: h\r\n\r\n".into(), 400),
        ("bare line feeds", "GET / HTTP/1.1\nhost: h\n\n".into(), 400),
        ("folded field", "GET / HTTP/1.1\r\nhost: h\r\n x\r\n\r\n".into(), 400),
        ("space before colon", "GET / HTTP/1.1\r\nhost : h\r\n\r\n".into(), 400),
        ("NUL", "GET / HTTP/1.1\r\nhost: h\r\nx: \0\r\n\r\n".into(), 400),
        ("two lengths", "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx".into(), 400),
        ("length and chunks", "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".into(), 400),
        ("negative length", "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: -1\r\n\r\n".into(), 400),
        ("bad chunk", "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\nx\r\n".into(), 400),
        ("no chunks at the end", "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: gzip\r\n\r\n".into(), 400),
        ("unknown coding", "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: gzip, chunked\r\n\r\n".into(), 501),
        ("large body", "POST /rest/ping HTTP/1.1\r\nhost: h\r\ncontent-length: 2000000\r\n\r\n".into(), 413),
        ("long target", format!("GET /{long} HTTP/1.1\r\nhost: h\r\n\r\n"), 414),
        ("long field", format!("GET / HTTP/1.1\r\nhost: h\r\nx: {long}\r\n\r\n"), 431),
        ("many fields", format!("GET / HTTP/1.1\r\nhost: h\r\n{many}\r\n"), 431),
    ];
    for (what, request, status) in rows {
        let mut client = server.connect();
        client.send(&request);
        let response = client.response();
        assert_eq!(
            (response.status, response.field("connection")),
            (status, Some("close")),
            "{what}"
        );
        assert_eq!(
            response.content_type(),
            "application/problem+json",
            "{what}"
        );
        assert!(client.is_ended(), "{what}");
    }
    assert_eq!(whole(&server), b"0123456789");
    server.stop();
    drop(home);
}

fn whole(server: &Server) -> Vec<u8> {
    let response: Response = server.get("/digits.txt");
    response.body
}

#[test]
fn answers_before_a_broken_request_arrive() {
    let (home, server) = served();
    let mut client = server.connect();
    client.request("GET", "/digits.txt", "");
    client.request("GET", "/p.jpg?w=60", "accept: image/webp\r\n");
    client.send("nonsense\r\n\r\n");
    client.request("GET", "/digits.txt", "");
    assert_eq!(client.response().body, b"0123456789");
    assert_eq!(client.response().size(), (60, 45));
    assert_eq!(client.response().status, 400);
    assert!(client.is_ended());
    server.stop();
    drop(home);
}

#[test]
fn silent_connections_are_ended_and_counted() {
    let (home, server) = {
        let home = Home::with(&[("digits.txt", b"0123456789")]);
        let flags = [
            "--allowed-types",
            "txt",
            "--limits-first-byte-timeout",
            "1s",
            "--limits-head-timeout",
            "1s",
            "--limits-idle-timeout",
            "1s",
        ];
        let server = Server::plain(&home, &flags);
        (home, server)
    };
    let mut silent = server.connect();
    assert!(silent.is_ended());
    let mut slow = server.connect();
    slow.send("GET /digits.txt HT");
    assert_eq!(slow.response().status, 408);
    assert!(slow.is_ended());
    let mut idle = server.connect();
    idle.request("GET", "/digits.txt", "");
    assert_eq!(idle.response().body, b"0123456789");
    assert!(idle.is_ended());
    let metrics = server.metrics();
    for wait in ["first_byte", "head", "idle"] {
        let name = format!("pelton_timeouts_total{{wait=\"{wait}\"}}");
        assert!(1 <= metrics.get(&name), "{name}");
    }
    server.stop();
    drop(home);
}

/// RFC 9112 §9.6: many clients send their whole body before they read the response. They must get
/// the response even if the server does not read the body.
#[test]
fn answers_to_bodies_that_are_not_read_arrive() {
    const BODY_BYTES: usize = 8 << 20;
    let (home, server) = served();
    let length = format!("content-length: {BODY_BYTES}\r\n");
    let chunk = format!("{BODY_BYTES:x}\r\n");
    let rows = [
        ("POST", "/p.jpg", 405),
        ("GET", "/digits.txt", 200),
        ("POST", "/rest/ping", 413),
    ];
    for (method, target, status) in rows {
        for (framing, begin, end) in [
            (&*length, "", ""),
            ("transfer-encoding: chunked\r\n", &*chunk, "\r\n0\r\n\r\n"),
        ] {
            let mut client = server.connect();
            client.request(method, target, framing);
            client.send(begin);
            client.send(vec![b'x'; BODY_BYTES]);
            client.send(end);
            let response = client.response();
            let status_and_connection = (response.status, response.or_dash("connection"));
            assert_eq!(
                status_and_connection,
                (status, "close"),
                "{method} {target}, {framing}"
            );
            assert!(client.is_ended(), "{method} {target}, {framing}");
        }
    }
    server.stop();
    drop(home);
}
