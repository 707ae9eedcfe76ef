//! Responses that are not files: metrics, health, and the gallery.

use crate::harness::{Home, Metrics, Server, eventually, media};

#[test]
fn health_needs_no_login() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    for (target, text) in [
        ("/healthz", "ok\n"),
        ("/-/live", "ok\n"),
        ("/-/ready", "ready\n"),
    ] {
        let response = server.get(target);
        assert_eq!((response.status, response.text()), (200, text), "{target}");
        assert_eq!(response.content_type(), "text/plain; charset=utf-8");
        assert_eq!(response.field("cache-control"), Some("no-store"));
        let head = server.send("HEAD", target, "");
        let length = text.len().to_string();
        assert_eq!(head.field("content-length"), Some(&length[..]));
    }
    server.stop();
}

#[test]
fn metrics_are_open_metrics() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let response = server.get("/-/metrics");
    assert_eq!(response.status, 200);
    assert_eq!(
        response.content_type(),
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    Metrics::parse(response.text());
    for target in ["/p.jpg", "/p.jpg?w=48", "/missing.jpg", "/p.jpg?w=0"] {
        server.get_as(target, "image/webp");
        server.get_as(target, "image/webp");
    }
    // A response is counted after it was written to the socket, so the client may receive it before
    // it is counted.
    eventually("every response is counted", || {
        let metrics = server.metrics();
        let served = |from: &str| metrics.get(&format!("pelton_served_total{{from=\"{from}\"}}"));
        let answers =
            |class: &str| metrics.get(&format!("pelton_http_responses_total{{class=\"{class}\"}}"));
        let counted = [
            served("hit"),
            served("miss"),
            answers("4xx"),
            answers("5xx"),
        ];
        (counted == [2, 2, 4, 0]).then_some(())
    });
    let metrics = server.metrics();
    assert_eq!(metrics.conversions(), 2);
    assert_eq!(metrics.get("pelton_variants"), 2);
    let bytes = metrics.get("pelton_http_body_bytes_total");
    assert!(0 < bytes);
    let count = |status: u16| {
        metrics.get(&format!(
            "http_server_request_duration_seconds_count{{http_request_method=\"GET\",http_response_status_code=\"{status}\"}}"
        ))
    };
    assert_eq!((count(404), count(400)), (2, 2));
    server.stop();
}

#[test]
fn the_root_leads_to_the_page() {
    let home = Home::with(&[
        ("a b&c.jpg", &media::photo(48, 32, 1)),
        ("moving.gif", &media::gif(48, 32, 2)),
        ("notes.txt", b"notes"),
        ("folder/inside.png", &media::png(48, 32)),
        ("music/kept.png", &media::png(48, 32)),
    ]);
    let server = Server::plain(&home, &[]);
    for target in ["/", "/-"] {
        let response = server.get(target);
        assert_eq!(
            (response.status, response.field("location")),
            (303, Some("-/"))
        );
    }
    let page = server.get("/-/");
    assert_eq!(
        (page.status, page.content_type()),
        (200, "text/html; charset=utf-8")
    );
    // The page links to the gallery, for browsers without scripts.
    assert!(
        page.text().contains("<a href=\"../-/at/\">"),
        "{}",
        page.text()
    );
    let page = server.get("/-/at/");
    assert_eq!(
        (page.status, page.content_type()),
        (200, "text/html; charset=utf-8")
    );
    let policy = page.field("content-security-policy");
    let policy = policy.expect("the page runs nothing");
    assert!(
        policy.starts_with("default-src 'none'; img-src 'self'"),
        "{policy}"
    );
    for part in [
        "href=\"../../a%20b%26c.jpg\"",
        "src=\"../../a%20b%26c.jpg?w=480&amp;h=360&amp;fit=cover\"",
        ">a b&amp;c.jpg<",
        "href=\"../../moving.gif\"",
        "href=\"../../-/at/folder/\"",
        "src=\"../../folder/inside.png?w=480&amp;h=360&amp;fit=cover\"",
    ] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    assert!(!page.text().contains("notes.txt"));
    for (target, picture) in [
        ("/-/at/folder/", "../../../folder/inside.png"),
        ("/-/at/music/", "../../../music/kept.png"),
    ] {
        let folder = server.get(target);
        let link = format!("href=\"{picture}\"");
        assert!(folder.text().contains(&link), "{target}");
        assert!(
            folder.text().contains("href=\"../../../-/at/\""),
            "{target}"
        );
    }
    assert_eq!(server.get("/-/folder/").status, 404);
    assert_eq!(server.get("/-/at/missing/").status, 404);
    assert_eq!(server.get("/-/missing/").status, 404);
    assert_eq!(server.get("/-/../").status, 404);
    // The thumbnails of the gallery can be requested.
    let shown = server.get_as("/a%20b%26c.jpg?w=480&h=360&fit=cover", "image/webp");
    assert_eq!(shown.status, 200);
    server.stop();
}

#[test]
fn a_folder_with_more_than_is_shown_says_so() {
    let home = Home::new();
    for number in 0..5 {
        home.put(&format!("{number}.jpg"), &media::small_photo());
    }
    let server = Server::plain(&home, &["--limits-gallery-entries-max", "3"]);
    let page = server.get("/-/at/");
    assert_eq!(page.text().matches("<li>").count(), 3);
    assert!(page.text().contains("more files than this page shows"));
    server.stop();
}
