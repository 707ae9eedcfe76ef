//! Optional parts of responses that an operator or a client requests: header fields, content
//! codings, ranges.

use std::fmt::Write as _;
use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::harness::{Home, Http2, Metrics, Response, Server, media};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><!-- ";

/// Returns a drawing of about 9 KB that compresses well.
fn drawing() -> Vec<u8> {
    format!("{SVG}{} --></svg>", "round and round ".repeat(600)).into_bytes()
}

fn unzipped(response: &Response) -> Vec<u8> {
    assert_eq!(response.field("content-encoding"), Some("gzip"));
    let mut body = Vec::new();
    let read = GzDecoder::new(&response.body[..]).read_to_end(&mut body);
    read.expect("the body is sound");
    body
}

/// Returns whether the Vary field contains this name.
fn varies(response: &Response, name: &str) -> bool {
    let names = response.field("vary").unwrap_or("");
    names
        .split(", ")
        .any(|vary| vary.eq_ignore_ascii_case(name))
}

#[test]
fn text_is_sent_in_the_coding_that_a_client_reads() {
    let home = Home::with(&[
        ("d.svg", &drawing()),
        ("t.txt", &b"0123456789 ".repeat(20_000)),
        ("p.jpg", &media::photo(200, 150, 1)),
        ("tiny.txt", b"0123456789"),
    ]);
    let flags = [
        "--allowed-types",
        "txt",
        "--limits-revalidate-after",
        "100ms",
    ];
    let server = Server::plain(&home, &flags);
    for target in ["/d.svg", "/t.txt"] {
        let plain = server.get(target);
        assert!(varies(&plain, "accept-encoding"), "{target}");
        assert_eq!(plain.field("content-encoding"), None);
        let mut tags = vec![plain.etag().to_owned()];
        for coding in ["br", "gzip", "zstd"] {
            let fields = format!("accept-encoding: {coding}\r\n");
            // The first response is a cache miss, the second a cache hit.
            for _ in 0..2 {
                let response = server.send("GET", target, &fields);
                assert_eq!(response.field("content-encoding"), Some(coding), "{target}");
                assert!(
                    response.body.len() * 4 < plain.body.len(),
                    "{target}, {coding}"
                );
                assert!(varies(&response, "accept-encoding"), "{target}");
                assert_eq!(response.content_type(), plain.content_type());
                let head = server.send("HEAD", target, &fields);
                assert_eq!(
                    head.field("content-length"),
                    response.field("content-length")
                );
                let held = format!("{fields}if-none-match: {}\r\n", response.etag());
                assert_eq!(server.send("GET", target, &held).status, 304);
                let part = server.send("GET", target, &format!("{fields}range: bytes=3-9\r\n"));
                assert_eq!((part.status, &part.body[..]), (206, &response.body[3..10]));
                if coding == "gzip" {
                    assert!(unzipped(&response) == plain.body, "{target}");
                }
                if !tags.contains(&response.etag().to_owned()) {
                    tags.push(response.etag().to_owned());
                }
            }
        }
        assert_eq!(tags.len(), 4, "each coding has a tag of its own: {tags:?}");
        assert!(server.get(target).body == plain.body);
    }
    let all = "accept-encoding: gzip, br, zstd\r\n";
    for target in ["/p.jpg", "/tiny.txt"] {
        let response = server.send("GET", target, all);
        assert_eq!(response.field("content-encoding"), None, "{target}");
        assert!(!varies(&response, "accept-encoding"), "{target}");
    }
    let mut http2 = Http2::connect(server.address());
    let response = http2.send("GET", "/d.svg", "accept-encoding: gzip\r\n");
    assert!(unzipped(&response) == drawing());
    server.stop();
}

#[test]
fn documents_are_sent_in_the_coding_that_a_client_reads() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let zipped = "accept-encoding: gzip\r\n";
    let metrics = server.send("GET", "/-/metrics", zipped);
    let text = String::from_utf8(unzipped(&metrics)).expect("metrics are text");
    Metrics::parse(&text);
    for target in ["/-/at/", "/-/plain/music"] {
        let plain = server.get(target);
        let response = server.send("GET", target, zipped);
        assert!(unzipped(&response) == plain.body, "{target}");
        assert!(varies(&response, "accept-encoding") && varies(&plain, "accept-encoding"));
        let head = server.send("HEAD", target, zipped);
        assert_eq!(head.field("content-length"), None, "{target}");
    }
    let health = server.send("GET", "/healthz", zipped);
    assert_eq!(
        (health.field("content-encoding"), health.text()),
        (None, "ok\n")
    );
    server.stop();
}

#[test]
fn text_beyond_the_limit_is_sent_as_it_is() {
    let home = Home::with(&[("d.svg", &drawing())]);
    let server = Server::plain(&home, &["--limits-coded-bytes-max", "4KiB"]);
    let response = server.send("GET", "/d.svg", "accept-encoding: br\r\n");
    assert_eq!(response.field("content-encoding"), None);
    server.stop();
}

