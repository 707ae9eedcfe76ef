//! Single flight: concurrent requests for the same variant cause only one conversion, even if the
//! first client disconnects.

use std::thread;

use crate::harness::{Client, Home, Server, eventually, media};

const CLIENTS: usize = 100;

/// Creates a library with a photograph whose conversions take long enough to overlap.
fn home() -> Home {
    Home::with(&[("p.jpg", &media::photo(2400, 1600, 1))])
}

#[test]
fn a_hundred_misses_of_one_picture_convert_it_once() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.request("GET", "/p.jpg?w=1200", "accept: image/webp\r\n");
    }
    let answers: Vec<_> = clients.iter_mut().map(Client::response).collect();
    for response in &answers {
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/webp")
        );
        assert!(response.body == answers[0].body, "one body for all");
        assert_eq!(response.etag(), answers[0].etag());
    }
    assert_eq!(answers[0].size(), (1200, 800));
    assert_eq!(server.metrics().conversions(), 1);
    server.stop();
}

/// The server keeps the response to a cache miss in memory. The next request for the variant needs
/// neither the disk nor another conversion.
#[test]
fn the_answer_to_a_miss_serves_the_next_request() {
    let home = Home::with(&[("p.jpg", &media::photo(600, 400, 1))]);
    let flags = ["--cores", "1", "--limits-revalidate-after", "1h"];
    let server = Server::plain(&home, &flags);
    let mut client = server.connect();
    let mut get = || {
        client.request("GET", "/p.jpg?w=200", "accept: image/webp\r\n");
        client.response()
    };
    let made = get();
    assert_eq!(
        made.field("cache-status"),
        Some("Pelton; fwd=uri-miss; stored")
    );
    std::fs::remove_dir_all(home.data().join("variants")).expect("the home can be written");
    let kept = get();
    assert_eq!(kept.field("cache-status"), Some("Pelton; hit"));
    assert_eq!(kept.field("server-timing"), Some("cache;desc=hit"));
    assert_eq!((kept.etag(), &kept.body), (made.etag(), &made.body));
    assert_eq!(server.metrics().conversions(), 1);
    server.stop();
}

#[test]
fn misses_from_many_threads_agree_too() {
    let home = Home::with(&[("p.jpg", &media::photo(600, 400, 1))]);
    let server = Server::plain(&home, &[]);
    let tags: Vec<_> = thread::scope(|scope| {
        let ask = |client: usize| {
            let server = &server;
            let target = format!("/p.jpg?w={}", 100 + client % 4);
            scope.spawn(move || server.get_as(&target, "image/webp").etag().to_owned())
        };
        let asked: Vec<_> = (0..32).map(ask).collect();
        let answered = asked.into_iter().map(|asked| asked.join());
        answered
            .map(|tag| tag.expect("every client is answered"))
            .collect()
    });
    for (client, tag) in tags.iter().enumerate() {
        assert_eq!(*tag, tags[client % 4]);
    }
    assert_eq!(server.metrics().conversions(), 4);
    server.stop();
}

#[test]
fn a_leader_that_leaves_does_not_harm_its_followers() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let mut leader = server.connect();
    leader.request("GET", "/p.jpg?w=1000", "accept: image/avif\r\n");
    eventually("the leader's conversion runs", || {
        (server.metrics().get("pelton_conversions_running") == 1).then_some(())
    });
    let mut followers: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for follower in &mut followers {
        follower.request("GET", "/p.jpg?w=1000", "accept: image/avif\r\n");
    }
    drop(leader);
    for follower in &mut followers {
        let response = follower.response();
        assert_eq!((response.status, response.size()), (200, (1000, 667)));
    }
    assert_eq!(server.metrics().conversions(), 1);
    server.stop();
}

#[test]
fn a_conversion_without_waiters_does_not_start() {
    let home = home();
    let server = Server::plain(&home, &["--cell-concurrency", "1"]);
    let mut first = server.connect();
    first.request("GET", "/p.jpg?w=2300", "accept: image/webp\r\n");
    eventually("the first conversion runs", || {
        (server.metrics().get("pelton_conversions_running") == 1).then_some(())
    });
    let mut leaving: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    for (number, client) in leaving.iter_mut().enumerate() {
        let target = format!("/p.jpg?w={}", 2000 + number);
        client.request("GET", &target, "accept: image/webp\r\n");
    }
    let all_left = first.has_begun();
    drop(leaving);
    assert_eq!(first.response().status, 200);
    let response = server.get_as("/p.jpg?w=50", "image/webp");
    assert_eq!(response.size(), (50, 33));
    assert!(
        !all_left,
        "the first conversion was over before anybody left"
    );
    assert_eq!(server.metrics().get("pelton_conversions_waiting"), 0);
    server.stop();
}
