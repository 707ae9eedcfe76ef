//! Broken pictures and decompression bombs: every request gets a complete response, and the
//! server's memory does not grow.

use std::iter;

use crate::harness::{Home, Server, media};

/// Maximum growth of the server's memory while it handles bombs, in bytes.
const GROWTH_BYTES_MAX: u64 = 64 << 20;

/// Starts a server and sends it one request, so that its basic memory is allocated.
fn warm(home: &Home) -> Server {
    home.put("warm.jpg", &media::photo(48, 32, 1));
    let server = Server::plain(home, &[]);
    let response = server.get_as("/warm.jpg?w=24", "image/webp");
    assert_eq!(response.size(), (24, 16));
    server
}

/// Returns the first half of a photograph, which ends in the middle of its pixel data.
fn truncated() -> Vec<u8> {
    let photo = media::photo(96, 64, 1);
    photo[..photo.len() / 2].to_vec()
}

/// Returns JPEG's magic bytes, followed by bytes that are not JPEG.
fn garbage() -> Vec<u8> {
    let mut garbage = b"\xff\xd8\xff".to_vec();
    garbage.extend(iter::repeat_n(0x5a, 4000));
    garbage
}

#[test]
fn broken_originals_are_sent_as_they_are_and_not_changed() {
    let originals = [
        ("garbage.jpg", garbage(), "application/octet-stream"),
        (
            "cut.jpg",
            b"\xff\xd8\xff\xe0\0\x10JF".to_vec(),
            "application/octet-stream",
        ),
        ("undecodable.png", media::undecodable(), "image/png"),
    ];
    let home = Home::new();
    for (name, bytes, _) in &originals {
        home.put(name, bytes);
    }
    let server = warm(&home);
    for (name, bytes, media_type) in &originals {
        for accept in ["*/*", "image/webp", "image/avif", "image/avif,image/webp"] {
            let response = server.get_as(&format!("/{name}"), accept);
            assert_eq!(
                (response.status, response.content_type()),
                (200, *media_type)
            );
            assert_eq!(response.body, *bytes, "{name}");
            assert_eq!(response.field("x-content-type-options"), Some("nosniff"));
        }
        for query in ["w=24", "format=webp", "w=24&format=png"] {
            let response = server.get_as(&format!("/{name}?{query}"), "image/webp");
            assert_eq!(response.status, 422, "{name}, {query}");
            assert_eq!(response.field("vary"), Some("Accept"));
            assert_eq!(response.content_type(), "application/problem+json");
        }
    }
    // The server remembers the failures, so no conversion is tried again.
    let jobs = server.metrics().jobs();
    for (name, ..) in &originals {
        server.get_as(&format!("/{name}"), "image/avif,image/webp");
        let response = server.get_as(&format!("/{name}?w=24"), "image/webp");
        assert_eq!(response.status, 422, "{name}");
    }
    assert_eq!(server.metrics().jobs(), jobs);
    server.stop();
    let server = Server::plain(&home, &[]);
    for (name, ..) in &originals {
        let response = server.get_as(&format!("/{name}?w=24"), "image/webp");
        assert_eq!(response.status, 422, "{name}");
    }
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

#[test]
fn a_truncated_photograph_is_shown_as_far_as_it_goes() {
    let home = Home::with(&[("truncated.jpg", &truncated())]);
    let server = warm(&home);
    let original = server.get("/truncated.jpg");
    assert_eq!((original.status, original.body), (200, truncated()));
    let webp = server.get_as("/truncated.jpg?w=48", "image/webp");
    assert_eq!((webp.status, webp.size()), (200, (48, 32)));
    server.stop();
}

#[test]
fn files_without_a_byte_are_no_pictures() {
    let home = Home::with(&[("empty.jpg", b""), ("empty.txt", b"")]);
    let server = Server::plain(&home, &["--allowed-types", "txt"]);
    assert_eq!(server.get("/empty.jpg").status, 404);
    let empty = server.get("/empty.txt");
    assert_eq!((empty.status, empty.body.len()), (200, 0));
    let range = server.send("GET", "/empty.txt", "range: bytes=0-\r\n");
    assert_eq!(range.field("content-range"), Some("bytes */0"));
    assert_eq!(server.get("/empty.jpg?w=10").status, 404);
    server.stop();
}

#[test]
fn bombs_are_refused_before_a_pixel_is_decoded() {
    let bombs = [
        ("bomb.png", media::png_bomb(), "image/png"),
        ("bomb.jpg", media::jpeg_bomb(), "image/jpeg"),
        ("profile.png", media::png_with_giant_profile(), "image/png"),
    ];
    let home = Home::new();
    for (name, bytes, _) in &bombs {
        home.put(name, bytes);
    }
    let server = warm(&home);
    let (before, jobs) = (server.memory("VmHWM"), server.metrics().jobs());
    for (name, bytes, media_type) in &bombs {
        for accept in ["*/*", "image/avif,image/webp"] {
            let response = server.get_as(&format!("/{name}"), accept);
            assert_eq!(
                (response.status, response.content_type()),
                (200, *media_type)
            );
            assert!(response.body == *bytes, "{name}");
            for query in ["w=24", "w=24&format=png", "q=50&format=webp"] {
                let response = server.get_as(&format!("/{name}?{query}"), accept);
                assert_eq!(response.status, 422, "{name}, {query}");
                assert_eq!(response.field("vary"), Some("Accept"));
                assert_eq!(response.content_type(), "application/problem+json");
            }
        }
    }
    assert_eq!(server.metrics().jobs(), jobs, "no cell has seen one");
    let grown = server.memory("VmHWM") - before;
    assert!(grown < GROWTH_BYTES_MAX, "grown by {} MiB", grown >> 20);
    assert_eq!(server.get_as("/warm.jpg?w=23", "image/webp").status, 200);
    server.stop();
}

#[test]
fn what_exceeds_the_limits_is_not_converted() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    for (flag, limit) in [
        ("--limits-source-pixels-max", "6143"),
        ("--limits-original-bytes-max", "1KiB"),
    ] {
        let server = Server::plain(&home, &[flag, limit]);
        let response = server.get_as("/p.jpg", "image/avif,image/webp");
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/jpeg")
        );
        let response = server.get_as("/p.jpg?w=24", "image/webp");
        assert_eq!(response.status, 422, "{flag}");
        assert_eq!(server.metrics().jobs(), 0);
        server.stop();
    }
}

