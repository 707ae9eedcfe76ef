//! Workers that crash or are killed: the server continues, and the next picture is converted.

use rustix::process::Signal;

use crate::harness::{Client, Home, Server, Workers, eventually, is_alive, media, pelton, signal};

fn home() -> Home {
    Home::with(&[
        ("large.jpg", &media::photo(3000, 2000, 1)),
        ("small.jpg", &media::photo(96, 64, 2)),
    ])
}

/// Returns the workers of `server`, once there are zygotes and cells.
fn workers(server: &Server) -> Workers {
    eventually("there are workers", || {
        let workers = Workers::below(server.pid());
        (!workers.zygotes.is_empty() && !workers.cells.is_empty()).then_some(workers)
    })
}

/// Requests a conversion that takes long, and returns once a cell runs it.
fn at_work(server: &Server, target: &str) -> Client {
    let mut client = server.connect();
    client.request("GET", target, "accept: image/webp\r\n");
    eventually("a cell is at work", || {
        (server.metrics().get("pelton_cells_running") == 1).then_some(())
    });
    client
}

#[test]
fn a_dead_zygote_is_replaced() {
    let home = home();
    let server = Server::plain(&home, &[]);
    for round in 1..=3 {
        let dead = workers(&server);
        for pid in dead.zygotes.iter().chain(&dead.cells) {
            signal(*pid, Signal::KILL);
        }
        let next = eventually("there are other workers", || {
            let next = workers(&server);
            let stayed = next.zygotes.iter().any(|pid| dead.zygotes.contains(pid));
            (!stayed).then_some(next)
        });
        assert!(next.cells.iter().all(|pid| !dead.cells.contains(pid)));
        let metrics = server.metrics();
        assert_eq!(metrics.get("pelton_cell_zygote_deaths_total"), round);
        let width = 40 + round as u32;
        let response = server.get_as(&format!("/small.jpg?w={width}"), "image/webp");
        assert_eq!((response.status, response.size().0), (200, width));
    }
    assert_eq!(server.metrics().conversions(), 3);
    server.stop();
}

#[test]
fn a_cell_that_crashes_at_work_harms_no_other() {
    const TARGET: &str = "/large.jpg?w=2900&format=png";
    let home = home();
    let server = Server::plain(&home, &["--cell-concurrency", "1"]);
    let mut leader = at_work(&server, TARGET);
    let mut follower = server.connect();
    follower.request("GET", TARGET, "");
    // Some of these cells are idle, and may still get a job until they are dead, so wait until each
    // has ended.
    for cell in workers(&server).cells {
        signal(cell, Signal::ABORT);
        eventually("it has ended", || (!is_alive(cell)).then_some(()));
    }
    for client in [&mut leader, &mut follower] {
        let response = client.response();
        assert_eq!(response.status, 500, "{}", response.text());
        assert_eq!(response.content_type(), "application/problem+json");
    }
    let crashed = "pelton_conversion_failures_total{reason=\"crashed\"}";
    let metrics = server.metrics();
    assert_eq!(metrics.get(crashed), 1);
    assert_eq!(metrics.get("pelton_cell_kills_total{reason=\"crash\"}"), 1);
    assert_eq!(metrics.get("pelton_cell_zygote_deaths_total"), 0);
    assert_eq!(
        server.logged("ERROR", "the worker crashed or sent a wrong reply"),
        1
    );
    // The crashed conversion is not tried again at once. Other pictures are still converted.
    assert_eq!(server.get(TARGET).status, 500);
    assert_eq!(server.metrics().get(crashed), 1);
    let next = server.get_as("/small.jpg?w=48", "image/avif");
    assert_eq!((next.status, next.size()), (200, (48, 32)));
    server.stop();
}

/// Checks promise P15 of the specification: a crashed job is saved in `cell.crash_dir`, and can be
/// replayed by hand. The picture did not cause this crash, so the replay succeeds.
#[test]
fn p15_a_job_that_crashed_is_run_again_by_hand() {
    const TARGET: &str = "/large.jpg?w=2900&format=png";
    let home = home();
    let folder = home.directory().join("crashes");
    let words = folder.to_str().expect("homes have plain names");
    let server = Server::plain(
        &home,
        &["--cell-concurrency", "1", "--cell-crash-dir", words],
    );
    let mut client = at_work(&server, TARGET);
    for cell in workers(&server).cells {
        signal(cell, Signal::ABORT);
    }
    assert_eq!(client.response().status, 500);
    eventually("the log says where the job is", || {
        server.has_logged("; reproducer: ").then_some(())
    });
    server.stop();
    let jobs = std::fs::read_dir(&folder).expect("the server made it");
    let jobs: Vec<_> = jobs.map(|job| job.expect("as above").path()).collect();
    let [job] = &jobs[..] else {
        panic!("{jobs:?}");
    };
    let job = job.to_str().expect("homes have plain names");
    let output = pelton(&home, ["cell", "--replay", job]).output();
    let output = output.expect("the program starts");
    let replayed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{replayed}");
    assert!(
        replayed.contains("\nended      crashed: died by signal 6\n"),
        "{replayed}"
    );
    assert!(
        replayed.contains("\nends now   successfully, with "),
        "{replayed}"
    );
}

