//! Tests of mounts beside a small library, over sockets, in HTTP/1.1 and HTTP/2.

mod imgproxy;
mod peer;
mod sections;
mod sessions;
mod variants;

use std::borrow::Cow;
use std::io::Read as _;
use std::pin::Pin;
use std::rc::Rc;

use expect_test::{Expect, expect};

use super::{Mount, MountRequest, Mounts, Reply};
use crate::request_context::{SLOW_TIME, Upload};
use peer::TestServer;

/// Mount that describes the request in its response.
struct Echo(&'static str);

impl Mount for Echo {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let x_fields = request.fields.filter(|(name, _)| name.starts_with("x-"));
        let x_fields: Vec<_> = x_fields
            .map(|(name, value)| format!("{name}={}", value.escape_ascii()))
            .collect();
        let body = format!(
            "{}: {} {} {:?} {x_fields:?} {} bytes, {:?}, secure {}",
            self.0,
            request.method,
            request.path,
            request.query,
            request.body.len(),
            request.body.first(),
            request.secure,
        );
        assert!(request.peer.is_loopback());
        Box::pin(async move {
            Reply::Whole {
                status: 200,
                fields: vec![("content-type".into(), "text/plain".into())],
                body: body.into(),
            }
        })
    }

    fn has_secret_queries(&self) -> bool {
        self.0 == "inner"
    }
}

/// Mount that responds with an internal redirect, whose target is the query of the request.
struct InternalRedirect;

impl Mount for InternalRedirect {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(async move {
            Reply::Internal {
                target: request.query.unwrap_or("").to_owned(),
                fields: vec![
                    ("cache-control".into(), "private".into()),
                    ("X-Added".into(), "a\r\nb".into()),
                ],
            }
        })
    }
}

/// Mount that responds with the status given in the query. Most of the header fields in its
/// response are fields that no mount may set.
struct Odd;

impl Mount for Odd {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let status = request.query.unwrap_or("").parse().expect("a status");
        let fields = [
            ("Set-Cookie", "a"),
            ("set-cookie", "b"),
            ("Content-Length", "1"),
            ("transfer-encoding", "chunked"),
            ("Connection", "close"),
            ("date", "today"),
            ("no token", "x"),
            ("", "x"),
        ];
        let field = |(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value));
        Box::pin(async move {
            Reply::Whole {
                status,
                fields: fields.into_iter().map(field).collect(),
                body: "odd".into(),
            }
        })
    }
}

/// Mount that responds with as many random hexadecimal digits as the query says. Content codings
/// compress such a body to slightly more than half its length.
struct Long;

impl Mount for Long {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let bytes = request.query.unwrap_or("").parse().expect("a number");
        let mut digits = String::with_capacity(bytes + 64);
        for number in 0_u64.. {
            if bytes <= digits.len() {
                break;
            }
            digits += &blake3::hash(&number.to_le_bytes()).to_hex();
        }
        digits.truncate(bytes);
        Box::pin(async move {
            Reply::Whole {
                status: 200,
                fields: vec![("content-type".into(), "text/plain".into())],
                body: digits.into(),
            }
        })
    }
}

fn mounts() -> Mounts {
    Mounts::new(vec![
        ("/echo".to_owned(), std::sync::Arc::new(Echo("outer"))),
        ("/echo/in".to_owned(), std::sync::Arc::new(Echo("inner"))),
        ("/to".to_owned(), std::sync::Arc::new(InternalRedirect)),
        ("/odd".to_owned(), std::sync::Arc::new(Odd)),
        ("/long".to_owned(), std::sync::Arc::new(Long)),
    ])
}

/// Sends a request in both protocols. Asserts that the responses are equal and as expected.
/// `request` consists of the method, target, fields and body.
fn check(server: &TestServer, request: (&str, &str, &str, &str), expected: Expect) {
    let (method, target, fields, body) = request;
    let first = server.ask_http1(method, target, fields, body);
    let second = server.ask_http2(method, target, fields, body);
    assert_eq!(first, second, "{method} {target}");
    expected.assert_eq(&first);
}

