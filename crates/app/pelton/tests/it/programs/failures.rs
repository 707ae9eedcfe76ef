//! Programs that fail: each failure is logged in one line and results in an error status, and the
//! rest of the server is not affected.

use super::{VISITOR, cells, post, program, serve};
use crate::backends::backends;
use crate::harness::{Home, Server, eventually, media, pelton};

/// Checks promises P3 and P4 of the specification: limits stop each failing program, the log names
/// it, and the next request works.
#[test]
fn p3_p4_a_program_that_fails_costs_the_server_nothing() {
    for backend in backends() {
        let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
        let more = "max_output = \"2MiB\"\nmax_memory = \"64MiB\"\n";
        let hasty = program("hasty", VISITOR, "max_request_time = \"300ms\"\n");
        let server = serve(&home, backend, &(program("v", VISITOR, more) + &hasty));
        assert_eq!(server.get("/x/v?count").status, 200);
        let before = server.memory("VmRSS");
        for (asked, status) in [
            ("v?crash", 502),
            ("v?fail", 502),
            ("hasty?loop", 504),
            ("v?grow", 502),
            ("v?long", 502),
            ("v?nonsense", 502),
        ] {
            let response = server.get(&format!("/x/{asked}"));
            assert_eq!(response.status, status, "{backend}: {asked}");
            assert_eq!(response.content_type(), "application/problem+json");
            assert_eq!(server.get("/x/v?count").text(), "1");
        }
        assert_eq!(server.logged("ERROR", "program failed"), 6);
        let last = server.event("ERROR", "program failed");
        assert_eq!(last["program"], "v");
        assert!(server.has_logged("exit code 3: no luck?[31m today"));
        assert!(server.has_logged("the output exceeded its size limit"));
        assert!(server.memory("VmRSS") < before + (16 << 20));
        assert_eq!(server.get_as("/p.jpg?w=40", "image/webp").status, 200);
        server.stop();
    }
}

/// Checks promise P15 of the specification: if a program fails, its request is saved. A replay of
/// the saved request uses the settings in the program's table, and fails in the same way.
#[test]
fn p15_a_request_that_failed_fails_again_by_hand() {
    for backend in backends() {
        let home = Home::new();
        let configuration =
            "cell.crash_dir = \"crashes\"\n".to_owned() + &program("v", VISITOR, "warmup = 0\n");
        let server = serve(&home, backend, &configuration);
        assert_eq!(server.get("/x/v?fail").status, 502);
        server.stop();
        let jobs = std::fs::read_dir(home.directory().join("crashes"));
        let mut jobs = jobs.expect("the server made it");
        let job = jobs.next().expect("one is kept").expect("as above").path();
        let replay = |job: &str| {
            let output = pelton(&home, ["cell", "--replay", job]).output();
            let output = output.expect("the program starts");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (
                output.status.code(),
                text(&output.stdout),
                text(&output.stderr),
            )
        };
        let (code, reported, errors) = replay(job.to_str().expect("homes have plain names"));
        assert_eq!(code, Some(1), "{reported}{errors}");
        assert!(reported.starts_with(&format!("program    v, backend {backend}\n")));
        assert!(reported.contains("exit code 3: no luck"), "{reported}");
        assert!(
            reported.ends_with("ends now   in the same way as the saved job\n"),
            "{reported}"
        );
        let (code, _, errors) = replay("pelton.toml");
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains("not a reproducer"), "{errors}");
    }
}

