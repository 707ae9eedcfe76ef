//! Tests of the rows about a running server.

use expect_test::expect;

use super::{check, kernel, known};
use crate::{Connection, Cpus, Facts, Listener, Metrics, Steering, Thread};

/// Returns facts of a server on two processors, with these metrics.
fn server(metrics: Metrics) -> Facts {
    let mut facts = kernel(6, 18);
    facts.server.pid = known(7);
    facts.server.metrics = known(metrics);
    facts.process.allowed = known(Cpus::from_iter(0..2));
    facts
}

fn busy() -> Metrics {
    Metrics {
        requests: 10_000,
        system_calls: 21_000,
        accepted: 2_000,
        imbalance: 1.1,
        located: 250,
        local: 130,
        steering: Steering {
            hash: 2,
            ..Steering::default()
        },
    }
}

fn listener(address: &str) -> Listener {
    Listener {
        address: address.to_owned(),
        backlog: 4096,
        ..Listener::default()
    }
}

#[test]
fn a_busy_server() {
    let facts = server(busy());
    check(
        "app.threads",
        &facts,
        expect!["fine: the server runs 2 threads (cores) on 2 processors (3 pieces of evidence)"],
    );
    check(
        "app.syscalls",
        &facts,
        expect![
            "fine: 2.10 system calls per request; a cache hit on an open connection needs 2 (1 pieces of evidence)"
        ],
    );
    check(
        "sock.incoming_cpu",
        &facts,
        expect![
            "tradeoff: connections are spread by a hash; 52 % of 250 sampled connections are served on the processor that receives their packets (2 pieces of evidence)"
        ],
    );
    check(
        "sock.cbpf",
        &facts,
        expect![
            "notApplicable: kernel 6.18 needs no BPF program, because SO_INCOMING_CPU makes the same choice (2 pieces of evidence)"
        ],
    );
    check(
        "sock.balance",
        &facts,
        expect![
            "fine: the busiest core accepted 1.10 times as many of the 2000 connections as the average core (1 pieces of evidence)"
        ],
    );
    let wasteful = server(Metrics {
        system_calls: 90_000,
        imbalance: 1.9,
        ..busy()
    });
    check(
        "app.syscalls",
        &wasteful,
        expect![
            "gain: 9.00 system calls per request; a cache hit on an open connection needs 2 (1 pieces of evidence)"
        ],
    );
    check(
        "sock.balance",
        &wasteful,
        expect![
            "gain: the busiest core accepted 1.90 times as many of the 2000 connections as the average core (1 pieces of evidence)"
        ],
    );
}

#[test]
fn an_idle_server() {
    let facts = server(Metrics {
        requests: 3,
        accepted: 2,
        located: 0,
        local: 0,
        ..busy()
    });
    check(
        "app.syscalls",
        &facts,
        expect![
            "notApplicable: the server has had only 3 requests so far, too few for a ratio (1 pieces of evidence)"
        ],
    );
    check(
        "sock.incoming_cpu",
        &facts,
        expect![
            "notApplicable: connections are spread by a hash; only 0 connections were sampled, too few for a judgement (2 pieces of evidence)"
        ],
    );
    check(
        "sock.balance",
        &facts,
        expect![
            "notApplicable: the server has accepted only 2 connections so far, too few for a judgement (1 pieces of evidence)"
        ],
    );
}

#[test]
fn steering() {
    let mut by_cpu = busy();
    by_cpu.steering = Steering {
        incoming_cpu: 2,
        ..Steering::default()
    };
    check(
        "sock.incoming_cpu",
        &server(by_cpu),
        expect![
            "fine: connections are spread by SO_INCOMING_CPU; 52 % of 250 sampled connections are served on the processor that receives their packets (2 pieces of evidence)"
        ],
    );
    let mut by_program = busy();
    by_program.steering = Steering {
        cbpf: 2,
        ..Steering::default()
    };
    let mut facts = server(by_program);
    check(
        "sock.cbpf",
        &facts,
        expect!["fine: 2 cores get their connections from a BPF program (2 pieces of evidence)"],
    );
    facts.kernel = kernel(6, 1).kernel;
    check(
        "sock.incoming_cpu",
        &facts,
        expect![
            "notApplicable: kernel 6.1 ignores SO_INCOMING_CPU for sockets with SO_REUSEPORT; kernel 6.2 or newer is needed (1 pieces of evidence)"
        ],
    );
    facts.server.metrics = known(busy());
    check(
        "sock.cbpf",
        &facts,
        expect![
            "tradeoff: on kernel 6.1, a connection stays on the processor that receives its packets only if Pelton's BPF program is attached; it is not attached (2 pieces of evidence)"
        ],
    );
    let mut one_core = busy();
    one_core.steering.hash = 1;
    check(
        "sock.incoming_cpu",
        &server(one_core),
        expect!["notApplicable: the server has one core (1 pieces of evidence)"],
    );
    check(
        "app.threads",
        &server(one_core),
        expect!["gain: the server runs 1 threads (cores) on 2 processors (3 pieces of evidence)"],
    );
}

