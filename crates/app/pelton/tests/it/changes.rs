//! Originals that change, appear and disappear while the server runs.

use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

use crate::harness::{Home, Response, Server, eventually, media};

/// Requests `target` until the entity tag of the response differs from that of `before`. Returns
/// this response.
fn changed(server: &Server, target: &str, before: &Response) -> Response {
    eventually("the change is noticed", || {
        let response = server.get_as(target, "image/webp");
        (response.field("etag") != Some(before.etag())).then_some(response)
    })
}

#[test]
fn a_rewritten_original_is_noticed() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--limits-revalidate-after", "100ms"]);
    for target in ["/p.jpg", "/p.jpg?w=48"] {
        home.put("p.jpg", &media::photo(96, 64, 1));
        let first = server.get_as(target, "image/webp");
        assert_eq!(
            first.facts().stored.height_px * 3,
            first.facts().stored.width_px * 2
        );
        // The original is overwritten in place, and later replaced by a new file with the old name.
        home.put("p.jpg", &media::photo(96, 96, 2));
        let second = changed(&server, target, &first);
        assert_eq!(
            second.facts().stored.height_px,
            second.facts().stored.width_px
        );
        home.put("new.jpg", &media::photo(96, 64, 3));
        fs::rename(home.library().join("new.jpg"), home.library().join("p.jpg"))
            .expect("the home can be written");
        // A core that has not yet revalidated its cached copy may still send the first version for
        // a while.
        let third = eventually("the change is noticed", || {
            let third = changed(&server, target, &second);
            (third.etag() != first.etag()).then_some(third)
        });
        assert_eq!(third.size(), first.size());
        assert_ne!(third.etag(), first.etag());
        let held = format!("accept: image/webp\r\nif-none-match: {}\r\n", first.etag());
        assert_eq!(server.send("GET", target, &held).status, 200);
    }
    server.stop();
}

/// The original and the bytes that overwrite it have the same size and the same modification time.
#[test]
fn an_original_that_is_overwritten_in_place_is_another_version() {
    let modified = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let home = Home::new();
    let put = |bytes: &[u8]| {
        home.put("song.flac", bytes);
        let song = File::options()
            .write(true)
            .open(home.library().join("song.flac"));
        song.and_then(|file| file.set_modified(modified))
            .expect("the original can be changed");
    };
    put(b"fLaC, the first");
    let server = Server::plain(&home, &["--limits-revalidate-after", "100ms"]);
    let first = server.get("/song.flac");
    put(b"fLaC, the other");
    let other = changed(&server, "/song.flac", &first);
    assert_eq!(other.body, b"fLaC, the other");
    assert_eq!(other.field("last-modified"), first.field("last-modified"));
    server.stop();
}

#[test]
fn an_original_may_go_and_come_back() {
    let photo = media::photo(96, 64, 1);
    let home = Home::with(&[("p.jpg", &photo)]);
    let server = Server::plain(&home, &["--limits-revalidate-after", "100ms"]);
    let there = server.get_as("/p.jpg", "image/webp");
    assert_eq!(there.status, 200);
    fs::remove_file(home.library().join("p.jpg")).expect("the home can be written");
    eventually("its absence is noticed", || {
        (server.get_as("/p.jpg", "image/webp").status == 404).then_some(())
    });
    assert_eq!(server.get("/p.jpg?w=48").status, 404);
    assert_eq!(server.get("/new.jpg").status, 404);
    home.put("p.jpg", &photo);
    home.put("new.jpg", &photo);
    assert_eq!(server.get_as("/p.jpg", "image/webp").status, 200);
    assert_eq!(server.get("/new.jpg").body, photo);
    server.stop();
}

#[test]
fn an_original_may_become_something_else() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--limits-revalidate-after", "100ms"]);
    let first = server.get_as("/p.jpg", "image/webp");
    assert_eq!(first.content_type(), "image/webp");
    let moving = media::gif(30, 20, 3);
    home.put("p.jpg", &moving);
    let second = changed(&server, "/p.jpg", &first);
    assert_eq!(
        (second.content_type(), &second.body),
        ("image/gif", &moving)
    );
    home.put("p.jpg", b"no picture any more");
    eventually("it is no picture any more", || {
        (server.get_as("/p.jpg", "image/webp").status == 404).then_some(())
    });
    server.stop();
}

#[test]
fn an_original_that_shrinks_while_it_is_sent_ends_the_connection() {
    let photo = media::photo(2000, 1500, 1);
    let home = Home::with(&[("p.jpg", &photo)]);
    let server = Server::plain(&home, &[]);
    // This request makes the server cache the response, including the old length.
    assert_eq!(server.get("/p.jpg").body.len(), photo.len());
    home.put("p.jpg", &photo[..photo.len() / 2]);
    let mut client = server.connect();
    client.request("GET", "/p.jpg", "connection: close\r\n");
    let promised = client.head();
    let arrived = client.rest();
    let length = promised
        .field("content-length")
        .expect("a body has a length");
    if length == photo.len().to_string() {
        assert_eq!(
            arrived.len(),
            photo.len() / 2,
            "what there is, and then the end"
        );
    } else {
        // The cached response was older than `limits.revalidate_after`, one second, so the server
        // has noticed the change.
        assert_eq!(length, (photo.len() / 2).to_string());
    }
    server.stop();
}
