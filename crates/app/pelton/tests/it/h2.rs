//! HTTP/2, with clients that follow the protocol and some that violate it.

use crate::harness::frames::{
    ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, WINDOW_UPDATE, frame,
    get, request,
};
use crate::harness::{Client, Frames, Home, Http2, Response, Server, media};

/// Returns a file that is too large to be sent from memory.
fn large() -> Vec<u8> {
    (0..300_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

fn served(flags: &[&str]) -> (Home, Server) {
    let home = Home::with(&[
        ("p.jpg", &media::photo(200, 150, 1)),
        ("digits.txt", b"0123456789"),
        ("large.txt", &large()),
    ]);
    let flags = &[&["--allowed-types", "txt"], flags].concat();
    let server = Server::plain(&home, flags);
    (home, server)
}

/// Returns the response without the fields that may differ between the protocols.
fn same(mut response: Response) -> Response {
    let differs = ["date", "connection", "server-timing"];
    response
        .fields
        .retain(|(name, _)| !differs.contains(&&**name));
    response.fields.sort();
    if response.content_type() == "application/problem+json" {
        // Removes the identifier of the request.
        let text = response.text().split("\"instance\"").next();
        response.body = text.expect("a first part").into();
    }
    response
}

#[test]
fn the_answers_are_those_of_http1() {
    let (_home, server) = served(&[]);
    // Fills the cache, so that no response contains the duration of a conversion.
    for accept in ["image/avif", "image/webp", "*/*"] {
        assert_eq!(server.get_as("/p.jpg", accept).status, 200);
        assert_eq!(server.get_as("/p.jpg?w=50", accept).status, 200);
    }
    let etag = server.get("/digits.txt").etag().to_owned();
    let requests = [
        ("GET", "/p.jpg", "accept: image/avif\r\n", ""),
        (
            "GET",
            "/p.jpg",
            "accept: image/webp\r\naccept: image/png\r\n",
            "",
        ),
        ("GET", "/p.jpg?w=50", "accept: image/webp\r\n", ""),
        ("GET", "/p.jpg", "", ""),
        ("HEAD", "/p.jpg", "accept: image/avif\r\n", ""),
        ("GET", "/digits.txt", "", ""),
        ("GET", "/digits.txt", "range: bytes=2-4\r\n", ""),
        ("GET", "/digits.txt", "range: bytes=10-\r\n", ""),
        (
            "GET",
            "/digits.txt",
            &format!("if-none-match: {etag}\r\n"),
            "",
        ),
        ("GET", "/digits.txt", "if-match: \"other\"\r\n", ""),
        ("GET", "/large.txt", "", ""),
        ("GET", "/large.txt", "range: bytes=1000000-\r\n", ""),
        ("HEAD", "/large.txt", "", ""),
        ("GET", "/missing.jpg", "", ""),
        ("HEAD", "/missing.jpg", "", ""),
        ("GET", "/p.jpg?w=0", "", ""),
        ("GET", "/p.jpg?meta=full", "", ""),
        ("GET", "/", "", ""),
        ("GET", "/-/at/", "", ""),
        ("GET", "/healthz", "", ""),
        ("OPTIONS", "/p.jpg", "", ""),
        ("POST", "/p.jpg", "content-length: 4\r\n", "body"),
        ("DELETE", "/p.jpg", "", ""),
        ("BREW", "/p.jpg", "", ""),
        ("GET", &format!("/{}", "a".repeat(9_000)), "", ""),
        ("GET", "/p.jpg", "expect: a miracle\r\n", ""),
    ];
    let mut http2 = Http2::connect(server.address());
    for (method, target, fields, body) in requests {
        let mut http1 = server.connect();
        http1.request(method, target, fields);
        http1.send(body);
        let expected = match method {
            "HEAD" => http1.head(),
            _ => http1.response(),
        };
        let asked = http2.ask(method, target, fields, body.as_bytes());
        let response = http2.response(asked).expect("the stream is answered");
        assert_eq!(same(response), same(expected), "{method} {target} {fields}");
    }
    let metrics = server.metrics();
    assert_eq!(
        metrics.get("pelton_http_version_responses_total{version=\"2\"}"),
        26
    );
}

#[test]
fn streams_share_a_connection_and_no_byte() {
    let (_home, server) = served(&[]);
    let (digits, large) = (server.get("/digits.txt"), server.get("/large.txt"));
    let mut http2 = Http2::connect(server.address());
    let targets = ["/large.txt", "/digits.txt", "/p.jpg?w=40", "/missing"];
    let asked: Vec<_> = (0..100)
        .map(|number| http2.ask("GET", targets[number % 4], "", b""))
        .collect();
    for (number, asked) in asked.into_iter().enumerate() {
        let response = http2.response(asked).expect("the stream is answered");
        match number % 4 {
            0 => assert_eq!(response.body, large.body),
            1 => assert_eq!(response.body, digits.body),
            2 => assert_eq!(response.size(), (40, 30)),
            _ => assert_eq!(response.status, 404),
        }
    }
}

#[test]
fn the_preface_may_come_in_any_pieces_and_decides_once() {
    let (_home, server) = served(&[]);
    let mut whole = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    whole.extend(frame(4, 0, 0, &[]));
    whole.extend(request(1, "/digits.txt"));
    for pieces in [1, 3, 23, 24, 25] {
        let mut client = Frames::silent(server.address());
        for piece in whole.chunks(pieces) {
            client.send(piece).expect("the server listens");
        }
        let body = client.wait_for(DATA).expect("the stream is answered");
        assert_eq!(body.payload, b"0123456789");
    }
    // A request that only starts like the preface is parsed as HTTP/1.1, and refused.
    let mut client = server.connect();
    client.send("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
    assert_eq!(client.response().status, 505);
    let mut client = server.connect();
    client.send("PRI /digits.txt HTTP/1.1\r\nhost: h\r\n\r\n");
    assert_eq!(client.response().status, 501);
}

#[test]
fn hosts_are_judged_as_in_http1() {
    let (_home, server) = served(&[]);
    // Literal `:path` of /healthz; the indexed fields `:method` GET and `:scheme` http are added
    // below.
    let path: &[u8] = b"\x04\x08/healthz";
    let cases: [(&[u8], &[u8]); 6] = [
        // `:authority`, and an equal Host.
        (b"\x01\x06pelton\x0f\x17\x06pelton", b"200"),
        // Host without `:authority`.
        (b"\x0f\x17\x06pelton", b"200"),
        // No host; `:authority` and Host that differ; an invalid host; two Host fields.
        (b"", b"400"),
        (b"\x01\x06pelton\x0f\x17\x05other", b"400"),
        (b"\x0f\x17\x03a,b", b"400"),
        (b"\x0f\x17\x01a\x0f\x17\x01b", b"400"),
    ];
    for (host, status) in cases {
        let mut client = Frames::connect(server.address(), &[]);
        let head = [b"\x82\x86", path, host].concat();
        let sent = client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head));
        sent.expect("the server listens");
        let response = client.wait_for(HEADERS).expect("the stream is answered");
        // RFC 7541 appendix A: 200 and 400 are entries 8 and 12 of the static table.
        let expected = if status == b"200" { 0x88 } else { 0x8c };
        assert_eq!(response.payload[0], expected, "{host:?}");
    }
}

#[test]
fn an_unread_body_is_bounded() {
    let (_home, server) = served(&["--limits-body-bytes-max", "1000"]);
    let mut http2 = Http2::connect(server.address());
    for bytes in [1_000, 1_001, 300_000] {
        let asked = http2.ask("POST", "/p.jpg", "", &vec![b'x'; bytes]);
        let response = http2.response(asked).expect("the stream is answered");
        assert_eq!(response.status, 405);
    }
    // The connection stays usable.
    assert_eq!(http2.send("GET", "/digits.txt", "").body, b"0123456789");
}

#[test]
fn more_streams_than_allowed_are_refused_one_by_one() {
    let (_home, server) = served(&["--limits-h2-streams-max", "4"]);
    let mut client = Frames::connect(server.address(), &[]);
    // The streams stay open, since the client has not sent their bodies yet.
    for stream in 0..10 {
        let opened = frame(HEADERS, END_HEADERS, 2 * stream + 1, &get("/digits.txt"));
        client.send(&opened).expect("the server listens");
    }
    let refused: Vec<_> = (0..6)
        .map(|_| client.wait_for(RST_STREAM).expect("the connection goes on"))
        .collect();
    for (frame, stream) in refused.iter().zip((9..).step_by(2)) {
        // RFC 9113 §7: REFUSED_STREAM.
        assert_eq!((frame.stream, &*frame.payload), (stream, &[0, 0, 0, 7][..]));
    }
    client
        .send(&frame(DATA, END_STREAM, 1, b""))
        .expect("the server listens");
    let body = client.wait_for(DATA).expect("the stream is answered");
    assert_eq!((body.stream, &*body.payload), (1, &b"0123456789"[..]));
}

/// As in HTTP/1.1, a head must arrive within `limits.head_timeout`. Otherwise the server closes the
/// connection, both after a complete first frame of the head and after a part of this frame.
#[test]
fn incomplete_heads_time_out() {
    let (_home, server) = served(&["--limits-head-timeout", "500ms"]);
    let head = get("/digits.txt");
    let begun = frame(HEADERS, END_STREAM, 1, &head);
    for (ended, half) in [&begun[..], &begun[..20], &begun[..3]].iter().enumerate() {
        let mut client = Frames::connect(server.address(), &[]);
        client.until_quiet();
        client.send(half).expect("the server listens");
        let frames = client.rest();
        assert_eq!(frames.last().map(|frame| frame.kind), Some(GOAWAY));
        let timeouts = server.metrics().get("pelton_timeouts_total{wait=\"head\"}");
        assert_eq!(timeouts, ended as u64 + 1);
    }
    server.stop();
}

#[test]
fn a_browser_with_many_cookies_is_served() {
    let (_home, server) = served(&[]);
    let mut http2 = Http2::connect(server.address());
    let cookies: String = (0..150).map(|n| format!("cookie: c{n}=v\r\n")).collect();
    assert_eq!(http2.send("GET", "/digits.txt", &cookies).status, 200);
}

#[test]
fn an_idle_connection_gets_goaway() {
    let (_home, server) = served(&["--limits-idle-timeout", "1s"]);
    let mut client = Frames::connect(server.address(), &[]);
    let ask = request(1, "/digits.txt");
    client.send(&ask).expect("the server listens");
    let goaways = client.rest().into_iter().filter(|it| it.kind == GOAWAY);
    assert!(0 < goaways.count(), "no GOAWAY before the end");
    assert_eq!(
        server.metrics().get("pelton_timeouts_total{wait=\"idle\"}"),
        1
    );
}

/// A connection with requests is not closed as idle: each response restarts the idle timeout.
#[test]
fn a_busy_connection_is_not_idle() {
    let (_home, server) = served(&["--limits-idle-timeout", "2s"]);
    let mut client = Frames::connect(server.address(), &[]);
    // The server may act on the timeout up to one second late, so requests continue for more than
    // three seconds.
    for number in 0..8 {
        let asked = request(2 * number + 1, "/digits.txt");
        client.send(&asked).expect("the connection goes on");
        assert!(client.wait_for(DATA).is_some(), "ended after {number}");
        std::thread::sleep(std::time::Duration::from_millis(600));
    }
}

#[test]
fn a_connection_has_only_so_many_requests() {
    let (_home, server) = served(&["--limits-connection-requests-max", "3"]);
    let mut http2 = Http2::connect(server.address());
    for _ in 0..3 {
        assert_eq!(http2.send("GET", "/digits.txt", "").body, b"0123456789");
    }
    http2.ended().expect("ended in peace");
}

/// The client ignores GOAWAY, and sends further requests.
#[test]
fn clients_that_ignore_goaway_are_disconnected() {
    let (_home, server) = served(&[
        "--limits-connection-requests-max",
        "3",
        "--limits-h2-streams-max",
        "2",
    ]);
    let mut client = Frames::connect(server.address(), &[]);
    let mut answered = 0;
    for number in 0..20 {
        let asked = request(2 * number + 1, "/digits.txt");
        if client.send(&asked).is_err() || client.wait_for(DATA).is_none() {
            break;
        }
        answered += 1;
    }
    assert_eq!(answered, 5);
}

#[test]
fn a_drain_says_goaway_and_finishes_what_is_under_way() {
    let (_home, mut server) = served(&[]);
    let mut client = Frames::connect(server.address(), &[]);
    let asked = client.send(&request(1, "/large.txt"));
    asked.expect("the server listens");
    // Reads until the initial flow-control window is used up. The rest of the response then waits
    // for WINDOW_UPDATE.
    let mut body = Vec::new();
    while body.len() < 65_535 {
        let data = client.wait_for(DATA).expect("the stream goes on");
        body.extend(data.payload);
    }
    server.ask_to_stop();
    server.logged(
        "INFO",
        "stopping: no new connections are accepted, but open requests may finish",
    );
    let goaway = client.wait_for(GOAWAY).expect("the server says it goes");
    // This first GOAWAY refuses no stream and reports no error: RFC 9113 §6.8.
    assert_eq!(goaway.payload, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let echo = client.wait_for(PING).expect("it asks whether that came");
    let acknowledged = client.send(&frame(PING, ACK, 0, &echo.payload));
    acknowledged.expect("the server listens");
    for stream in [0, 1] {
        let more = frame(WINDOW_UPDATE, 0, stream, &[0x40, 0, 0, 0]);
        client.send(&more).expect("the server listens");
    }
    let rest = client.rest();
    let of = |kind| rest.iter().filter(move |frame| frame.kind == kind);
    body.extend(of(DATA).flat_map(|frame| &frame.payload));
    assert!(body == large(), "{} bytes came", body.len());
    let last: Vec<_> = of(GOAWAY).map(|frame| &*frame.payload).collect();
    assert_eq!(last, [[0, 0, 0, 1, 0, 0, 0, 0]]);
    drop(client);
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_client_that_goes_on_in_http1_is_disconnected() {
    let (_home, server) = served(&[]);
    let mut client = Client::connect(server.address());
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\nhost: h\r\n\r\n");
    // The server sends its HTTP/2 settings and closes the connection. It does not respond to the
    // request in HTTP/1.1.
    let rest = client.rest();
    assert!(!rest.windows(5).any(|five| five == b"HTTP/"));
    assert_eq!(server.get("/digits.txt").status, 200);
}
