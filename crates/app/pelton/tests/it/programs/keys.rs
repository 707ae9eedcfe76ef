//! Observable effect of each key of `[programs.NAME]`, in every backend. Other modules test the
//! rest: `failures` and the parent module test the keys of chains and of fallbacks, and `kept`
//! tests `ephemeral = false`.

use std::fs;

use super::failures::refused;
use super::{VISITOR, cells, program, serve};
use crate::backends::backends;
use crate::harness::{Home, Response, Server, eventually};

/// Sends `query` to a program whose table contains the lines `more`, and returns the response.
fn ask(backend: &str, more: &str, query: &str) -> Response {
    let home = Home::new();
    let server = serve(&home, backend, &program("v", VISITOR, more));
    let response = server.get(&format!("/x/v?{query}"));
    server.stop();
    response
}

fn figure(server: &Server, name: &str) -> u64 {
    let reported = cells(server);
    reported["programs"]["v"][name].as_u64().expect("a number")
}

#[test]
fn path_and_route_are_what_is_run_and_where() {
    for backend in backends() {
        let home = Home::new();
        let copy = home.directory().join("copy");
        fs::copy(VISITOR, &copy).expect("the home can be written");
        let table = program("v", &copy, "").replace("/x/v", "/else/where");
        let server = serve(&home, backend, &table);
        assert_eq!(server.get("/else/where?count").text(), "1", "{backend}");
        assert_eq!(server.get("/x/v").status, 404);
        server.stop();
    }
}

#[test]
fn main_arguments_follow_the_programs_name() {
    for backend in backends() {
        let more = "main_arguments = [\"arguments\", \"--text\", \"two words\"]\n";
        let response = ask(backend, more, "");
        assert_eq!(response.text(), "v|arguments|--text|two words", "{backend}");
    }
}

#[test]
fn environment_is_in_every_request() {
    for backend in backends() {
        let more = "environment = [\"GREETING=hello\", \"EMPTY=\"]\n";
        let response = ask(backend, more, "");
        for variable in ["GREETING=hello", "EMPTY="] {
            let is_there = response.text().lines().any(|line| line == variable);
            assert!(is_there, "{backend}: {}", response.text());
        }
        assert!(!ask(backend, "", "").text().contains("GREETING"));
    }
}

#[test]
fn allowed_paths_can_be_read_and_nothing_else() {
    // If the server runs as root, it runs programs as another user. The file must be readable for
    // that user.
    let path = std::env::temp_dir().join(format!("pelton-allowed-{}", std::process::id()));
    fs::write(&path, "allowed").expect("there is room");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&path, mode).expect("ours");
    let file = &path;
    let path = path.display();
    for backend in backends() {
        let reads = format!("main_arguments = [\"read\", \"{path}\"]\nwarmup = 0\n");
        let allowed = format!("{reads}allowed_paths = [\"{path}\"]\n");
        assert_eq!(ask(backend, &allowed, "").text(), "allowed", "{backend}");
        let other = format!("{reads}allowed_paths = [\"/etc/hostname\"]\n");
        assert_eq!(ask(backend, &other, "").status, 502, "{backend}");
        assert_eq!(ask(backend, &reads, "").status, 502, "{backend}");
    }
    fs::remove_file(file).expect("ours");
}

#[test]
fn concurrency_is_how_many_requests_run_at_a_time() {
    for backend in backends() {
        for cells_max in [1, 3] {
            let home = Home::new();
            let more = format!("concurrency = {cells_max}\nmax_request_time = \"1s\"\n");
            let server = serve(&home, backend, &program("v", VISITOR, &more));
            let mut clients: Vec<_> = (0..cells_max + 1).map(|_| server.connect()).collect();
            for client in &mut clients {
                client.request("GET", "/x/v?loop", "");
            }
            let mut most = 0;
            while !clients.iter_mut().any(|client| client.has_begun()) {
                most = most.max(figure(&server, "running"));
            }
            assert_eq!(most, cells_max, "{backend}");
            server.kill();
        }
    }
}

#[test]
fn max_request_time_ends_a_request() {
    for backend in backends() {
        // The program runs for 600 ms, longer than the first limit and shorter than the second.
        let more = "max_request_time = \"200ms\"\n";
        assert_eq!(ask(backend, more, "loop600").status, 504, "{backend}");
        let more = "max_request_time = \"60s\"\n";
        assert_eq!(ask(backend, more, "loop600").status, 200, "{backend}");
    }
}

#[test]
fn max_boot_time_ends_a_start_and_its_warm_up() {
    let home = Home::new();
    for backend in backends() {
        let table = |time: &str| {
            let more = format!("main_arguments = [\"loop600\"]\nmax_boot_time = \"{time}\"\n");
            program("v", VISITOR, &more)
        };
        // The expected message does not mention the warm-up: on a slow host, the limit may be
        // exceeded before the warm-up starts.
        let reason = "not ready within max_boot_time, 300 ms";
        refused(&home, backend, &table("300ms"), reason);
        let server = serve(&home, backend, &table("60s"));
        assert_eq!(figure(&server, "finished"), 1, "{backend}");
        server.stop();
    }
}

