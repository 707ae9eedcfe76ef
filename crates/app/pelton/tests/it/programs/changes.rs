//! Programs and their configuration, changed while the server runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::process::Signal;

use super::{VISITOR, cells, configure, program, serve};
use crate::backends::backends;
use crate::harness::{Home, eventually, repetitions, signal};

/// Replaces the file of a program by a rename, as a deployment does.
pub(super) fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).expect("the home can be written");
    fs::rename(&beside, path).expect("the home can be written");
}

/// Returns the program `visitor`, and a copy of it that writes a different text.
pub(super) fn versions() -> [Vec<u8>; 2] {
    let first = fs::read(VISITOR).expect("cargo built it");
    let mut second = first.clone();
    let (old, new) = (b"no such thing", b"another thing");
    let at = first.windows(old.len()).position(|bytes| bytes == old);
    let at = at.expect("the program says so");
    second[at..at + new.len()].copy_from_slice(new);
    [first, second]
}

pub(super) fn reloads(server: &crate::harness::Server) -> (u64, u64) {
    let json = cells(server);
    let figure = |name: &str| json["programs"]["v"][name].as_u64().expect("a number");
    (figure("reloads"), figure("reload_failures"))
}

/// Checks promise P10 of the specification: a changed file is loaded without a signal, and a bad
/// file changes nothing.
#[test]
fn p10_a_changed_file_is_loaded_and_a_bad_one_is_not() {
    let [first, second] = versions();
    for backend in backends() {
        let home = Home::new();
        let path = home.directory().join("program");
        replace(&path, &first);
        let configuration =
            "limits.program_check_time = \"20ms\"\n".to_owned() + &program("v", &path, "");
        let server = serve(&home, backend, &configuration);
        assert_eq!(
            server.get("/x/v?missing").text(),
            "no such thing",
            "{backend}"
        );
        replace(&path, &second);
        eventually("the new file serves", || {
            (server.get("/x/v?missing").text() == "another thing").then_some(())
        });
        assert_eq!(reloads(&server), (1, 0));
        replace(&path, &first[..first.len() / 3]);
        eventually("the bad file was tried", || {
            (reloads(&server).1 == 1).then_some(())
        });
        assert_eq!(server.get("/x/v?missing").text(), "another thing");
        let json = server.event(
            "ERROR",
            "program not reloaded: the old version keeps running",
        );
        let why = json["err"].as_str().expect("the reply has an error");
        assert!(why.contains("v: truncated"), "{why}");
        fs::remove_file(&path).expect("the home can be written");
        assert_eq!(server.get("/x/v?missing").text(), "another thing");
        replace(&path, &first);
        eventually("the good file serves", || {
            (server.get("/x/v?missing").text() == "no such thing").then_some(())
        });
        assert_eq!(reloads(&server), (2, 1));
        // Counters survive reloads.
        assert!(
            5 <= cells(&server)["programs"]["v"]["invocations"]
                .as_u64()
                .expect("a number")
        );
        server.stop();
    }
}

/// Checks promise P10 of the specification: no request fails while programs are reloaded under
/// load.
#[test]
fn p10_reloads_under_load_fail_no_request() {
    let rounds = repetitions(10);
    let [first, second] = versions();
    for backend in backends() {
        let home = Home::new();
        let path: PathBuf = home.directory().join("program");
        replace(&path, &first);
        // The server does not poll the files within this test: only signals cause reloads.
        let calm = "limits.program_check_time = \"1h\"\ncell.max_queue_time = \"60s\"\n";
        let configuration = calm.to_owned() + &program("v", &path, "");
        let server = serve(&home, backend, &configuration);
        let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let response = server.get("/x/v?missing");
                        assert_eq!(response.status, 404, "{}", response.text());
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for round in 1..=rounds {
                replace(&path, if round % 2 == 0 { &first } else { &second });
                signal(server.pid(), Signal::HUP);
                eventually("it is reloaded", || {
                    (reloads(&server).0 == round as u64).then_some(())
                });
            }
            done.store(true, Ordering::Relaxed);
        });
        let answered = answered.load(Ordering::Relaxed);
        assert_eq!(reloads(&server), (rounds as u64, 0));
        eprintln!("pelton: proved: {backend}: {rounds} reloads, {answered} requests, none failed");
        server.stop();
    }
}

#[test]
fn a_changed_configuration_brings_and_takes_routes() {
    let home = Home::new();
    let server = serve(&home, "process", &program("a", VISITOR, ""));
    assert_eq!(server.get("/x/a?count").status, 200);
    assert_eq!(server.get("/x/b").status, 404);
    configure(&home, &program("b", VISITOR, ""));
    signal(server.pid(), Signal::HUP);
    server.logged("INFO", "configuration reloaded");
    assert_eq!(server.get("/x/a").status, 404);
    assert_eq!(server.get("/x/b?count").status, 200);
    // A configuration whose program does not start is rejected as a whole.
    configure(
        &home,
        &(program("b", VISITOR, "") + &program("c", "/bin/true", "")),
    );
    signal(server.pid(), Signal::HUP);
    server.logged(
        "ERROR",
        "the configuration was not reloaded: the old configuration stays in force",
    );
    assert_eq!(server.get("/x/b?count").status, 200);
    assert_eq!(server.get("/x/c").status, 404);
    server.stop();
}
