//! Choice of the representation for each client, and the header fields for caches.

use std::fs;

use expect_test::{Expect, expect};

use crate::harness::{Home, Response, Server, media, pelton};

/// Accept fields, and the media type of the response to each, for a JPEG that is smaller as AVIF
/// and as WebP.
const ACCEPTS: [(&str, &str); 31] = [
    ("image/avif", "image/avif"),
    ("image/webp", "image/webp"),
    ("image/avif,image/webp", "image/avif"),
    ("image/webp,image/avif", "image/avif"),
    ("image/webp;q=1,image/avif;q=0.1", "image/avif"),
    ("IMAGE/AVIF", "image/avif"),
    ("Image/WebP", "image/webp"),
    (" image/webp ;q=0.5 , text/html", "image/webp"),
    ("image/avif;q=0.001", "image/avif"),
    // Excluded formats are not sent.
    ("image/avif;q=0,image/webp", "image/webp"),
    ("image/avif;q=0.000, image/webp;q=0", "image/jpeg"),
    ("image/avif;q=0, */*", "image/jpeg"),
    ("image/webp, image/webp;q=0", "image/jpeg"),
    // AVIF and WebP are sent only if the Accept field names the format. Wildcards do not count.
    ("", "image/jpeg"),
    ("*/*", "image/jpeg"),
    ("image/*", "image/jpeg"),
    ("image/*;q=0.8,*/*;q=0.5", "image/jpeg"),
    ("text/html", "image/jpeg"),
    ("image/apng", "image/jpeg"),
    ("image/avif;profile=x", "image/jpeg"),
    ("image/webp;q=2", "image/jpeg"),
    ("image/webp;q=abc", "image/jpeg"),
    ("image/webpx", "image/jpeg"),
    ("ximage/webp", "image/jpeg"),
    ("image / webp", "image/jpeg"),
    ("text/plain;note=\"image/webp\"", "image/jpeg"),
    // Accept fields of Chromium 120, Firefox 90 and 132, Safari 13 and 17.
    (
        "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
        "image/avif",
    ),
    ("image/webp,*/*", "image/webp"),
    (
        "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
        "image/avif",
    ),
    (
        "image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5",
        "image/jpeg",
    ),
    (
        "image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
        "image/avif",
    ),
];

#[test]
fn accept_decides_what_is_sent() {
    let home = Home::new();
    let photo = media::photo(96, 64, 1);
    for row in 0..ACCEPTS.len() {
        // One picture per row, so that variants of one row do not influence the next.
        home.put(&format!("{row}.jpg"), &photo);
    }
    home.put("none.jpg", &photo);
    let server = Server::plain(&home, &[]);
    for (row, (accept, media_type)) in ACCEPTS.into_iter().enumerate() {
        let response = server.get_as(&format!("/{row}.jpg"), accept);
        assert_eq!(
            (
                response.status,
                response.content_type(),
                response.field("vary")
            ),
            (200, media_type, Some("Accept")),
            "accept: {accept}"
        );
        assert_eq!(response.facts().format.media_type(), media_type);
        assert!(response.body.len() <= photo.len());
    }
    let silent = server.get("/none.jpg");
    assert_eq!((silent.status, silent.body), (200, photo.clone()));
    let lines = "accept: image/avif;q=0\r\naccept: image/webp\r\naccept: image/avif\r\n";
    let response = server.send("GET", "/none.jpg", lines);
    assert_eq!(response.content_type(), "image/webp");
    server.stop();
}

