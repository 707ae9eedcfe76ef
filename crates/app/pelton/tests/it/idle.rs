//! Prefetch in idle time: the variants that the web page's grid shows are created before clients
//! request them.

use std::thread::sleep;
use std::time::Duration;

use crate::dashboard::admin;
use crate::harness::{Home, Server, eventually, media};

const MADE: &str = "pelton_idle_prefetch_variants_total";

/// Starts a server that begins to prefetch after a second without requests.
fn serve(home: &Home, flags: &[&str]) -> Server {
    let common = [
        "--formats",
        "webp",
        "--improve",
        "false",
        "--library-prefetch-idle-time",
        "1s",
    ];
    Server::start(home, &[&common[..], flags].concat())
}

#[test]
fn an_idle_server_makes_what_the_grid_requests() {
    let home = Home::with(&[
        ("old.jpg", &media::photo(900, 600, 1)),
        ("new.jpg", &media::photo(900, 600, 2)),
        ("broken.jpg", b"\xff\xd8\xff\xe0not a picture"),
    ]);
    let server = serve(&home, &[]);
    eventually("the pictures of the grid", || {
        (server.metrics().get(MADE) == 4).then_some(())
    });
    for target in ["/old.jpg", "/new.jpg"] {
        for height in [240, 480] {
            let response = server.get_as(&format!("{target}?h={height}"), "image/webp");
            let status = (response.status, response.field("cache-status"));
            assert_eq!(status, (200, Some("Pelton; hit")), "{target} {height}");
        }
    }
    let listed = server.get("/-/api/pictures");
    let placeholders = listed.text().matches("\"placeholder\"").count();
    assert_eq!(placeholders, 2, "{}", listed.text());
    server.stop();
}

#[test]
fn requests_stop_the_prefetch() {
    let home = Home::new();
    for seed in 0..40 {
        home.put(&format!("{seed}.jpg"), &media::photo(1200, 900, seed));
    }
    let server = serve(&home, &[]);
    eventually("the first picture", || {
        (0 < server.metrics().get(MADE)).then_some(())
    });
    let request = || assert_eq!(server.get_as("/0.jpg", "image/jpeg").status, 200);
    request();
    // Wait until the picture in progress is finished, also beside other work of the machine: the
    // number of variants stays the same for a while.
    let made = eventually("the picture in progress ends", || {
        let made = server.metrics().get(MADE);
        for _ in 0..8 {
            request();
            sleep(Duration::from_millis(200));
        }
        (server.metrics().get(MADE) == made).then_some(made)
    });
    assert!(made < 80, "{made} variants were made before the request");
    for _ in 0..8 {
        request();
        sleep(Duration::from_millis(200));
    }
    let during = server.metrics().get(MADE) - made;
    assert_eq!(during, 0, "variants were made beside requests");
    // Without requests, the prefetch continues.
    eventually("all pictures", || {
        (server.metrics().get(MADE) == 80).then_some(())
    });
    server.stop();
}

#[test]
fn the_prefetch_leaves_room_in_the_cache() {
    let home = Home::new();
    for seed in 0..40 {
        home.put(&format!("{seed}.jpg"), &media::photo(300, 200, seed));
    }
    // A tenth of the cache has room for several of these variants, but not for a third of all.
    let flags = [
        "--limits-variants-bytes-max",
        "40000",
        "--library-picture-sizes",
        "60",
    ];
    let server = serve(&home, &flags);
    let ends = "prefetching in idle time stops, because the cache of variants is almost full";
    server.logged("INFO", ends);
    let metrics = server.metrics();
    let made = metrics.get(MADE);
    assert!(0 < made && made < 40, "{made}");
    assert_eq!(metrics.get("pelton_variants_evicted_total"), 0);
    assert!(36_000 <= metrics.get("pelton_variants_bytes"));
    server.stop();
}

#[test]
fn a_purge_starts_the_prefetch_again() {
    let home = Home::with(&[("p.jpg", &media::photo(900, 600, 1))]);
    let ann = admin(&home);
    let server = serve(&home, &[]);
    let made = |count| {
        eventually("the pictures of the grid", || {
            (server.metrics().get(MADE) == count).then_some(())
        });
    };
    made(2);
    assert_eq!(server.send("DELETE", "/-/api/variants", &ann).status, 200);
    made(4);
    server.stop();
}

#[test]
fn the_prefetch_can_be_turned_off() {
    let home = Home::with(&[("p.jpg", &media::photo(900, 600, 1))]);
    for flags in [
        ["--library-prefetch-idle-time", "0s"],
        ["--library-picture-sizes", ""],
    ] {
        let server = match flags[0] {
            "--library-prefetch-idle-time" => Server::start(&home, &flags),
            _ => serve(&home, &flags),
        };
        sleep(Duration::from_millis(2_500));
        let metrics = server.metrics();
        let made_and_failed = (
            metrics.get(MADE),
            metrics.get("pelton_idle_prefetch_failures_total"),
        );
        assert_eq!(made_and_failed, (0, 0), "{flags:?}");
        server.stop();
    }
}