/// Checks requests for several ranges, both of a body in memory and of a body in a file.
#[test]
fn several_ranges_are_sent_as_parts() {
    let song = |bytes: u32| -> Vec<u8> {
        let numbers =
            (0..bytes / 4).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
        b"fLaC".iter().copied().chain(numbers).collect()
    };
    let songs = [("small.flac", song(40_000)), ("large.flac", song(400_000))];
    let home = Home::new();
    for (name, bytes) in &songs {
        home.put(name, bytes);
    }
    let server = Server::plain(&home, &[]);
    let mut http2 = Http2::connect(server.address());
    for (name, bytes) in &songs {
        let (target, length) = (format!("/{name}"), bytes.len());
        let fields = "range: bytes=-8,100-199,20000-29999,150-299\r\n";
        for response in [
            server.send("GET", &target, fields),
            http2.send("GET", &target, fields),
        ] {
            assert_eq!(response.status, 206, "{name}");
            assert_eq!(response.field("content-range"), None);
            let boundary = response
                .content_type()
                .strip_prefix("multipart/byteranges; boundary=");
            let boundary = boundary.expect("several parts");
            let mut expected = Vec::new();
            for range in [100..300, 20_000..30_000, length - 8..length] {
                let (first, last) = (range.start, range.end - 1);
                let mut head = String::new();
                write!(
                    head,
                    "\r\n--{boundary}\r\ncontent-type: audio/flac\r\ncontent-range: bytes {first}-{last}/{length}\r\n\r\n"
                )
                .expect("writing to a string cannot fail");
                expected.extend_from_slice(head.as_bytes());
                expected.extend_from_slice(&bytes[range]);
            }
            expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
            assert!(response.body == expected, "{name}");
        }
        // A request with too many ranges gets the whole body.
        let many: Vec<_> = (0..11).map(|n| format!("{0}-{0}", n * 1_000)).collect();
        let many = format!("range: bytes={}\r\n", many.join(","));
        let whole = server.send("GET", &target, &many);
        assert_eq!((whole.status, whole.body.len()), (200, length), "{name}");
    }
    server.stop();
}

#[test]
fn the_operator_s_fields_are_in_every_answer() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let headers = "X-Frame-Options: DENY|Cache-Control: public, max-age=60, immutable|X-Content-Type-Options: none";
    let server = Server::plain(&home, &["--headers", headers]);
    for (target, cached) in [
        ("/p.jpg", "public, max-age=60, immutable"),
        ("/-/at/", "no-store"),
        ("/missing.jpg", "no-store"),
        ("/healthz", "no-store"),
    ] {
        for response in [
            server.get(target),
            Http2::connect(server.address()).send("GET", target, ""),
        ] {
            assert_eq!(response.field("x-frame-options"), Some("DENY"), "{target}");
            assert_eq!(response.field("cache-control"), Some(cached), "{target}");
        }
    }
    let part = server.send("GET", "/p.jpg", "range: bytes=0-3\r\n");
    assert_eq!(part.field("x-frame-options"), Some("DENY"));
    assert_eq!(part.field("x-content-type-options"), Some("none"));
    let refused = server.send("BREW", "/p.jpg", "");
    assert_eq!(
        (refused.status, refused.field("x-frame-options")),
        (501, Some("DENY"))
    );
    server.stop();
}

#[test]
fn pages_of_other_origins_read_what_they_may() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let from = |origin: &str| format!("origin: {origin}\r\n");
    let allowed = |response: &Response| {
        response
            .field("access-control-allow-origin")
            .map(str::to_owned)
    };

    let server = Server::plain(&home, &[]);
    let response = server.send("GET", "/p.jpg", &from("https://a.example"));
    assert_eq!(
        (
            allowed(&response),
            response.field("cross-origin-resource-policy")
        ),
        (None, None)
    );
    server.stop();

    let flags = ["--cors-origins", "*", "--resource-policy", "cross-origin"];
    let server = Server::plain(&home, &flags);
    let response = server.send("GET", "/p.jpg", &from("https://a.example"));
    assert_eq!(allowed(&response).as_deref(), Some("*"));
    assert_eq!(
        response.field("cross-origin-resource-policy"),
        Some("cross-origin")
    );
    assert!(!varies(&response, "origin"));
    let asked = format!(
        "{}access-control-request-method: GET\r\n",
        from("https://a.example")
    );
    let preflight = server.send("OPTIONS", "/p.jpg", &asked);
    assert_eq!(
        (preflight.status, allowed(&preflight).as_deref()),
        (204, Some("*"))
    );
    assert_eq!(
        preflight.field("access-control-allow-methods"),
        Some("GET, HEAD")
    );
    server.stop();

    let server = Server::plain(
        &home,
        &["--cors-origins", "https://a.example,https://b.example"],
    );
    for (origin, expected) in [
        ("https://a.example", Some("https://a.example")),
        ("https://b.example", Some("https://b.example")),
        ("https://c.example", None),
        ("null", None),
    ] {
        for range in ["", "range: bytes=0-3\r\n"] {
            let response = server.send("GET", "/p.jpg", &format!("{}{range}", from(origin)));
            assert_eq!(allowed(&response).as_deref(), expected, "{origin}");
            assert!(
                varies(&response, "origin") && varies(&response, "accept"),
                "{origin}"
            );
        }
    }
    let plain = server.get("/p.jpg");
    assert!(allowed(&plain).is_none() && varies(&plain, "origin"));
    server.stop();
}

#[test]
fn a_page_may_run_where_the_operator_says_so() {
    let home = Home::with(&[("a.html", b"<p>a"), ("a.txt", b"a"), ("d.svg", &drawing())]);
    let flags = ["--allowed-types", "html,txt", "--active-types", "html"];
    let server = Server::plain(&home, &flags);
    for (target, is_held) in [("/a.html", false), ("/a.txt", true), ("/d.svg", true)] {
        let policy = server
            .get(target)
            .field("content-security-policy")
            .map(str::to_owned);
        assert_eq!(
            policy.is_some_and(|policy| policy.contains("sandbox")),
            is_held,
            "{target}"
        );
    }
    server.stop();
}

#[test]
fn browsers_get_an_icon() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let icon = server.get("/favicon.ico");
    assert_eq!((icon.status, icon.content_type()), (200, "image/png"));
    assert_eq!(icon.size(), (32, 32));
    home.put("favicon.ico", &media::png(16, 16));
    assert_eq!(server.get("/favicon.ico").size(), (16, 16));
    server.stop();
}