/// Checks the responses for each kind of original: without Accept, and for clients that accept
/// JPEG, WebP, AVIF, or both WebP and AVIF.
fn check(query: &str, expected: Expect) {
    const ACCEPTS: [&str; 5] = [
        "",
        "image/jpeg",
        "image/webp",
        "image/avif",
        "image/webp,image/avif",
    ];
    let mut originals = vec![
        ("photo.jpg", media::photo(96, 64, 1)),
        ("small.jpg", media::small_photo()),
        ("screen.png", media::png(96, 64)),
        ("still.gif", media::gif(96, 64, 1)),
        ("moving.gif", media::gif(96, 64, 3)),
        ("paint.bmp", media::bmp(96, 64)),
        ("drawing.svg", media::SVG.to_vec()),
        ("misnamed.png", media::photo(96, 64, 2)),
    ];
    let home = Home::with(&[("photo.jpg", &media::photo(96, 64, 1))]);
    for name in ["photo.webp", "photo.avif"] {
        let converted = pelton(&home, ["convert", "library/photo.jpg", name]).output();
        let converted = converted.expect("the program starts");
        assert_eq!(converted.status.code(), Some(0), "{converted:?}");
        let bytes = fs::read(home.directory().join(name)).expect("it was written");
        originals.push((name, bytes));
    }
    let server = Server::plain(&home, &[]);
    let mut table = String::new();
    for (name, original) in originals {
        table.push_str(name);
        for (column, accept) in ACCEPTS.iter().enumerate() {
            // One copy per column, so that variants of one column do not influence the next.
            let copy = format!("{column}/{name}");
            home.put(&copy, &original);
            let response = server.get_as(&format!("/{copy}{query}"), accept);
            if query == "?w=48" && name != "moving.gif" {
                assert_eq!(response.size().0, 48, "{name}");
            }
            table.push_str(&format!("  {}", summary(&original, &response)));
        }
        table.push('\n');
    }
    server.stop();
    expected.assert_eq(&table);
}

/// Returns the format of the response, followed by `=` if the body is the original, and by `*` if
/// the response varies by Accept.
fn summary(original: &[u8], response: &Response) -> String {
    assert_eq!(response.status, 200);
    let (_, format) = response
        .content_type()
        .split_once('/')
        .expect("a media type has two parts");
    let same = if response.body == original { "=" } else { "" };
    let vary = match response.field("vary") {
        Some("Accept") => "*",
        None => "",
        Some(other) => panic!("vary: {other}"),
    };
    format!("{format}{same}{vary}")
}

