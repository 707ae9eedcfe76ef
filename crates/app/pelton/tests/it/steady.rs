//! Cost of a cache hit on a warm server, measured by the server's own counters. A hit needs no
//! allocation, and hardly more than two system calls: one to read and one to write.
//!
//! The server is suspended while the clients send. When the server resumes, all requests have
//! arrived. The cost then does not depend on the load of the machine.

use rustix::process::Signal;

use crate::harness::{Client, Home, Metrics, Server, halt, signal};

const CLIENTS: usize = 128;
const ROUNDS: usize = 40;
/// Tolerance for the difference between two readings of the counters, in allocations. The
/// allocations of all hits together must stay below this number.
const TOLERANCE: f64 = 16.0;

/// Counters of the server's work, or their differences.
#[derive(Clone, Copy, Debug)]
struct Cost {
    answers: f64,
    syscalls: f64,
    allocations: f64,
}

impl Cost {
    fn of(metrics: &Metrics) -> Cost {
        let answers = metrics.sum("pelton_http_responses_total") as f64;
        Cost {
            answers,
            // The runtime polls its sockets after every 61 tasks. The server's counter omits these
            // polls, so they are added.
            syscalls: metrics.sum("pelton_syscalls_total") as f64 + answers / 61.0,
            allocations: metrics.get("pelton_core_allocations_total") as f64,
        }
    }

    fn since(self, before: Cost) -> Cost {
        Cost {
            answers: self.answers - before.answers,
            syscalls: self.syscalls - before.syscalls,
            allocations: self.allocations - before.allocations,
        }
    }
}

/// Starts a server with one core, which does not revalidate cached responses during the test.
fn served(home: &Home) -> Server {
    let flags = [
        ["--cores", "1"],
        ["--limits-revalidate-after", "1h"],
        ["--allowed-types", "json"],
    ];
    Server::plain(home, &flags.concat())
}

/// Runs one round, in which all requests have arrived before the server resumes.
fn round(server: &Server, clients: &mut [Client], request: &str, answers: usize) {
    halt(server.pid());
    for client in &mut *clients {
        client.send(request);
    }
    signal(server.pid(), Signal::CONT);
    for client in clients {
        for _ in 0..answers {
            assert_eq!(client.response().status, 200);
        }
    }
}

/// Returns the cost per response if each client sends `batch` requests at once.
fn cost(server: &Server, clients: &mut [Client], target: &str, batch: usize) -> Cost {
    let request = format!("GET {target} HTTP/1.1\r\nhost: h\r\naccept: */*\r\n\r\n").repeat(batch);
    let mut watch = server.connect();
    let mut read = || {
        watch.request("GET", "/-/metrics", "");
        Cost::of(&Metrics::parse(watch.response().text()))
    };
    for _ in 0..3 {
        round(server, clients, &request, batch);
    }
    // Reading the counters has a constant cost, which is subtracted.
    let (first, second) = (read(), read());
    let reading_cost = second.since(first);
    for _ in 0..ROUNDS {
        round(server, clients, &request, batch);
    }
    let all = read().since(second).since(reading_cost);
    Cost {
        answers: all.answers,
        syscalls: all.syscalls / all.answers,
        allocations: all.allocations,
    }
}

#[test]
fn a_hit_allocates_nothing_and_takes_two_system_calls() {
    let home = Home::with(&[
        ("small.json", &[b'x'; 150]),
        ("page.json", &[b'x'; 20 << 10]),
    ]);
    let server = served(&home);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    for target in ["/small.json", "/page.json"] {
        let cost = cost(&server, &mut clients, target, 1);
        assert_eq!(cost.answers, (CLIENTS * ROUNDS) as f64, "{target}");
        assert!(
            cost.allocations < TOLERANCE,
            "{target}: {}",
            cost.allocations
        );
        assert!(cost.syscalls <= 2.05, "{target}: {}", cost.syscalls);
    }
    server.stop();
}

#[test]
fn pipelined_hits_share_their_system_calls() {
    const BATCH: usize = 16;
    let home = Home::with(&[("small.json", &[b'x'; 150])]);
    let server = served(&home);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    let cost = cost(&server, &mut clients, "/small.json", BATCH);
    assert_eq!(cost.answers, (CLIENTS * ROUNDS * BATCH) as f64);
    assert!(cost.allocations < TOLERANCE, "{}", cost.allocations);
    assert!(cost.syscalls <= 0.2, "{}", cost.syscalls);
    server.stop();
}