#[test]
fn pinned_cores() {
    let thread = |name: &str, list: &str| Thread {
        name: name.to_owned(),
        allowed: Cpus::parse_list(list).expect("a list"),
    };
    let mut facts = server(busy());
    facts.process.threads = known(vec![
        thread("core-0", "0"),
        thread("core-1", "1"),
        thread("core-1-file", "0-1"),
        thread("core-0", "0-1"),
    ]);
    check(
        "app.pin",
        &facts,
        expect![
            "fine: the server's threads are pinned to the processors 0-1 (2 pieces of evidence)"
        ],
    );
    facts.cpu.siblings = known(vec![Cpus::from_iter([0, 1])]);
    check(
        "app.pin",
        &facts,
        expect![
            "tradeoff: the server's threads are pinned to the processors 0-1, some of which are hardware threads of the same physical core and share its execution units (2 pieces of evidence)"
        ],
    );
    facts.process.threads = known(vec![thread("core-0", "0-1")]);
    check(
        "app.pin",
        &facts,
        expect![
            "gain: 1 of 1 server threads (cores) are not pinned to one processor (1 pieces of evidence)"
        ],
    );
    facts.process.threads = known(vec![thread("other", "0-1")]);
    check(
        "app.pin",
        &facts,
        expect!["notApplicable: the process has no threads named core-N (1 pieces of evidence)"],
    );
}

#[test]
fn listeners() {
    let mut facts = server(busy());
    facts.server.listeners = known(vec![
        listener("127.0.0.1:80"),
        listener("127.0.0.1:80"),
        listener("127.0.0.1:6380"),
    ]);
    check(
        "sock.reuseport",
        &facts,
        expect![
            "fine: listening sockets of 127.0.0.1:80: 2; cores of the server: 2 (1 pieces of evidence)"
        ],
    );
    facts.server.listeners = known(vec![listener("127.0.0.1:80")]);
    check(
        "sock.reuseport",
        &facts,
        expect![
            "gain: listening sockets of 127.0.0.1:80: 1; cores of the server: 2 (1 pieces of evidence)"
        ],
    );
    facts.server.listeners = known(Vec::new());
    check(
        "sock.reuseport",
        &facts,
        expect!["notApplicable: the server has no listening TCP socket (1 pieces of evidence)"],
    );
    let full = Listener {
        waiting: 4096,
        ..listener("127.0.0.1:80")
    };
    facts.server.listeners = known(vec![full]);
    check(
        "tcp.overflows",
        &facts,
        expect![
            "problem: the backlog of 127.0.0.1:80 is full: 4096 connections wait to be accepted (2 pieces of evidence)"
        ],
    );
}

#[test]
fn queues_of_the_card() {
    let mut facts = server(busy());
    facts.server.connections = known(vec![Connection { napi_id: 0 }]);
    check(
        "poll.epoll",
        &facts,
        expect![
            "notApplicable: this version of Pelton does not use busy polling; the kernel supports busy polling, but the connections have no SO_INCOMING_NAPI_ID (2 pieces of evidence)"
        ],
    );
    facts.server.connections = known(vec![
        Connection { napi_id: 0 },
        Connection { napi_id: 8193 },
    ]);
    check(
        "poll.epoll",
        &facts,
        expect![
            "notApplicable: this version of Pelton does not use busy polling; the kernel and the network card support busy polling (2 pieces of evidence)"
        ],
    );
}
