//! Programs that know nothing of cells, in both backends.

use crate::kvm::microvms;
use crate::{ATTACKER, JOB_LIMITS};
use cell::{Backend, ErrorKind, Failure, Finished, Limits, Pool, Program, Task};
use expect_test::expect;
use job::JobLimits;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;

/// `tests/program`, a static program of this crate.
static PROGRAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    std::fs::read(env!("CARGO_BIN_EXE_program")).expect("it was built with this test")
});

fn program(elf: &[u8]) -> Program {
    Program {
        name: "program".to_owned(),
        elf: elf.to_vec(),
        arguments: vec!["--first".to_owned()],
        environment: vec!["ALWAYS=here".to_owned()],
        allowed_paths: vec![allowed()],
    }
}

/// A file that it may read.
fn allowed() -> PathBuf {
    // Another user's could not be written.
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("pelton-cell-allowed-{user}"));
    std::fs::write(&path, "allowed").expect("the folder for such files takes one");
    path
}

/// A pool of each backend that this host has.
fn pools(limits: Limits) -> Vec<Pool> {
    let backends: &[Backend] = if microvms(Limits::default()).is_some() {
        &[Backend::Process, Backend::Kvm]
    } else {
        &[Backend::Process]
    };
    let start = |backend: &Backend| {
        let limits = Limits {
            backend: *backend,
            ..limits
        };
        Pool::start_program(&ATTACKER, &program(&PROGRAM), limits).expect("it starts")
    };
    backends.iter().map(start).collect()
}

fn run(pool: &Pool, environment: &[&str], input: &[u8]) -> Result<String, Failure> {
    run_in(pool, environment, input, JOB_LIMITS).map(|finished| text(&finished))
}

fn run_in(
    pool: &Pool,
    environment: &[&str],
    input: &[u8],
    limits: JobLimits,
) -> Result<Finished, Failure> {
    let memory = rustix::fs::memfd_create("input", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.expect("memory for a few bytes"));
    let head: String = environment.iter().map(|word| format!("{word}\0")).collect();
    file.write_all(head.as_bytes()).expect("as above");
    file.write_all(input).expect("as above");
    pool.run(Task {
        original: file.as_fd(),
        plan: &(head.len() as u32).to_le_bytes(),
        size_px: None,
        limits,
        wall_ms_max: 4_000,
        idle: false,
    })
}

fn text(finished: &Finished) -> String {
    let mut bytes = vec![0; finished.answer_bytes as usize];
    let read = finished.body.read_exact_at(&mut bytes, 0);
    read.expect("the body is as long as it says");
    String::from_utf8(bytes).expect("the program answers in text")
}

#[test]
fn a_program_gets_its_job_as_streams_and_environment() {
    for pool in pools(Limits::default()) {
        for _ in 0..3 {
            let answer = run(&pool, &["DO=tell", "REQUEST_METHOD=GET"], b"body");
            let expected = expect![[r#"
                arguments: program --first
                environment: ALWAYS=here DO=tell REQUEST_METHOD=GET
                input: body
            "#]];
            expected.assert_eq(&answer.expect("it answers"));
        }
        let empty = run(&pool, &["DO=nothing"], b"");
        assert_eq!(empty.as_deref(), Ok(""), "{}", pool.posture().backend);
    }
}

#[test]
fn a_program_that_fails_is_told_in_one_line() {
    let limits = Limits {
        max_request_time_ms: 1_000,
        ..Limits::default()
    };
    for pool in pools(limits) {
        let mut told = String::new();
        for what in [
            "fail", "abort", "long", "loop", "open", "write", "fork", "socket",
        ] {
            let limits = JobLimits {
                answer_bytes_max: 1_000,
                cpu_ms_max: 100,
                ..JOB_LIMITS
            };
            let environment = [
                format!("DO={what}"),
                format!("FILE={}", allowed().display()),
            ];
            let environment = environment.each_ref().map(String::as_str);
            let end = match run_in(&pool, &environment, b"", limits) {
                Ok(finished) => format!("answers {}", text(&finished).trim()),
                Err(failure) => failure.to_string(),
            };
            // How long it took is not to be foretold.
            let end = end.split(" after ").next().expect("split yields one");
            told.push_str(&format!("{what}: {end}\n"));
        }
        let expected = match pool.posture().backend {
            Backend::Kvm => expect![[r#"
                fail: cell: crashed: exit code 3: no luck
                abort: cell: crashed: died by signal 6
                long: cell: too large: wrote beyond its answer
                loop: cell: timed out: CPU time is up
                open: answers Err(NotFound) Ok("allowed")
                write: answers Err(PermissionDenied)
                fork: answers false
                socket: answers true
            "#]],
            _ => expect![[r#"
                fail: cell: crashed: exit code 3: no luck
                abort: cell: crashed: died by signal 11
                long: cell: too large: wrote beyond its answer
                loop: cell: timed out: CPU time is up
                open: answers Err(PermissionDenied) Ok("allowed")
                write: answers Err(PermissionDenied)
                fork: answers false
                socket: answers true
            "#]],
        };
        expected.assert_eq(&told);
    }
}

#[test]
fn a_file_that_is_no_fitting_program_is_refused_by_name() {
    let refused = |elf: &[u8]| {
        let Err(error) = Pool::start_program(&ATTACKER, &program(elf), Limits::default()) else {
            panic!("started");
        };
        assert_eq!(error.kind, ErrorKind::Worker);
        error.to_string()
    };
    let dynamic = std::fs::read("/bin/true").expect("every host has it");
    let mut other = PROGRAM.clone();
    other[18] = 183;
    let mut lies = PROGRAM.clone();
    lies[56] = 200;
    let cut = &PROGRAM[..PROGRAM.len() / 2];
    let lines = [b"#!/bin/sh", &dynamic[..], &other[..], &lies[..], cut].map(refused);
    let expected = expect![[r#"
        cell: program: not an ELF file
        cell: program: not static: it asks for the interpreter /lib64/ld-linux-x86-64.so.2
        cell: program: not for x86-64
        cell: program: malformed: its program headers cannot be right
        cell: program: truncated: a segment lies beyond the end of the file
    "#]];
    expected.assert_eq(&(lines.join("\n") + "\n"));
}