#[test]
fn a_jpeg_beyond_the_limit_is_converted_to_sizes_that_need_a_fraction_of_its_pixels() {
    let photo = media::photo(3_000, 2_000, 1);
    let home = Home::with(&[("large.jpg", &photo)]);
    let server = Server::plain(&home, &["--limits-source-pixels-max", "1600000"]);
    let whole = server.get_as("/large.jpg", "image/avif,image/webp,*/*");
    assert_eq!((whole.status, &whole.body), (200, &photo), "the original");
    let small = server.get_as("/large.jpg?w=600", "image/webp");
    assert_eq!((small.status, small.size()), (200, (600, 400)));
    assert_eq!(server.get("/large.jpg?w=2500").status, 422);
    server.stop();
}

/// A file that is far too short for its number of pixels is not decoded: decoding it would take
/// seconds.
#[test]
fn a_file_too_short_for_its_pixels_costs_nothing() {
    let side = 10_000_u16.to_le_bytes();
    let mut gif = [
        &b"GIF89a"[..],
        &side,
        &side,
        &[0x80, 0, 0, 0, 0, 0, 9, 9, 9],
    ]
    .concat();
    gif.extend(
        [
            &[0x2c, 0, 0, 0, 0][..],
            &side,
            &side,
            &[0, 2, 1, 0, 0, 0x3b],
        ]
        .concat(),
    );
    let mut bmp = media::bmp(16, 16);
    bmp[18..26].copy_from_slice(&[0x10, 0x27, 0, 0, 0x10, 0x27, 0, 0]);
    let home = Home::with(&[("e.gif", &gif), ("e.bmp", &bmp)]);
    let server = Server::plain(&home, &[]);
    for (name, bytes) in [("e.gif", &gif), ("e.bmp", &bmp)] {
        let whole = server.get_as(&format!("/{name}"), "image/avif,image/webp,*/*");
        assert_eq!((whole.status, &whole.body), (200, bytes), "{name}");
        assert_eq!(server.get(&format!("/{name}?w=100")).status, 422, "{name}");
    }
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}