/// Checks promise P2 of the specification: a request that gets no cell in time is refused with
/// `Retry-After`.
#[test]
fn p2_a_full_program_answers_503_in_time() {
    for backend in backends() {
        let home = Home::new();
        let configuration = "cell.max_queue_time = \"50ms\"\nlimits.program_queue_max = 2\n"
            .to_owned()
            + &program("v", VISITOR, "concurrency = 1\nmax_request_time = \"2s\"\n");
        let server = serve(&home, backend, &configuration);
        let mut busy = server.connect();
        busy.request("GET", "/x/v?loop", "");
        eventually("it runs", || {
            (cells(&server)["programs"]["v"]["running"] == 1).then_some(())
        });
        let refused = server.get("/x/v?count");
        assert_eq!(
            (refused.status, refused.field("retry-after")),
            (503, Some("1")),
            "{backend}"
        );
        assert!(
            !busy.has_begun(),
            "it was refused before the other one ended"
        );
        let mut waiting: Vec<_> = (0..4).map(|_| server.connect()).collect();
        for client in &mut waiting {
            client.request("GET", "/x/v?count", "");
        }
        for mut client in waiting {
            assert_eq!(client.response().status, 503);
        }
        assert_eq!(busy.response().status, 504);
        assert_eq!(server.get("/x/v?count").text(), "1");
        assert_eq!(cells(&server)["programs"]["v"]["refused"], 5);
        server.stop();
    }
}

/// Checks promise P9 of the specification: the fallback responds if the program fails, and
/// `Server-Timing` gives the reason.
#[test]
fn p9_a_fallback_answers_for_a_failed_program() {
    for backend in backends() {
        let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
        let failing = |name: &str, on_error: &str| {
            let more =
                format!("main_arguments = [\"fail\"]\nwarmup = 0\non_error = \"{on_error}\"\n");
            program(name, VISITOR, &more)
        };
        let configuration = failing("a", "spare")
            + &failing("b", "/p.jpg?w=40&format=png")
            + &failing("c", "input")
            + &failing("d", "broken")
            + &format!("[programs.spare]\npath = \"{VISITOR}\"\nmain_arguments = [\"upper\"]\n")
            + &format!(
                "[programs.broken]\npath = \"{VISITOR}\"\nmain_arguments = [\"crash\"]\nwarmup = 0\n"
            );
        let server = serve(&home, backend, &configuration);
        let spare = post(&server, "/x/a", "text/plain", b"abc");
        assert_eq!((spare.status, spare.text()), (200, "ABC"), "{backend}");
        let timing = spare.field("server-timing").expect("the field is sent");
        assert!(
            timing.ends_with(", fallback;desc=\"a crashed\""),
            "{timing}"
        );
        let target = post(&server, "/x/b", "text/plain", b"abc");
        assert_eq!((target.status, target.size()), (200, (40, 27)));
        let timing = target.field("server-timing").expect("the field is sent");
        assert!(
            timing.ends_with(", fallback;desc=\"b crashed\""),
            "{timing}"
        );
        let input = post(&server, "/x/c", "text/plain", b"abc");
        assert_eq!(
            (input.status, input.content_type(), input.text()),
            (200, "text/plain", "abc")
        );
        assert_eq!(post(&server, "/x/d", "text/plain", b"abc").status, 502);
        let metrics = server.metrics();
        let fallbacks = |route: &str| {
            metrics.get(&format!(
                "pelton_program_fallbacks_total{{route=\"{route}\"}}"
            ))
        };
        assert_eq!(["a", "b", "c", "d"].map(fallbacks), [1, 1, 1, 0]);
        for active in [
            "text/html",
            "Image/SVG+XML; x=y",
            "application/xhtml+xml",
            "",
        ] {
            let input = post(&server, "/x/c", active, b"<script>");
            let sent = input.content_type();
            assert_eq!(sent, "application/octet-stream", "{active}");
        }
        server.stop();
    }
}

/// A program without knowledge of CGI may repeat the client's body, which must not be parsed as a
/// CGI head.
#[test]
fn a_head_in_the_requests_body_is_not_the_programs() {
    const HEAD: &[u8] = b"Content-Type: text/html\n\n<script>alert(1)</script>";
    for backend in backends() {
        let home = Home::new();
        let upper = "main_arguments = [\"upper\"]\nwarmup = 0\n";
        let configuration = program("v", VISITOR, upper) + &program("own", VISITOR, "");
        let server = serve(&home, backend, &configuration);
        for body in [
            HEAD,
            b"Location: https://evil.example/\n\n",
            b"Location: /p.jpg\n\n",
        ] {
            let response = post(&server, "/x/v", "text/plain", body);
            assert_eq!(
                (response.status, response.content_type()),
                (200, "application/octet-stream"),
                "{backend}"
            );
            assert_eq!(response.body, body.to_ascii_uppercase());
        }
        // This program writes its own head, followed by the client's body.
        let own = post(&server, "/x/own", "text/plain", HEAD);
        assert_eq!(own.content_type(), "text/plain", "{backend}");
        assert!(own.text().ends_with("<script>alert(1)</script>"));
        server.stop();
    }
}

