//! Provisional variants, and the background conversions whose results replace them.

use crate::harness::{Home, Response, Server, eventually, media};

fn home() -> Home {
    Home::with(&[("p.jpg", &media::photo(400, 300, 1))])
}

/// Waits for a response that is not provisional, recognised by its long max-age, and returns it.
fn improved(server: &Server, target: &str, accept: &str) -> Response {
    eventually("the better variant is there", || {
        let response = server.get_as(target, accept);
        assert_eq!(response.status, 200);
        (response.field("cache-control") == Some("public, max-age=86400")).then_some(response)
    })
}

#[test]
fn a_quick_answer_is_replaced_by_a_better_one() {
    for accept in ["image/avif", "image/webp"] {
        let home = home();
        let server = Server::start(&home, &[]);
        let quick = server.get_as("/p.jpg", accept);
        assert_eq!((quick.status, quick.content_type()), (200, accept));
        assert_eq!(quick.field("cache-control"), Some("public, max-age=10"));
        assert_eq!(quick.field("last-modified"), None);
        assert_eq!(
            quick.field("cache-status"),
            Some("Pelton; fwd=uri-miss; stored")
        );
        let timing = quick.field("server-timing").expect("a miss tells its time");
        assert!(
            timing.starts_with("cache;desc=miss, convert;dur="),
            "{timing}"
        );
        let better = improved(&server, "/p.jpg", accept);
        assert_eq!(better.content_type(), accept);
        assert_ne!(better.etag(), quick.etag());
        assert!(better.body.len() < quick.body.len(), "{accept}");
        assert_eq!(better.size(), quick.size());
        assert!(better.field("last-modified").is_some());
        assert_eq!(better.field("cache-status"), Some("Pelton; hit"));
        assert_eq!(server.metrics().conversions(), 2);
        // The provisional variant was removed, so one variant is left. A further request converts
        // nothing.
        assert_eq!(home.variants().len(), 1, "{:?}", home.variants());
        assert_eq!(improved(&server, "/p.jpg", accept).etag(), better.etag());
        assert_eq!(server.metrics().conversions(), 2);
        let held = format!("accept: {accept}\r\nif-none-match: {}\r\n", quick.etag());
        // Another core may still send the provisional variant for a short time, so repeat the
        // request.
        eventually("what the client holds is not the best any more", || {
            (server.send("GET", "/p.jpg", &held).status == 200).then_some(())
        });
        server.stop();
    }
}

#[test]
fn in_the_end_the_smallest_of_all_is_sent() {
    let home = home();
    let server = Server::start(&home, &[]);
    let both = "image/avif,image/webp";
    assert_eq!(server.get_as("/p.jpg", both).content_type(), "image/avif");
    let smallest = improved(&server, "/p.jpg", both);
    let avif = improved(&server, "/p.jpg", "image/avif");
    let webp = improved(&server, "/p.jpg", "image/webp");
    let bytes = [avif.body.len(), webp.body.len()];
    assert_eq!(Some(&smallest.body.len()), bytes.iter().min());
    server.stop();
}

#[test]
fn whose_webp_was_made_first_gets_avif_later() {
    let home = home();
    let server = Server::start(&home, &[]);
    let webp = server.get_as("/p.jpg", "image/webp");
    assert_eq!(webp.content_type(), "image/webp");
    let both = "image/avif,image/webp";
    let quick = server.get_as("/p.jpg", both);
    assert_eq!(quick.field("cache-control"), Some("public, max-age=10"));
    let better = improved(&server, "/p.jpg", both);
    assert_eq!(better.content_type(), "image/avif");
    server.stop();
}

#[test]
fn improving_can_be_turned_off() {
    let home = home();
    let flags = ["--improve", "false", "--max-age", "2h"];
    let server = Server::start(&home, &flags);
    let first = server.get_as("/p.jpg", "image/avif");
    assert_eq!(first.field("cache-control"), Some("public, max-age=7200"));
    assert!(first.field("last-modified").is_some());
    let second = server.get_as("/p.jpg", "image/avif");
    assert_eq!(second.etag(), first.etag());
    assert_eq!(second.field("cache-status"), Some("Pelton; hit"));
    let metrics = server.metrics();
    assert_eq!(metrics.conversions(), 1);
    assert_eq!(metrics.get("pelton_improvements_waiting"), 0);
    server.stop();
}

#[test]
fn how_long_answers_stay_fresh_is_chosen() {
    let home = home();
    let flags = ["--max-age-quick", "3s", "--max-age", "1h"];
    let server = Server::start(&home, &flags);
    let quick = server.get_as("/p.jpg", "image/webp");
    assert_eq!(quick.field("cache-control"), Some("public, max-age=3"));
    eventually("the better variant is there", || {
        let response = server.get_as("/p.jpg", "image/webp");
        (response.field("cache-control") == Some("public, max-age=3600")).then_some(())
    });
    server.stop();
}
