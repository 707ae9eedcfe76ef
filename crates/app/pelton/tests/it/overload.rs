//! Overload: some requests are refused with `Retry-After`, and cache hits are not affected.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{Client, Home, Metrics, Response, Server, Workers, eventually, media, signal};

const CLIENTS: usize = 16;

#[test]
fn beyond_the_queue_responses_say_when_to_retry() {
    let home = Home::with(&[
        ("large.jpg", &media::photo(3000, 2000, 1)),
        ("small.jpg", &media::photo(96, 64, 1)),
    ]);
    let flags = ["--cell-concurrency", "1", "--limits-queue-max", "2"];
    let server = Server::plain(&home, &flags);
    let hit = server.get_as("/small.jpg", "image/webp");
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        // Each request is for a different variant. The conversion of one variant takes far longer
        // than sending all requests.
        let target = format!("/large.jpg?w={}&format=png", 2900 + number);
        client.request("GET", &target, "");
    }
    // The counter never decreases, so a refusal stays visible even if all conversions have ended.
    eventually("somebody is refused", || {
        (0 < server.metrics().get("pelton_conversions_refused_total")).then_some(())
    });
    // The next request is a cache hit while the conversion queue is full.
    let during = server.get_as("/small.jpg", "image/webp");
    assert_eq!(during.body, hit.body);
    assert_eq!(during.field("cache-status"), Some("Pelton; hit"));
    let answers: Vec<Response> = clients.iter_mut().map(Client::response).collect();
    let (served, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|response| response.status == 200);
    assert!(2 <= served.len(), "two waited, whether or not one ran");
    assert!(!refused.is_empty(), "nobody was refused");
    for response in &refused {
        assert_eq!(response.status, 503);
        assert_eq!(response.content_type(), "application/problem+json");
        let after = response.field("retry-after").expect("it says when");
        assert!(1 <= after.parse::<u64>().expect("in seconds"), "{after}");
        assert_eq!(response.field("vary"), Some("Accept"));
        assert_eq!(response.field("cache-control"), Some("no-store"));
    }
    let metrics = server.metrics();
    assert_eq!(
        metrics.get("pelton_conversions_refused_total"),
        refused.len() as u64
    );
    assert_eq!(metrics.conversions(), 1 + served.len() as u64);
    // A later request is served.
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
    let answers = clients.iter_mut().map(|client| client.response().status);
    let answers: Vec<_> = answers.collect();
    assert!(answers.contains(&200), "a single picture is never refused");
    assert!(answers.contains(&503), "{answers:?}");
    assert!(answers.iter().all(|status| [200, 503].contains(status)));
    server.stop();
}

#[test]
fn no_request_waits_longer_than_the_configured_time() {
    let home = Home::with(&[
        ("large.jpg", &media::photo(3000, 2000, 1)),
        ("small.jpg", &media::photo(96, 64, 1)),
    ]);
    let flags = [
        "--cell-concurrency",
        "1",
        "--limits-queue-time-max",
        "300ms",
    ];
    let server = Server::plain(&home, &flags);
    let mut first = server.connect();
    first.request("GET", "/large.jpg?w=2900&format=png", "");
    eventually("a cell is at work", || {
        (server.metrics().get("pelton_cells_running") == 1).then_some(())
    });
    // Suspend the cells, so that the first conversion occupies its cell until the second request is
    // refused.
    let workers = Workers::below(server.pid());
    for cell in &workers.cells {
        signal(*cell, Signal::STOP);
    }
    let late = server.get("/small.jpg?w=48&format=webp");
    assert_eq!(late.status, 503, "{}", late.text());
    let after = late.field("retry-after").expect("it says when");
    assert!(1 <= after.parse::<u64>().expect("in seconds"), "{after}");
    assert_eq!(server.metrics().get("pelton_conversions_refused_total"), 1);
    for cell in &workers.cells {
        signal(*cell, Signal::CONT);
    }
    // A conversion that has started is finished.
    assert_eq!(first.response().status, 200);
    assert_eq!(server.get("/small.jpg?w=48&format=webp").status, 200);
    server.stop();
}

/// All conversions share one memory budget. Here an improvement (background conversion at higher
/// effort) holds most of the budget. A conversion for a request cancels the improvement and gets
/// the memory.
#[test]
fn a_request_gets_the_memory_that_an_improvement_holds() {
    let home = Home::with(&[
        ("a.jpg", &media::photo(2400, 1800, 1)),
        ("b.jpg", &media::photo(2400, 1800, 2)),
    ]);
    let flags = [
        "--limits-convert-bytes-max",
        "160MB",
        "--cell-max-work-memory",
        "160MB",
    ];
    let server = Server::start(&home, &flags);
    assert_eq!(server.get_as("/a.jpg", "image/avif").status, 200);
    eventually("it is improved", || {
        let metrics = server.metrics();
        let running = metrics.get("pelton_conversions_running");
        (metrics.conversions() == 1 && running == 1).then_some(())
    });
    let response = server.get_as("/b.jpg", "image/avif");
    assert_eq!(
        (response.status, response.content_type()),
        (200, "image/avif")
    );
    let metrics = server.metrics();
    assert_eq!(metrics.get("pelton_improvements_cancelled_total"), 1);
    assert_eq!(metrics.sum("pelton_cell_kills_total"), 1);
    // The cancelled background conversion is repeated later.
    for target in ["/a.jpg", "/b.jpg"] {
        eventually("it is improved in the end", || {
            let response = server.get_as(target, "image/avif");
            (response.field("cache-control") == Some("public, max-age=86400")).then_some(())
        });
    }
    assert_eq!(server.metrics().conversions(), 4);
    server.stop();
}

