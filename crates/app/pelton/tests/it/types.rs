//! Files that are not pictures, and pictures that are not converted.

use image_plan::Frames;

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
    let home = Home::with(&[("scan.jp2", jp2), ("misnamed.jpg", jp2), ("nameless", jp2)]);
    let server = Server::plain(&home, &[]);
    for (target, media_type, body) in [
        ("/scan.jp2", "image/jp2", &jp2[..]),
        ("/misnamed.jpg", "image/jp2", jp2),
        ("/nameless", "image/jp2", jp2),
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
    // A request that changes a drawing gets pixels, rendered at any size.
    for (accept, media_type) in [("*/*", "image/png"), ("image/webp", "image/webp")] {
        let response = server.get_as("/d.svg?w=45", accept);
        assert_eq!(
            (response.status, response.content_type()),
            (200, media_type)
        );
        assert_eq!(response.size(), (45, 45));
        assert_eq!(response.field("content-security-policy"), None);
    }
    server.stop();
}

/// Drawing of 9 × 9 pixels, compressed with gzip.
const SVGZ: &[u8] = b"\
\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x6d\x8c\xbb\x0e\x80\x20\x0c\x00\x7f\xa5\x5b\x37\x4a\x34\
\x0e\x1a\xe0\x67\x04\x81\x04\x1f\x81\xc6\xfa\xf9\xca\xee\x76\xc9\x5d\xce\xb4\x3b\xc2\xb3\x97\xa3\
\x59\x4c\xcc\xd7\x42\x24\x22\x4a\x46\x75\xd6\x48\x83\xd6\x9a\xbe\x02\x41\xb2\xe7\x64\x71\x46\x48\
\x21\xc7\xc4\x1d\x9d\xa9\x61\xe5\x1f\x35\x21\x6c\xb9\x14\x8b\x35\x78\x24\x67\xfa\xc2\xbd\x11\xd6\
\x2c\xa7\x6a\x00\x00\x00";

#[test]
fn drawings_that_browsers_do_not_unpack_are_converted() {
    let bomb = "<g id='a0'><rect width='9' height='9'/></g>".to_owned();
    let bomb = (1..12).fold(bomb, |bomb, level| {
        let uses = format!("<use href='#a{}'/>", level - 1).repeat(10);
        format!("{bomb}<g id='a{level}'>{uses}</g>")
    });
    let bomb = format!("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>{bomb}</svg>");
    let home = Home::with(&[("d.svgz", SVGZ), ("bomb.svg", bomb.as_bytes())]);
    let server = Server::plain(&home, &[]);
    for (query, size) in [("", (9, 9)), ("?w=300", (300, 300))] {
        let response = server.get_as(&format!("/d.svgz{query}"), "image/avif");
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/avif")
        );
        assert_eq!(response.size(), size);
    }
    // Browsers get the drawing itself; they have their own limits.
    assert_eq!(server.get("/bomb.svg").content_type(), "image/svg+xml");
    assert_eq!(server.get("/bomb.svg?w=90").status, 422);
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
                assert_eq!(response.status, 200, "{query}");
                let frames = response.facts().frames;
                assert_eq!(frames, Frames::Exactly(3), "{query} for {accept}");
            }
        }
    }
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