#[test]
fn every_kind_of_original_is_answered_with_the_smallest() {
    check(
        "",
        expect![[r#"
        photo.jpg  jpeg=*  jpeg=*  webp*  avif*  avif*
        small.jpg  jpeg=*  jpeg=*  jpeg=*  jpeg=*  jpeg=*
        screen.png  png=*  png=*  webp*  avif*  avif*
        still.gif  gif=*  gif=*  webp*  gif=*  gif=*
        moving.gif  gif=*  gif=*  webp*  gif=*  webp*
        paint.bmp  bmp=*  bmp=*  webp*  avif*  avif*
        drawing.svg  svg+xml=  svg+xml=  svg+xml=  svg+xml=  svg+xml=
        misnamed.png  jpeg=*  jpeg=*  webp*  avif*  avif*
        photo.webp  webp=*  jpeg*  webp=*  avif*  avif*
        photo.avif  avif=*  jpeg*  webp*  avif=*  avif=*
    "#]],
    );
}

#[test]
fn every_kind_of_original_can_be_resized() {
    check(
        "?w=48",
        expect![[r#"
        photo.jpg  jpeg*  jpeg*  webp*  avif*  avif*
        small.jpg  jpeg*  jpeg*  webp*  avif*  avif*
        screen.png  png*  png*  webp*  avif*  avif*
        still.gif  png*  png*  webp*  avif*  avif*
        moving.gif  gif=*  gif=*  webp*  gif=*  webp*
        paint.bmp  png*  png*  webp*  avif*  avif*
        drawing.svg  png*  png*  webp*  avif*  avif*
        misnamed.png  jpeg*  jpeg*  webp*  avif*  avif*
        photo.webp  jpeg*  jpeg*  webp*  avif*  avif*
        photo.avif  jpeg*  jpeg*  webp*  avif*  avif*
    "#]],
    );
}

#[test]
fn every_response_has_cache_fields() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let avif = server.get_as("/p.jpg", "image/avif");
    let tag = avif.etag();
    let requests = [
        ("GET", "/p.jpg", String::new(), 200),
        ("HEAD", "/p.jpg", String::new(), 200),
        ("GET", "/p.jpg", "accept: image/avif\r\n".to_owned(), 200),
        ("HEAD", "/p.jpg", "accept: image/avif\r\n".to_owned(), 200),
        ("GET", "/p.jpg", "range: bytes=0-9\r\n".to_owned(), 206),
        ("GET", "/p.jpg", "range: bytes=999999-\r\n".to_owned(), 416),
        ("GET", "/p.jpg", "if-match: \"other\"\r\n".to_owned(), 412),
        ("GET", "/p.jpg", "if-none-match: *\r\n".to_owned(), 304),
        ("HEAD", "/p.jpg", "if-none-match: *\r\n".to_owned(), 304),
        (
            "GET",
            "/p.jpg",
            format!("accept: image/avif\r\nif-none-match: {tag}\r\n"),
            304,
        ),
        ("GET", "/p.jpg?w=48", String::new(), 200),
        ("GET", "/p.jpg?w=0", String::new(), 400),
        (
            "GET",
            "/p.jpg?w=16384&h=16384&enlarge=1&fit=fill",
            String::new(),
            400,
        ),
        ("GET", "/missing.jpg", String::new(), 404),
    ];
    for (method, target, fields, status) in requests {
        let response = server.send(method, target, &fields);
        assert_eq!(
            (response.status, response.field("vary")),
            (status, Some("Accept")),
            "{method} {target} {fields}"
        );
    }
    // A format in the query takes precedence over Accept.
    let named = server.get_as("/p.jpg?format=webp", "image/avif");
    assert_eq!(named.content_type(), "image/webp");
    assert_eq!(named.field("vary"), None);
    server.stop();
}

#[test]
fn results_that_are_not_smaller_are_remembered() {
    let home = Home::with(&[("small.jpg", &media::small_photo())]);
    let server = Server::plain(&home, &[]);
    for (accept, conversions) in [
        ("image/avif", 1),
        ("image/avif", 1),
        ("image/webp", 2),
        ("image/webp", 2),
        ("image/avif", 2),
        ("image/avif,image/webp", 2),
        ("*/*", 2),
    ] {
        let response = server.get_as("/small.jpg", accept);
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/jpeg"),
            "{accept}"
        );
        assert_eq!(response.body, media::small_photo());
        assert_eq!(server.metrics().conversions(), conversions, "{accept}");
    }
    server.stop();
    // The server remembers across a restart that this picture is smaller neither as AVIF nor as
    // WebP.
    let server = Server::plain(&home, &[]);
    for accept in ["image/avif", "image/webp"] {
        let response = server.get_as("/small.jpg", accept);
        assert_eq!(response.body, media::small_photo());
    }
    assert_eq!(server.metrics().conversions(), 0);
    server.stop();
}

#[test]
fn a_format_that_is_turned_off_is_not_made() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--formats", "webp"]);
    let both = server.get_as("/p.jpg", "image/avif,image/webp");
    assert_eq!(both.content_type(), "image/webp");
    let avif = server.get_as("/p.jpg", "image/avif");
    assert_eq!(avif.content_type(), "image/jpeg");
    server.stop();
}

#[test]
fn what_a_camera_wrote_about_its_owner_is_not_passed_on() {
    let home = Home::with(&[("p.jpg", &media::turned_photo(96, 64, 6))]);
    let summary = |bytes: &[u8]| {
        let names = media::OWNER.len();
        bytes.windows(names).any(|window| window == media::OWNER)
    };
    let server = Server::plain(&home, &[]);
    assert!(
        summary(&server.get("/p.jpg").body),
        "the original is left as it is"
    );
    for query in [
        "format=avif",
        "format=webp",
        "w=48&format=jpeg",
        "w=48&format=png",
    ] {
        let response = server.get(&format!("/p.jpg?{query}"));
        assert_eq!(response.status, 200);
        assert!(!summary(&response.body), "{query}");
    }
    server.stop();
}

#[test]
fn a_hit_reads_neither_the_original_nor_much_else() {
    const HITS: u64 = 200;
    let photo = media::photo(2400, 1600, 1);
    let home = Home::with(&[("p.jpg", &photo)]);
    // With the minimum of `limits.revalidate_after`, the server checks the original as often as
    // possible.
    let server = Server::plain(&home, &["--limits-revalidate-after", "1ms"]);
    let made = server.get_as("/p.jpg?w=200", "image/webp");
    assert_eq!(server.get_as("/p.jpg?w=200", "image/webp").body, made.body);
    let before = server.bytes_read();
    for _ in 0..HITS {
        let hit = server.get_as("/p.jpg?w=200", "image/webp");
        assert_eq!(hit.field("cache-status"), Some("Pelton; hit"));
    }
    let read = server.bytes_read() - before;
    assert!(read < photo.len() as u64, "{read} bytes for {HITS} hits");
    server.stop();
}
