//! Tests of promise P16 of the specification: each program keeps its state in a store of its own.

use std::process::Command;

use rustix::process::Signal;

use super::changes::{reloads, replace, versions};
use super::foreign::build;
use super::kept::example;
use super::{VISITOR, cells, configure, post, program, serve};
use crate::backends::backends;
use crate::harness::{Home, Server, eventually, signal};

/// Returns the replies of the program's store to these commands.
fn replies(server: &Server, name: &str, commands: &str) -> String {
    let target = format!("/x/{name}?state");
    let response = post(server, &target, "text/plain", commands.as_bytes());
    assert_eq!(response.status, 200, "{}", response.text());
    response.text().to_owned()
}

/// Checks promise P16: a program's state survives requests, crashes, a new program file, and
/// changes of the program's settings. Other programs do not see the state.
#[test]
fn p16_state_survives_reloads() {
    let [first, second] = versions();
    for backend in backends() {
        let home = Home::new();
        let path = home.directory().join("program");
        replace(&path, &first);
        let check = "limits.program_check_time = \"20ms\"\n";
        let table = |max_state| {
            let state = format!("max_state = \"{max_state}\"");
            check.to_owned() + &program("v", &path, &state) + &program("w", VISITOR, &state)
        };
        let server = serve(&home, backend, &table("1MiB"));
        assert_eq!(replies(&server, "v", "INCR n\r\n"), ":1\r\n", "{backend}");
        assert_eq!(
            replies(&server, "v", "INCR n\r\nHSET h f v\r\n"),
            ":2\r\n:1\r\n"
        );
        assert_eq!(replies(&server, "w", "GET n\r\n"), "$-1\r\n");
        assert_eq!(server.get("/x/v?crash").status, 502);
        replace(&path, &second);
        eventually("the new file serves", || {
            (server.get("/x/v?missing").text() == "another thing").then_some(())
        });
        assert_eq!(replies(&server, "v", "INCR n\r\n"), ":3\r\n");
        let before = reloads(&server).0;
        configure(&home, &table("2MiB"));
        signal(server.pid(), Signal::HUP);
        eventually("the table is taken over", || {
            (before < reloads(&server).0).then_some(())
        });
        assert_eq!(
            replies(&server, "v", "INCR n\r\nHGET h f\r\n"),
            ":4\r\n$1\r\nv\r\n"
        );
        let stats = &cells(&server)["programs"]["v"];
        assert_eq!(stats["state_keys"], 2);
        assert_eq!(
            server
                .metrics()
                .get("pelton_program_state_keys{program=\"v\"}"),
            2
        );
        server.stop();
    }
}

/// Checks promise P16: the quota is enforced, and writes beyond the quota are refused with the
/// error message of Redis.
#[test]
fn p16_the_quota_holds() {
    const BYTES_MAX: u64 = 256 << 10;
    for backend in backends() {
        let home = Home::new();
        let state = format!("max_state = {BYTES_MAX}");
        let server = serve(&home, backend, &program("v", VISITOR, &state));
        let value = "v".repeat(9_000);
        let commands: String = (0..100)
            .map(|number| format!("SET k{number} {value}\r\n"))
            .collect();
        let answers = replies(&server, "v", &commands);
        let refused = answers.matches("-OOM command not allowed").count();
        assert_eq!(refused + answers.matches("+OK").count(), 100, "{backend}");
        assert!((1..100).contains(&refused), "{backend}: {refused}");
        let bytes = cells(&server)["programs"]["v"]["state_bytes"].as_u64();
        let bytes = bytes.expect("a number");
        assert!((BYTES_MAX / 2..=BYTES_MAX).contains(&bytes), "{bytes}");
        assert_eq!(
            replies(&server, "v", "FLUSHALL\r\nSET k v\r\n"),
            "+OK\r\n+OK\r\n"
        );
        server.stop();
    }
}

/// A program has a store only if its table sets `max_state`.
#[test]
fn state_needs_max_state() {
    for backend in backends() {
        let home = Home::new();
        let server = serve(&home, backend, &program("v", VISITOR, ""));
        let variables = server.get("/x/v");
        assert!(!variables.text().contains("PELTON_STATE"), "{backend}");
        server.stop();
    }
}

/// Checks promise P16: the example program in the documentation counts its requests.
#[test]
fn p16_the_example_counts_its_visits() {
    let home = Home::new();
    let mut compiler = Command::new("cc");
    let path = build(
        &home,
        example("### State", "c"),
        "visits.c",
        compiler.args(["-O1", "-static"]),
    );
    for backend in backends() {
        let home = Home::new();
        let server = serve(&home, backend, &program("v", &path, "max_state = \"1MiB\""));
        for count in 1..=3 {
            let response = server.get("/x/v");
            assert_eq!(response.text(), format!("visit {count}\n"), "{backend}");
        }
        server.stop();
    }
}