#[test]
fn max_memory_bounds_what_is_there_before_a_request() {
    let home = Home::new();
    for backend in backends() {
        let table = program("v", VISITOR, "max_memory = \"64KiB\"\n");
        let reason = "more than max_memory";
        refused(&home, backend, &table, reason);
        assert_eq!(
            ask(backend, "max_memory = \"8MiB\"\n", "count").status,
            200,
            "{backend}"
        );
    }
}

#[test]
fn max_work_memory_bounds_what_a_request_takes() {
    for backend in backends() {
        let table = |work: &str| format!("max_memory = \"8MiB\"\nmax_work_memory = \"{work}\"\n");
        assert_eq!(ask(backend, &table("16MiB"), "take48").status, 502);
        let response = ask(backend, &table("128MiB"), "take48");
        assert_eq!((response.status, response.text()), (200, "48"), "{backend}");
    }
}

#[test]
fn max_answer_bounds_what_is_written() {
    for backend in backends() {
        let more = |bytes: &str| format!("max_output = \"{bytes}\"\n");
        assert_eq!(ask(backend, &more("100KiB"), "write200").status, 502);
        let response = ask(backend, &more("300KiB"), "write200");
        assert_eq!(
            (response.status, response.body.len()),
            (200, 200 << 10),
            "{backend}"
        );
    }
}

#[test]
fn warmup_is_how_many_requests_come_before_clients() {
    for backend in backends() {
        for warmup in [0, 3] {
            let home = Home::new();
            let more = format!("warmup = {warmup}\n");
            let server = serve(&home, backend, &program("v", VISITOR, &more));
            assert_eq!(figure(&server, "finished"), warmup, "{backend}");
            server.stop();
        }
        // Without a warm-up the server starts, and the client sees the failure.
        assert_eq!(
            ask(backend, "main_arguments = [\"fail\"]\nwarmup = 0\n", "").status,
            502
        );
    }
}

#[test]
fn ephemeral_leaves_nothing_of_a_request() {
    for backend in backends() {
        let home = Home::new();
        let server = serve(&home, backend, &program("v", VISITOR, "ephemeral = true\n"));
        for _ in 0..3 {
            assert_eq!(server.get("/x/v?count").text(), "1", "{backend}");
        }
        let reported = cells(&server);
        assert_eq!(reported["programs"]["v"]["posture"]["ephemeral"], true);
        server.stop();
    }
}

#[test]
fn the_status_shows_whether_huge_pages_are_in_use() {
    for backend in backends() {
        for (setting, expected) in [
            ("true", &["on", "refused by the host"][..]),
            ("false", &["off"]),
        ] {
            let home = Home::new();
            let more = format!("hugepages = {setting}\n");
            let server = serve(&home, backend, &program("v", VISITOR, &more));
            let posture = &cells(&server)["programs"]["v"]["posture"]["hugepages"];
            let posture = posture.as_str().expect("a text");
            assert!(expected.contains(&posture), "{backend}: {posture}");
            server.stop();
        }
    }
}

/// With `request_hugepages`, a microVM gives memory to its job in large pages, so one request adds
/// at least one large page to `dirty_bytes`. Without it, a small request adds less.
#[test]
fn request_hugepages_are_what_a_guest_takes() {
    const LARGE_BYTES: u64 = 2 << 20;
    for backend in backends().iter().filter(|backend| **backend == "kvm") {
        for large in [true, false] {
            let home = Home::new();
            let more = format!("request_hugepages = {large}\nwarmup = 0\n");
            let server = serve(&home, backend, &program("v", VISITOR, &more));
            let posture = &cells(&server)["programs"]["v"]["posture"]["hugepages"];
            if posture != "on" {
                return eprintln!("pelton: not proved: request_hugepages: {posture}");
            }
            assert_eq!(server.get("/x/v?count").status, 200);
            let dirty = eventually("it is wiped", || {
                (figure(&server, "resets") == 1).then(|| figure(&server, "dirty_bytes"))
            });
            // A program that counts to one needs little heap and stack, less than one large page.
            assert_eq!(LARGE_BYTES <= dirty, large, "{dirty}");
            server.stop();
        }
    }
}

#[test]
fn verbose_pagetables_are_in_the_log() {
    for backend in backends() {
        for verbose in [true, false] {
            let home = Home::new();
            let more = format!("verbose_pagetables = {verbose}\n");
            let server = serve(&home, backend, &program("v", VISITOR, &more));
            assert_eq!(server.get("/x/v?count").status, 200);
            let shown = verbose && *backend == "kvm";
            assert_eq!(server.has_logged(" r-x user"), shown, "{backend}");
            server.stop();
        }
    }
}