#[test]
fn a_cell_that_the_kernel_kills_is_the_hosts_fault_and_tried_again() {
    const TARGET: &str = "/large.jpg?w=2900&format=png";
    let home = home();
    let server = Server::plain(&home, &["--cell-concurrency", "1"]);
    let mut client = at_work(&server, TARGET);
    // The kernel sends this signal if memory runs out.
    for cell in workers(&server).cells {
        signal(cell, Signal::KILL);
    }
    let response = client.response();
    assert_eq!(
        (response.status, response.field("retry-after")),
        (503, Some("30"))
    );
    let again = eventually("there are cells again", || {
        let response = server.get(TARGET);
        (response.status == 200).then_some(response)
    });
    assert_eq!(again.size(), (2900, 1933));
    server.stop();
}

#[test]
fn requests_without_changes_get_the_original_when_the_worker_crashes() {
    let home = home();
    let server = Server::plain(&home, &["--cell-concurrency", "1"]);
    let mut client = at_work(&server, "/large.jpg");
    let workers = workers(&server);
    for pid in workers.zygotes.iter().chain(&workers.cells) {
        signal(*pid, Signal::KILL);
    }
    let response = client.response();
    assert_eq!(
        (response.status, response.content_type()),
        (200, "image/jpeg")
    );
    assert!(response.body == media::photo(3000, 2000, 1));
    assert_eq!(response.field("vary"), Some("Accept"));
    let response = eventually("other pictures are converted again", || {
        let response = server.get_as("/small.jpg?w=48", "image/webp");
        (response.status == 200).then_some(response)
    });
    assert_eq!(response.size(), (48, 32));
    server.stop();
}

#[test]
fn no_process_outlives_a_killed_server() {
    let home = home();
    let server = Server::plain(&home, &[]);
    drop(at_work(&server, "/large.jpg"));
    let workers = workers(&server);
    server.kill();
    for pid in workers.zygotes.iter().chain(&workers.cells) {
        eventually("the process has ended", || (!is_alive(*pid)).then_some(()));
    }
}

#[test]
fn a_conversion_that_takes_too_long_is_ended() {
    let home = home();
    let server = Server::plain(&home, &["--cell-max-request-time", "10ms"]);
    let response = server.get("/large.jpg?w=2900&format=png");
    assert_eq!(response.status, 422, "{}", response.text());
    let metrics = server.metrics();
    let timed_out = "pelton_conversion_failures_total{reason=\"timed_out\"}";
    assert_eq!(metrics.get(timed_out), 1);
    // The limits on CPU time and on wall-clock time are equal. Either may be exceeded first.
    let kills = ["wall", "cpu"]
        .map(|reason| metrics.get(&format!("pelton_cell_kills_total{{reason=\"{reason}\"}}")));
    assert_eq!(kills.iter().sum::<u64>(), 1, "{kills:?}");
    let original = server.get_as("/large.jpg", "image/avif");
    assert_eq!(
        (original.status, original.content_type()),
        (200, "image/jpeg")
    );
    server.stop();
}

/// Requests `target` in these widths, and kills the cells during each conversion.
fn kill_thrice(server: &Server, target: &str, widths: [u32; 3]) {
    for width in widths {
        let mut client = at_work(server, &format!("{target}?w={width}&format=png"));
        let cells = workers(server).cells;
        for cell in &cells {
            signal(*cell, Signal::ABORT);
        }
        assert_eq!(client.response().status, 500);
        // Without this wait, a cell that is about to die might get the next job.
        eventually("they are all dead", || {
            (!cells.iter().any(|cell| is_alive(*cell))).then_some(())
        });
    }
}

/// Checks promise N12 of the specification: after an original has killed three cells, it is sent
/// unchanged instead of being converted. This holds for every name of the original and every
/// requested size.
#[test]
fn n12_an_original_that_kills_cells_is_sent_unconverted() {
    let photo = media::photo(3000, 2000, 1);
    let home = Home::with(&[("evil.jpg", &photo), ("copy.jpg", &photo)]);
    home.put("small.jpg", &media::photo(96, 64, 2));
    let server = Server::plain(&home, &["--cell-concurrency", "1"]);
    kill_thrice(&server, "/evil.jpg", [2900, 2800, 2700]);
    for target in [
        "/evil.jpg?w=40",
        "/copy.jpg?w=40",
        "/copy.jpg?w=50&format=webp",
    ] {
        let response = server.get(target);
        assert_eq!((response.status, response.size()), (200, (3000, 2000)));
        assert_eq!(response.content_type(), "image/jpeg", "{target}");
        assert!(response.body == photo, "{target}");
        // The quarantine may be lifted, so the response is fresh only for a short time.
        assert_eq!(response.field("cache-control"), Some("public, max-age=10"));
    }
    let metrics = server.metrics();
    assert_eq!(metrics.get("pelton_conversions_quarantined_total"), 3);
    assert_eq!(metrics.get("pelton_quarantined_originals"), 1);
    let crashed = "pelton_conversion_failures_total{reason=\"crashed\"}";
    assert_eq!(metrics.get(crashed), 3);
    assert!(server.has_logged("original is in quarantine"));
    let next = server.get_as("/small.jpg?w=48", "image/avif");
    assert_eq!((next.status, next.size()), (200, (48, 32)));
    server.stop();
}