/// A file that cannot be executed is reported in one line with the program and the reason, before
/// the server accepts connections.
#[test]
fn unfit_programs_are_refused_by_name() {
    let home = Home::new();
    let visitor = std::fs::read(VISITOR).expect("cargo built it");
    let cut = home.directory().join("cut");
    std::fs::write(&cut, &visitor[..visitor.len() / 2]).expect("the home can be written");
    let script = home.directory().join("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("the home can be written");
    for backend in backends() {
        for (path, reason) in [
            (
                cut.as_path(),
                "programs.v: truncated: a segment lies beyond the end of the file",
            ),
            (script.as_path(), "programs.v: not an ELF file"),
            (
                "/bin/true".as_ref(),
                "programs.v: not static: it requests the interpreter /lib64/ld-linux-x86-64.so.2",
            ),
            (
                "/nowhere".as_ref(),
                "programs.v: cannot read /nowhere: No such file or directory",
            ),
            (home.directory(), "Is a directory"),
        ] {
            refused(&home, backend, &program("v", path, ""), reason);
        }
        let crashes = program("v", VISITOR, "main_arguments = [\"crash\"]\n");
        refused(
            &home,
            backend,
            &crashes,
            "programs.v: warm-up failed: died by signal",
        );
        let loops = program(
            "v",
            VISITOR,
            "main_arguments = [\"loop\"]\nmax_request_time = \"200ms\"\n",
        );
        refused(&home, backend, &loops, "exceeded its ");
    }
}

#[test]
fn a_check_finds_programs_that_cannot_run() {
    let home = Home::new();
    super::configure(&home, &program("v", "/bin/true", ""));
    let output = pelton(&home, ["check"]).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr.contains("programs.v: not static"), "{stderr}");
}

pub(super) fn refused(home: &Home, backend: &str, configuration: &str, reason: &str) {
    super::configure(home, configuration);
    let mut command = pelton(
        home,
        [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--cell-backend",
            backend,
        ],
    );
    let output = command.arg(home.library()).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{backend}: {stderr}");
    let first = stderr.lines().find(|line| line.starts_with("pelton: "));
    assert!(
        first.is_some_and(|line| line.contains(reason)),
        "{reason}: {stderr}"
    );
}

/// Checks promise P3 of the specification: cache hits are served while programs loop in all of
/// their cells.
#[test]
fn p3_hits_go_on_beside_programs_that_loop() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let more = "concurrency = 2\nmax_request_time = \"500ms\"\n";
    let server = serve(&home, "process", &program("v", VISITOR, more));
    let mut looping: Vec<_> = (0..6).map(|_| server.connect()).collect();
    for client in &mut looping {
        client.request("GET", "/x/v?loop", "");
    }
    eventually("they run", || {
        (cells(&server)["programs"]["v"]["running"] == 2).then_some(())
    });
    let answered = hits_until(&server, || {
        looping.iter_mut().all(|client| client.has_begun())
    });
    assert!(200 < answered, "{answered} hits beside programs that loop");
    for mut client in looping {
        assert!([503, 504].contains(&client.response().status));
    }
    server.stop();
}

fn hits_until(server: &Server, mut over: impl FnMut() -> bool) -> u32 {
    let mut client = server.connect();
    let mut answered = 0;
    while !over() {
        client.request("GET", "/p.jpg", "");
        assert_eq!(client.response().status, 200);
        answered += 1;
        if answered % 5_000 == 0 {
            client = server.connect();
        }
    }
    answered
}
