//! More work than there is room for: some are told to come back, and hits do not notice.

use crate::harness::{Answer, Client, Home, Metrics, Server, eventually, media};

const CLIENTS: usize = 16;

#[test]
fn beyond_the_queue_clients_are_told_when_to_come_back() {
    let home = Home::with(&[
        ("large.jpg", &media::photo(3000, 2000, 1)),
        ("small.jpg", &media::photo(96, 64, 1)),
    ]);
    let flags = ["--cell-concurrency", "1", "--limits-queue-max", "2"];
    let server = Server::plain(&home, &flags);
    let hit = server.get_as("/small.jpg", "image/webp");
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        // Each another picture, and each far more work than asking for all of them.
        let target = format!("/large.jpg?w={}&format=png", 2900 + number);
        client.request("GET", &target, "");
    }
    // A counter only grows: however fast the work is done, what was refused stays told.
    eventually("somebody is refused", || {
        (0 < server.metrics().get("pelton_conversions_refused_total")).then_some(())
    });
    // A hit, while there is more to be converted than there is room for.
    let during = server.get_as("/small.jpg", "image/webp");
    assert_eq!(during.body, hit.body);
    assert_eq!(during.field("cache-status"), Some("Pelton; hit"));
    let answers: Vec<Answer> = clients.iter_mut().map(Client::answer).collect();
    let (served, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == 200);
    assert!(2 <= served.len(), "two waited, whether or not one ran");
    assert!(!refused.is_empty(), "nobody was refused");
    for answer in &refused {
        assert_eq!(answer.status, 503);
        assert_eq!(answer.content_type(), "application/problem+json");
        let after = answer.field("retry-after").expect("it says when");
        assert!(1 <= after.parse::<u64>().expect("in seconds"), "{after}");
        assert_eq!(answer.field("vary"), Some("Accept"));
        assert_eq!(answer.field("cache-control"), Some("no-store"));
    }
    let metrics = server.metrics();
    assert_eq!(
        metrics.get("pelton_conversions_refused_total"),
        refused.len() as u64
    );
    assert_eq!(metrics.conversions(), 1 + served.len() as u64);
    // Who comes back is served.
    assert_eq!(server.get("/large.jpg?w=100&format=jpeg").status, 200);
    server.stop();
}

#[test]
fn work_beyond_the_time_that_may_wait_is_refused() {
    let home = Home::with(&[("large.jpg", &media::photo(3000, 2000, 1))]);
    let flags = ["--cell-concurrency", "1", "--limits-queue-time-max", "1ms"];
    let server = Server::plain(&home, &flags);
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let target = format!("/large.jpg?w={}&format=png", 2900 + number);
        client.request("GET", &target, "");
    }
    let answers = clients.iter_mut().map(|client| client.answer().status);
    let answers: Vec<_> = answers.collect();
    assert!(answers.contains(&200), "a single picture is never refused");
    assert!(answers.contains(&503), "{answers:?}");
    assert!(answers.iter().all(|status| [200, 503].contains(status)));
    server.stop();
}

#[test]
fn connections_beyond_the_limit_make_room_or_are_told_so() {
    const LIMIT: usize = 8;
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--limits-connections-max", "8"]);
    let mut kept = Vec::new();
    let mut shed = 0;
    for _ in 0..4 * LIMIT {
        let mut client = server.connect();
        client.request("GET", "/p.jpg", "");
        let answer = client.answer();
        match answer.status {
            200 => kept.push(client),
            503 => {
                assert_eq!(answer.field("retry-after"), Some("5"));
                assert!(client.is_ended());
                shed += 1;
            }
            other => panic!("status {other}"),
        }
    }
    eventually("those that made room are told", || {
        let open = kept
            .iter_mut()
            .filter_map(|client| (!client.has_ended()).then_some(()));
        (open.count() <= LIMIT).then_some(())
    });
    drop(kept);
    let metrics = eventually("there is room again", || {
        let answer = server.get("/-/metrics");
        (answer.status == 200).then(|| Metrics::parse(answer.text()))
    });
    // Asking for the metrics may have met a full house, too.
    assert!(shed <= metrics.get("pelton_connections_shed_total"));
    let made_room = metrics.get("pelton_connections_evicted_total");
    assert!(3 * LIMIT as u64 <= shed + made_room);
    server.stop();
}