#[test]
fn the_longest_prefix_answers_what_is_below_it() {
    let server = TestServer::open(mounts());
    let ask = |target, expected| check(&server, ("GET", target, "", ""), expected);
    ask(
        "/echo/a%20b?c=d",
        expect![[r#"
            200
            content-length: 65
            content-type: text/plain

            outer: GET /echo/a%20b Some("c=d") [] 0 bytes, None, secure false"#]],
    );
    ask(
        "/echo",
        expect![[r#"
        200
        content-length: 52
        content-type: text/plain

        outer: GET /echo None [] 0 bytes, None, secure false"#]],
    );
    ask(
        "/echo/in",
        expect![[r#"
        200
        content-length: 55
        content-type: text/plain

        inner: GET /echo/in None [] 0 bytes, None, secure false"#]],
    );
    ask(
        "/echo/in/side",
        expect![[r#"
        200
        content-length: 60
        content-type: text/plain

        inner: GET /echo/in/side None [] 0 bytes, None, secure false"#]],
    );
    ask(
        "/echo/inner",
        expect![[r#"
        200
        content-length: 58
        content-type: text/plain

        outer: GET /echo/inner None [] 0 bytes, None, secure false"#]],
    );
    ask(
        "/echoes",
        expect![[r#"
        404
        cache-control: no-store
        content-length: 98
        content-type: application/problem+json
        vary: Accept
        x-content-type-options: nosniff

        {"title":"no such picture","status":404"#]],
    );
}

#[test]
fn a_browser_gets_a_page_for_what_does_not_exist() {
    let server = TestServer::open(mounts());
    let accepts = "accept: text/html,image/avif,*/*;q=0.8\r\n";
    for (target, root) in [
        ("/no/such.jpg", "../"),
        ("/-/nowhere", "../"),
        ("/nothing", ""),
    ] {
        let page = server.ask_http1("GET", target, accepts, "");
        assert_eq!(page, server.ask_http2("GET", target, accepts, ""));
        assert!(page.starts_with("404\n"), "{page}");
        assert!(
            page.contains("content-type: text/html; charset=utf-8\n"),
            "{page}"
        );
        assert!(page.contains("vary: Accept, Accept-Encoding\n"), "{page}");
        assert!(page.contains(&format!("<a href=\"{root}-/\">")), "{page}");
        let head = server.ask_http1("HEAD", target, accepts, "");
        assert!(
            head.starts_with("404\n") && head.ends_with("\n\n"),
            "{head}"
        );
        for other in ["", "accept: */*\r\n", "accept: image/avif,image/*\r\n"] {
            let problem = server.ask_http1("GET", target, other, "");
            assert!(problem.starts_with("404\n"), "{problem}");
            let is_problem = problem.contains("content-type: application/problem+json\n");
            assert!(
                is_problem && problem.contains("vary: Accept\n"),
                "{problem}"
            );
        }
    }
}

#[test]
fn bodies_and_methods_arrive_whole() {
    let server = TestServer::open(mounts());
    let long = "x".repeat(200_000);
    check(
        &server,
        ("POST", "/echo", "x-a: 1\r\nx-b: 2\r\n", "form"),
        expect![[r#"
            200
            content-length: 74
            content-type: text/plain

            outer: POST /echo None ["x-a=1", "x-b=2"] 4 bytes, Some(102), secure false"#]],
    );
    check(
        &server,
        ("PUT", "/echo", "", &long),
        expect![[r#"
        200
        content-length: 62
        content-type: text/plain

        outer: PUT /echo None [] 200000 bytes, Some(120), secure false"#]],
    );
    check(
        &server,
        ("DELETE", "/echo", "", ""),
        expect![[r#"
        200
        content-length: 55
        content-type: text/plain

        outer: DELETE /echo None [] 0 bytes, None, secure false"#]],
    );
    check(
        &server,
        ("OPTIONS", "/echo", "", ""),
        expect![[r#"
        200
        content-length: 56
        content-type: text/plain

        outer: OPTIONS /echo None [] 0 bytes, None, secure false"#]],
    );
    check(
        &server,
        ("HEAD", "/echo", "", ""),
        expect![[r#"
        200
        content-length: 53
        content-type: text/plain

    "#]],
    );
    check(
        &server,
        ("POST", "/digits.txt", "", "form"),
        expect![[r#"
            405
            allow: GET, HEAD, OPTIONS
            cache-control: no-store
            content-length: 126
            content-type: application/problem+json
            x-content-type-options: nosniff

            {"title":"only GET, HEAD and OPTIONS are allowed here","status":405"#]],
    );
    let chunked = "POST /echo HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n\
                   2\r\nab\r\n1\r\nc\r\n0\r\n\r\nGET /echo HTTP/1.1\r\nhost: h\r\n\r\n";
    assert!(server.say(chunked).contains("3 bytes, Some(97)"));
    let text =
        "POST /echo HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n";
    let response = server.say_then(text, "100 Continue\r\n\r\n", "abc");
    assert!(response.contains("3 bytes, Some(97)"), "{response}");
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let server = TestServer::open(mounts());
    let too_long = "x".repeat(300_000);
    let first = server.ask_http1("POST", "/echo", "", &too_long);
    assert!(first.starts_with("413\n"), "{first}");
    let second = server.ask_http2("POST", "/echo", "", &too_long);
    assert!(second.starts_with("413\n"), "{second}");
}

#[test]
fn bodies_of_a_core_share_its_room() {
    let all = Rc::default();
    let (mut first, mut second) = (Upload::new(&all), Upload::new(&all));
    first.add(b"abc", 5).expect("there is room");
    second.add(b"de", 5).expect("there is room");
    assert_eq!(second.add(b"f", 5).expect_err("it is full").status, 503);
    assert_eq!(first.take().expect("it is whole"), "abc");
    assert_eq!(
        second.add(b"f", 5).expect_err("it still counts").status,
        503
    );
    drop(first);
    second.add(b"f", 5).expect("there is room again");
    assert_eq!(second.take().expect("it is whole"), "def");
}

#[test]
fn a_slow_body_gives_its_room_to_others() {
    let paused = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    paused.expect("a runtime").block_on(async {
        let all = Rc::default();
        let (mut slow, mut quick) = (Upload::new(&all), Upload::new(&all));
        slow.add(b"abcd", 5).expect("there is room");
        tokio::time::advance(SLOW_TIME / 2).await;
        assert_eq!(quick.add(b"ef", 5).expect_err("it is full").status, 503);
        tokio::time::advance(SLOW_TIME / 2).await;
        quick.add(b"ef", 5).expect("the slow one is given up");
        assert_eq!(slow.add(b"g", 5).expect_err("it is gone").status, 408);
        assert_eq!(slow.take().expect_err("it is gone").status, 408);
        drop(slow);
        quick.add(b"ghi", 5).expect("nothing counts twice");
        let mut third = Upload::new(&all);
        tokio::time::advance(SLOW_TIME).await;
        let whole = quick.take().expect("it is whole");
        assert_eq!(third.add(b"j", 5).expect_err("a mount has it").status, 503);
        assert_eq!(whole, "efghi");
    });
}

/// The limit on the memory of responses applies with and without a content coding, to every kind of
/// response.
#[test]
fn answers_that_clients_do_not_take_are_bounded_together() {
    for coding in ["identity", "br", "gzip"] {
        let server = TestServer::limited(mounts(), 1 << 20);
        let status = |target: &str| {
            let response = server.ask_http1("GET", target, "", "");
            response[..3].to_owned()
        };
        let text = format!(
            "GET /long?3000000 HTTP/1.1\r\nhost: h\r\naccept-encoding: {coding}\r\nconnection: close\r\n\r\n"
        );
        let mut idle = server.begin(&text);
        let mut first = [0; 12];
        idle.read_exact(&mut first).expect("it is answered");
        assert_eq!(&first, b"HTTP/1.1 200", "{coding}");
        for target in ["/long?10", "/long?2000", "/-/metrics"] {
            assert_eq!(status(target), "503", "{coding} {target}");
        }
        assert_eq!(status("/-/ready"), "200", "{coding}");
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).expect("it comes whole");
        drop(idle);
        for target in ["/long?10", "/long?2000", "/-/metrics"] {
            assert_eq!(status(target), "200", "{coding} {target}");
        }
    }
}

#[test]
fn another_target_is_answered_as_if_it_was_asked_for() {
    let server = TestServer::open(mounts());
    let to = "/to?/digits.txt";
    check(
        &server,
        ("GET", to, "", ""),
        expect![[r#"
        200
        accept-ranges: bytes
        cache-control: private
        cache-status: Pelton; hit
        content-length: 10
        content-security-policy: default-src 'none'; style-src 'unsafe-inline'; sandbox
        content-type: text/plain; charset=utf-8
        x-added: a  b
        x-compression-rate: 1.00
        x-content-type-options: nosniff

        0123456789"#]],
    );
    check(
        &server,
        ("HEAD", to, "", ""),
        expect![[r#"
        200
        accept-ranges: bytes
        cache-control: private
        cache-status: Pelton; hit
        content-length: 10
        content-security-policy: default-src 'none'; style-src 'unsafe-inline'; sandbox
        content-type: text/plain; charset=utf-8
        x-added: a  b
        x-compression-rate: 1.00
        x-content-type-options: nosniff

    "#]],
    );
    check(
        &server,
        ("POST", to, "", "form"),
        expect![[r#"
        200
        accept-ranges: bytes
        cache-control: private
        cache-status: Pelton; hit
        content-length: 10
        content-security-policy: default-src 'none'; style-src 'unsafe-inline'; sandbox
        content-type: text/plain; charset=utf-8
        x-added: a  b
        x-compression-rate: 1.00
        x-content-type-options: nosniff

        0123456789"#]],
    );
    check(
        &server,
        ("GET", to, "range: bytes=2-4\r\n", ""),
        expect![[r#"
        206
        accept-ranges: bytes
        cache-control: private
        cache-status: Pelton; hit
        content-length: 3
        content-range: bytes 2-4/10
        content-security-policy: default-src 'none'; style-src 'unsafe-inline'; sandbox
        content-type: text/plain; charset=utf-8
        x-added: a  b
        x-compression-rate: 1.00
        x-content-type-options: nosniff

        234"#]],
    );
    check(
        &server,
        ("GET", to, "range: bytes=20-\r\n", ""),
        expect![[r#"
            416
            cache-control: no-store
            content-length: 134
            content-range: bytes */10
            content-type: application/problem+json
            x-added: a  b
            x-content-type-options: nosniff

            {"title":"the requested range lies outside the representation","status":416"#]],
    );
    check(
        &server,
        ("GET", to, "if-none-match: *\r\n", ""),
        expect![[r#"
        304
        cache-control: private
        x-added: a  b

    "#]],
    );
    check(
        &server,
        ("GET", "/to?/missing.txt", "", ""),
        expect![[r#"
            404
            cache-control: no-store
            content-length: 98
            content-type: application/problem+json
            vary: Accept
            x-added: a  b
            x-content-type-options: nosniff

            {"title":"no such picture","status":404"#]],
    );
    // An internal redirect can lead only to a file of the library, not to another mount.
    check(
        &server,
        ("GET", "/to?/echo", "", ""),
        expect![[r#"
            404
            cache-control: no-store
            content-length: 98
            content-type: application/problem+json
            vary: Accept
            x-added: a  b
            x-content-type-options: nosniff

            {"title":"no such picture","status":404"#]],
    );
}

#[test]
fn only_sound_fields_leave() {
    let server = TestServer::open(mounts());
    for (status, expected) in [
        (
            "418",
            expect![[r#"
            418
            content-length: 3
            set-cookie: a
            set-cookie: b

            odd"#]],
        ),
        (
            "204",
            expect![[r#"
            204
            set-cookie: a
            set-cookie: b

        "#]],
        ),
        (
            "304",
            expect![[r#"
            304
            set-cookie: a
            set-cookie: b

        "#]],
        ),
    ] {
        check(
            &server,
            ("GET", &format!("/odd?{status}"), "", ""),
            expected,
        );
    }
}

#[test]
fn secrets_are_not_logged() {
    let mounts = mounts();
    let check = |target: &'static str, kept: &str| {
        let loggable = mounts.loggable(target.as_bytes());
        assert_eq!(str::from_utf8(loggable), Ok(kept), "{target}");
    };
    check("/echo/in/a?p=secret", "/echo/in/a");
    check("http://h/echo/in?p=secret", "http://h/echo/in");
    check("/echo?q", "/echo?q");
    check("/p.jpg?w=3", "/p.jpg?w=3");
}