/// Requests several variants for the first time, and returns the durations of these requests in
/// seconds, in ascending order.
fn first_answers(home: &Home, improve: &str) -> Vec<f64> {
    const ANSWERS: usize = 12;
    let server = Server::start(home, &["--improve", improve]);
    // If `improve` is `true`, the server re-encodes these two pictures at higher effort while the
    // requests below are measured.
    for name in ["a.jpg", "b.jpg"] {
        assert_eq!(server.get_as(&format!("/{name}"), "image/avif").status, 200);
    }
    let mut times: Vec<f64> = (0..ANSWERS)
        .map(|number| {
            let begun = Instant::now();
            let target = format!("/c.jpg?w={}", 500 + number);
            assert_eq!(server.get_as(&target, "image/avif").status, 200);
            begun.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    server.kill();
    times
}

/// Requests do not wait for improvements (background conversions at higher effort), even while
/// other programs keep all cores busy. Other work on this machine may disturb a round, so one
/// successful round is enough.
#[test]
fn improvements_delay_no_first_answer_beside_busy_neighbours() {
    const ROUNDS: usize = 8;
    let photo = media::photo(2400, 1600, 1);
    let home = Home::with(&[("a.jpg", &photo), ("b.jpg", &photo), ("c.jpg", &photo)]);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            let end = Instant::now() + Duration::from_secs(120);
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) && Instant::now() < end {
                    std::hint::spin_loop();
                }
            });
        }
        let mut rounds = (0..ROUNDS).map(|_| {
            let [with, without] = ["true", "false"].map(|improve| {
                drop(std::fs::remove_dir_all(home.data()));
                first_answers(&home, improve)
            });
            let longest = |times: &[f64]| *times.last().expect("there were answers");
            eprintln!(
                "longest {:.2} s, {:.2} s without",
                longest(&with),
                longest(&without)
            );
            longest(&with) <= 1.5 * longest(&without)
        });
        let holds = rounds.any(|holds| holds);
        is_over.store(true, Ordering::Relaxed);
        assert!(holds, "first answers wait behind improvements");
    });
}

#[test]
fn where_one_format_needs_too_much_memory_the_next_one_answers() {
    const AVIF: u64 = 107_000_000;
    const WEBP: u64 = 71_000_000;
    let photo = media::photo(3000, 2000, 1);
    let home = Home::with(&[("p.jpg", &photo)]);
    let budget = ((AVIF + WEBP) / 2).to_string();
    let flags = [
        "--limits-convert-bytes-max",
        &budget,
        "--cell-max-work-memory",
        &budget,
    ];
    let server = Server::plain(&home, &flags);
    let next = server.get_as("/p.jpg", "image/avif,image/webp");
    assert_eq!((next.status, next.content_type()), (200, "image/webp"));
    let none = server.get_as("/p.jpg", "image/avif");
    assert_eq!((none.status, none.content_type()), (200, "image/jpeg"));
    server.stop();
}

/// Some phones append a video to a photograph. The memory estimate considers only the picture, so
/// the first attempt runs out of memory and is retried.
#[test]
fn jobs_out_of_memory_are_retried_with_the_maximum_memory() {
    const FILM_BYTES: usize = 160 << 20;
    let mut photo = media::photo(96, 64, 1);
    photo.resize(photo.len() + FILM_BYTES, 0);
    let home = Home::with(&[("p.jpg", &photo)]);
    let server = Server::plain(&home, &[]);
    let response = server.get_as("/p.jpg?w=48", "image/webp");
    assert_eq!((response.status, response.size()), (200, (48, 32)));
    let metrics = server.metrics();
    assert_eq!(metrics.get("pelton_conversions_retried_total"), 1);
    assert_eq!(metrics.sum("pelton_conversion_failures_total"), 0);
    server.stop();
}

#[test]
fn connections_beyond_the_limit_are_evicted_or_shed() {
    const LIMIT: usize = 8;
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--limits-connections-max", "8"]);
    let mut kept = Vec::new();
    let mut shed = 0;
    for _ in 0..4 * LIMIT {
        let mut client = server.connect();
        client.request("GET", "/p.jpg", "");
        let response = client.response();
        match response.status {
            200 => kept.push(client),
            503 => {
                assert_eq!(response.field("retry-after"), Some("5"));
                assert!(client.is_ended());
                shed += 1;
            }
            other => panic!("status {other}"),
        }
    }
    eventually("idle connections were closed to admit others", || {
        let open = kept
            .iter_mut()
            .filter_map(|client| (!client.has_ended()).then_some(()));
        (open.count() <= LIMIT).then_some(())
    });
    drop(kept);
    let metrics = eventually("there is room again", || {
        let response = server.get("/-/metrics");
        (response.status == 200).then(|| Metrics::parse(response.text()))
    });
    // The metric may exceed `shed`, because it also counts shed connections of requests for
    // metrics.
    assert!(shed <= metrics.get("pelton_connections_shed_total"));
    let evicted = metrics.get("pelton_connections_evicted_total");
    assert!(3 * LIMIT as u64 <= shed + evicted);
    server.stop();
}