#[test]
fn the_quarantine_is_listed_and_lifted_by_command_and_over_http() {
    let home = home();
    let server = Server::plain(&home, &["--cell-concurrency", "1"]);
    let data = home.data();
    let data = data.to_str().expect("homes have plain names");
    let quarantine = |words: &[&str]| {
        let words = [&["quarantine"], words, &["--data", data]].concat();
        let output = pelton(&home, words).output().expect("the program starts");
        let text = String::from_utf8(output.stdout).expect("the program writes text");
        (output.status.code(), text)
    };
    let api = "/-/api/quarantine";
    assert_eq!(quarantine(&["list"]), (Some(0), String::new()));
    assert_eq!(server.get(api).text(), "{\"quarantine\":[]}\n");
    for (by_command, widths) in [(true, [2900, 2800, 2700]), (false, [2600, 2500, 2400])] {
        kill_thrice(&server, "/large.jpg", widths);
        let (code, listed) = quarantine(&["list"]);
        assert_eq!(code, Some(0));
        let [hash, bytes, _, path, cause] = listed
            .trim_end()
            .split('\t')
            .collect::<Vec<_>>()
            .try_into()
            .expect("five fields");
        assert_eq!(path, "large.jpg");
        assert_eq!(bytes, media::photo(3000, 2000, 1).len().to_string());
        assert_eq!(cause, "cell: crashed: died by signal 6");
        let described = server.get(api).text().to_owned();
        assert!(
            described.contains(&format!("\"blake3\":\"{hash}\"")),
            "{described}"
        );
        assert!(described.contains("\"path\":\"large.jpg\""), "{described}");
        assert_eq!(server.get("/large.jpg?w=41").size(), (3000, 2000));
        if by_command {
            assert_eq!(quarantine(&["lift", "other.jpg"]).0, Some(2));
            assert_eq!(quarantine(&["lift", "large.jpg"]).0, Some(0));
        } else {
            let other = format!("{api}/{}", hash.replace(&hash[..8], "00000000"));
            assert_eq!(server.send("DELETE", &other, "").status, 404);
            assert_eq!(server.send("DELETE", api, "").status, 405);
            let lifted = server.send("DELETE", &format!("{api}/{hash}"), "");
            assert_eq!(
                (lifted.status, lifted.content_type()),
                (200, "application/json")
            );
        }
        assert_eq!(quarantine(&["list"]), (Some(0), String::new()));
        // Use a width that has not failed yet: a failed conversion is not retried for up to a
        // minute.
        let width = if by_command { 60 } else { 90 };
        let response = server.get(&format!("/large.jpg?w={width}"));
        assert_eq!((response.status, response.size().0), (200, width));
        assert_eq!(server.metrics().get("pelton_quarantined_originals"), 0);
    }
    server.stop();
}

/// If an improvement (a background conversion at higher effort) crashes, the better variant is
/// missing, but no request fails.
#[test]
fn improvements_that_crash_never_count_against_requests() {
    let home = home();
    let server = Server::start(&home, &["--cell-concurrency", "1"]);
    let crashed = "pelton_conversion_failures_total{reason=\"crashed\"}";
    for (round, width) in [2900, 2800, 2700, 2600].into_iter().enumerate() {
        let target = format!("/large.jpg?w={width}");
        let quick = server.get_as(&target, "image/avif");
        assert_eq!((quick.status, quick.size().0), (200, width));
        assert_eq!(quick.field("cache-control"), Some("public, max-age=10"));
        // After three crashes, the fourth background conversion is not attempted.
        if round < 3 {
            eventually("the improvement is at work", || {
                (server.metrics().get("pelton_cells_running") == 1).then_some(())
            });
            let cells = workers(&server).cells;
            for cell in &cells {
                signal(*cell, Signal::ABORT);
            }
            eventually("they are all dead", || {
                (!cells.iter().any(|cell| is_alive(*cell))).then_some(())
            });
        }
        let last = eventually("it is final", || {
            let response = server.get_as(&target, "image/avif");
            (response.field("cache-control") == Some("public, max-age=86400")).then_some(response)
        });
        assert_eq!(last.etag(), quick.etag(), "what was quick to make stays");
    }
    let metrics = server.metrics();
    assert_eq!(metrics.get(crashed), 3);
    assert_eq!(metrics.get("pelton_quarantined_originals"), 0);
    let next = server.get_as("/large.jpg?w=300", "image/webp");
    assert_eq!((next.status, next.size()), (200, (300, 200)));
    server.stop();
}
