//! Files that are not pictures, and pictures that are not converted.

use crate::harness::{Home, Server, media};

const SANDBOX: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

#[test]
fn files_of_foreign_types_are_served_only_if_allowed() {
    let home = Home::with(&[
        ("page.html", b"<script>alert(1)</script>"),
        ("notes.TXT", b"notes"),
        ("data.bin", b"\x7fELF"),
        ("plain", b"no extension"),
    ]);
    let server = Server::plain(&home, &[]);
    for target in ["/page.html", "/notes.TXT", "/data.bin", "/plain"] {
        let response = server.get(target);
        assert_eq!(response.status, 404, "{target}");
        assert_eq!(response.content_type(), "application/problem+json");
    }
    server.stop();
    let server = Server::plain(&home, &["--allowed-types", "html,txt"]);
    for (target, media_type, body) in [
        (
            "/page.html",
            "text/html; charset=utf-8",
            "<script>alert(1)</script>",
        ),
        ("/notes.TXT", "text/plain; charset=utf-8", "notes"),
    ] {
        let response = server.get_as(target, "image/webp");
        assert_eq!(
            (response.status, response.content_type()),
            (200, media_type)
        );
        assert_eq!(response.text(), body);
        assert_eq!(response.field("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.field("content-security-policy"), Some(SANDBOX));
        assert_eq!(response.field("vary"), None, "there is only one");
        assert_eq!(server.get(&format!("{target}?w=10")).status, 422);
    }
    assert_eq!(server.get("/data.bin").status, 404);
    server.stop();
    let server = Server::plain(&home, &["--allowed-types", "*"]);
    assert_eq!(
        server.get("/data.bin").content_type(),
        "application/octet-stream"
    );
    server.stop();
}

#[test]
fn pictures_that_are_not_converted_are_sent_as_they_are() {
    let jp2 = b"\0\0\0\x0cjP  \r\n\x87\n, and no more";
    let jxl = b"\0\0\0\x0cJXL \r\n\x87\n, and no more";
    let home = Home::with(&[("scan.jp2", jp2), ("misnamed.jpg", jp2), ("nameless", jxl)]);
    let server = Server::plain(&home, &[]);
    for (target, media_type, body) in [
        ("/scan.jp2", "image/jp2", &jp2[..]),
        ("/misnamed.jpg", "image/jp2", jp2),
        ("/nameless", "image/jxl", jxl),
    ] {
        for query in ["", "?w=10", "?format=webp"] {
            let response = server.get_as(&format!("{target}{query}"), "image/avif,image/webp");
            assert_eq!(
                (response.status, response.content_type()),
                (200, media_type)
            );
            assert_eq!(response.body, body);
            assert_eq!(response.field("x-content-type-options"), Some("nosniff"));
            assert_eq!(response.field("vary"), None, "there is only one");
        }
    }
    server.stop();
}

#[test]
fn drawings_are_left_alone_and_run_nothing() {
    let home = Home::with(&[("d.svg", media::SVG), ("misnamed.jpg", media::SVG)]);
    let server = Server::plain(&home, &[]);
    for target in ["/d.svg", "/misnamed.jpg"] {
        for accept in ["*/*", "image/avif,image/webp"] {
            let response = server.get_as(target, accept);
            assert_eq!((response.status, &response.body[..]), (200, media::SVG));
            assert_eq!(response.content_type(), "image/svg+xml");
            assert_eq!(response.field("content-security-policy"), Some(SANDBOX));
            assert_eq!(response.field("x-content-type-options"), Some("nosniff"));
        }
    }
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

#[test]
fn animations_are_not_frozen() {
    let moving = media::gif(96, 64, 3);
    let home = Home::with(&[("moving.gif", &moving), ("moving.jpg", &moving)]);
    let server = Server::plain(&home, &[]);
    for target in ["/moving.gif", "/moving.jpg"] {
        for accept in ["*/*", "image/avif,image/webp"] {
            for query in ["", "?w=48", "?format=webp"] {
                let response = server.get_as(&format!("{target}{query}"), accept);
                assert_eq!((response.status, &response.body), (200, &moving), "{query}");
                assert_eq!(response.content_type(), "image/gif");
            }
        }
    }
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

#[test]
fn music_is_served_as_it_is() {
    let music: [(&str, &[u8], &str); 4] = [
        ("a.flac", b"fLaC\0\0\0\x22", "audio/flac"),
        ("a.mp3", b"ID3\x04\0\0\0\0\0\0", "audio/mpeg"),
        ("a.ogg", b"OggS\0\x02\0\0", "audio/ogg"),
        ("misnamed.txt", b"fLaC\0\0\0\x22", "audio/flac"),
    ];
    let home = Home::new();
    for (name, bytes, _) in music {
        home.put(name, bytes);
    }
    let server = Server::plain(&home, &[]);
    for (name, bytes, media_type) in music {
        let response = server.get(&format!("/{name}"));
        assert_eq!((response.status, &response.body[..]), (200, bytes));
        assert_eq!(response.content_type(), media_type);
        assert_eq!(response.field("accept-ranges"), Some("bytes"));
    }
    server.stop();
}

#[test]
fn pictures_are_recognized_by_their_bytes() {
    let png = media::png(48, 32);
    let home = Home::with(&[("a.jpg", &png), ("a.txt", &png), ("a", &png)]);
    let server = Server::plain(&home, &[]);
    for target in ["/a.jpg", "/a.txt", "/a"] {
        let response = server.get(target);
        assert_eq!(
            (response.content_type(), &response.body),
            ("image/png", &png)
        );
        let webp = server.get_as(&format!("{target}?w=24"), "image/webp");
        assert_eq!((webp.content_type(), webp.size()), ("image/webp", (24, 16)));
    }
    server.stop();
}
