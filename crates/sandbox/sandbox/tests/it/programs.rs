//! Tests of programs that were not written for cells, in both backends.

use crate::kvm::microvms;
use crate::{ATTACKER, JOB_LIMITS, poison};
use expect_test::expect;
use sandbox::{
    Backend, ErrorKind, Failure, FailureKind, Finished, Limits, Pool, Program, Service, Task,
};
use sandbox_protocol::JobLimits;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;

pub(crate) const PROGRAM_PATH: &str = env!("CARGO_BIN_EXE_program");

/// ELF file of the test program `tests/program`, which is statically linked.
static PROGRAM: LazyLock<Vec<u8>> =
    LazyLock::new(|| std::fs::read(PROGRAM_PATH).expect("it was built with this test"));

fn program(elf: &[u8]) -> Program {
    Program {
        name: "program".to_owned(),
        elf: elf.to_vec(),
        arguments: vec!["--first".to_owned()],
        environment: vec!["ALWAYS=here".to_owned()],
        allowed_paths: vec![allowed()],
    }
}

/// Creates a file that the program may read, and returns its path.
fn allowed() -> PathBuf {
    // The file's name contains the user id: if an earlier run was by another user, its file could
    // not be overwritten.
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("pelton-cell-allowed-{user}"));
    std::fs::write(&path, "allowed").expect("the folder for such files takes one");
    path
}

/// Starts one pool for each backend that works on this host.
pub(crate) fn pools(limits: Limits) -> Vec<Pool> {
    let backends: &[Backend] = if microvms(Limits::default()).is_some() {
        &[Backend::Process, Backend::Kvm]
    } else {
        &[Backend::Process]
    };
    let start = |backend: &Backend| {
        program_pool(Limits {
            backend: *backend,
            ..limits
        })
    };
    backends.iter().map(start).collect()
}

pub(crate) fn program_pool(limits: Limits) -> Pool {
    Pool::start_program(&ATTACKER, &program(&PROGRAM), limits).expect("it starts")
}

pub(crate) fn run(pool: &Pool, environment: &[&str], input: &[u8]) -> Result<String, Failure> {
    run_in(pool, environment, input, JOB_LIMITS, 10_000).map(|finished| text(&finished))
}

pub(crate) fn run_in(
    pool: &Pool,
    environment: &[&str],
    input: &[u8],
    limits: JobLimits,
    wall_ms_max: u32,
) -> Result<Finished, Failure> {
    let head = head(environment);
    let file = file(&head, input);
    pool.run(task(&file, &head_bytes(&head), limits, wall_ms_max))
}

/// Runs the program with `service`, and with the limits `limits` and `wall_ms_max`.
pub(crate) fn run_served(
    pool: &Pool,
    environment: &[&str],
    input: &[u8],
    (limits, wall_ms_max): (JobLimits, u32),
    service: &mut dyn Service,
) -> Result<String, Failure> {
    let head = head(environment);
    let file = file(&head, input);
    let finished = pool.run_with(
        task(&file, &head_bytes(&head), limits, wall_ms_max),
        Some(service),
    );
    finished.map(|finished| text(&finished))
}

fn head(environment: &[&str]) -> String {
    environment.iter().map(|word| format!("{word}\0")).collect()
}

fn head_bytes(head: &str) -> [u8; 4] {
    (head.len() as u32).to_le_bytes()
}

fn file(head: &str, input: &[u8]) -> File {
    let memory = rustix::fs::memfd_create("input", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.expect("memory for a few bytes"));
    file.write_all(head.as_bytes()).expect("as above");
    file.write_all(input).expect("as above");
    file
}

fn task<'a>(file: &'a File, plan: &'a [u8], limits: JobLimits, wall_ms_max: u32) -> Task<'a> {
    Task {
        original: file.as_fd(),
        plan,
        size_px: None,
        limits,
        wall_ms_max,
        idle: false,
    }
}

pub(crate) fn text(finished: &Finished) -> String {
    let mut bytes = vec![0; finished.output_bytes as usize];
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
fn a_failed_program_is_reported_in_one_line() {
    let limits = Limits {
        max_request_time_ms: 10_000,
        ..Limits::default()
    };
    for pool in pools(limits) {
        let mut report = String::new();
        for what in [
            "fail", "abort", "long", "loop", "open", "write", "fork", "socket",
        ] {
            let limits = JobLimits {
                output_bytes_max: 1_000,
                cpu_ms_max: 100,
                ..JOB_LIMITS
            };
            let environment = [
                format!("DO={what}"),
                format!("FILE={}", allowed().display()),
            ];
            let environment = environment.each_ref().map(String::as_str);
            let end = match run_in(&pool, &environment, b"", limits, 10_000) {
                Ok(finished) => format!("answers {}", text(&finished).trim()),
                Err(failure) => failure.to_string(),
            };
            // The duration in the message varies, so it is removed.
            let end = end.split(" after ").next().expect("split yields one");
            report.push_str(&format!("{what}: {end}\n"));
        }
        let expected = match pool.posture().backend {
            Backend::Kvm => expect![[r#"
                fail: cell: crashed: exit code 3: no luck
                abort: cell: crashed: died by signal 6
                long: cell: too large: the output exceeded its size limit
                loop: cell: timed out: the job exceeded its CPU time
                open: answers Err(NotFound) Ok("allowed")
                write: answers Err(PermissionDenied)
                fork: answers false
                socket: answers true
            "#]],
            _ => expect![[r#"
                fail: cell: crashed: exit code 3: no luck
                abort: cell: crashed: died by signal 11
                long: cell: too large: the output exceeded its size limit
                loop: cell: timed out: the job exceeded its CPU time
                open: answers Err(PermissionDenied) Ok("allowed")
                write: answers Err(PermissionDenied)
                fork: answers false
                socket: answers true
            "#]],
        };
        expected.assert_eq(&report);
    }
}

/// Promise P13 of `docs/SPEC.md` for programs: a program cannot access descriptors and files that
/// it was not given, and cannot change its code.
#[test]
fn what_a_program_was_not_given_it_cannot_take() {
    let file = format!("FILE={}", allowed().display());
    for pool in pools(Limits::default()) {
        let answer = run(&pool, &["DO=escape", &file], b"body").expect("it answers");
        let expected = match pool.posture().backend {
            Backend::Kvm => expect![[r#"
                read what is allowed: yes
                path alone: No such file or directory (os error 2)
                missing path alone: No such file or directory (os error 2)
                cut: yes
                write: Permission denied (os error 13)
                make: No such file or directory (os error 2)
                outlive the launcher: Invalid argument (os error 22)
                move a descriptor: Function not implemented (os error 38)
                send a descriptor: Function not implemented (os error 38)
                become another program: Function not implemented (os error 38)
                overwrite code: Bad address (os error 14)
                code: 7
            "#]],
            _ => expect![[r#"
                read what is allowed: yes
                path alone: Permission denied (os error 13)
                missing path alone: Permission denied (os error 13)
                cut: Permission denied (os error 13)
                write: Permission denied (os error 13)
                make: Permission denied (os error 13)
                outlive the launcher: Function not implemented (os error 38)
                move a descriptor: Function not implemented (os error 38)
                send a descriptor: Function not implemented (os error 38)
                become another program: Function not implemented (os error 38)
                overwrite code: Bad address (os error 14)
                code: 7
            "#]],
        };
        expected.assert_eq(&answer);
        let kept = std::fs::read_to_string(allowed());
        assert_eq!(kept.expect("it is there"), "allowed");
    }
}

/// End of a program that exceeded its time: it ends soon after its request failed, even if it tries
/// to prevent that.
#[test]
fn no_program_outlives_its_time() {
    // Argument that distinguishes this program's process from the processes of other tests that run
    // at the same time.
    const MARK: &str = "--no-program-outlives-its-time";
    let marked = Program {
        arguments: vec![MARK.to_owned()],
        ..program(&PROGRAM)
    };
    let pool = Pool::start_program(&ATTACKER, &marked, Limits::default()).expect("it starts");
    let is_marked = |pid: &u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
        words.is_ok_and(|words| words.contains(MARK))
    };
    let failure = run_in(&pool, &["DO=outlive"], b"", JOB_LIMITS, 500).expect_err("it loops");
    assert_eq!(failure.kind, FailureKind::TimedOut);
    crate::life::until(|| {
        let descendants = crate::life::descendants(std::process::id());
        !descendants.iter().any(is_marked)
    });
    assert_eq!(run(&pool, &["DO=nothing"], b"").as_deref(), Ok(""));
}

/// Progress of all threads of a program: a thread gives up the CPU when it makes a system call that
/// waits, and when its time slice is over.
#[test]
fn threads_of_a_program_take_turns() {
    for pool in pools(Limits::default()) {
        let backend = pool.posture().backend;
        for _ in 0..3 {
            let answer = run(&pool, &["DO=threads"], b"");
            assert_eq!(answer.as_deref(), Ok("800 true true 7 true\n"), "{backend}");
        }
        assert_eq!(pool.stats().refused_calls, 0, "{backend}");
        eprintln!("cell: proved: {backend}: threads of a program");
    }
}

/// Limit on the number of threads, and end of a program whose threads all wait for one another.
#[test]
fn threads_in_a_microvm_are_bounded() {
    let Some(pool) = microvms_pool() else {
        return;
    };
    assert_eq!(run(&pool, &["DO=threads-many"], b"").as_deref(), Ok("63\n"));
    let failed = run(&pool, &["DO=threads-wait"], b"").expect_err("nobody wakes it");
    assert_eq!(
        failed.to_string(),
        "cell: crashed: died of a deadlock: every thread waits for another thread"
    );
    for what in ["threads-loop", "sleep"] {
        let ask = format!("DO={what}");
        let ended = run_in(&pool, &[&ask], b"", JOB_LIMITS, 200).expect_err("it never ends");
        assert_eq!(ended.kind, FailureKind::TimedOut, "{what}");
    }
    // The next job is not affected by the threads of the previous one.
    assert_eq!(run(&pool, &["DO=nothing"], b"").as_deref(), Ok(""));
    assert_eq!(
        run(&pool, &["DO=threads"], b"").as_deref(),
        Ok("800 true true 7 true\n")
    );
}

/// Promise N11 of `docs/SPEC.md`: system calls with any arguments harm only the guest that makes
/// them. This test makes calls for threads, sleep and events, most of which only programs may make.
/// `cargo xtask conform cells` makes more such calls.
#[test]
fn n11_calls_of_programs_with_any_arguments_harm_no_other_job() {
    let Some(pool) = microvms_pool() else {
        return;
    };
    for seed in 1..=poison::rounds(40) {
        let seed = format!("SEED={}", u64::from(seed) * 0x9e37_79b9);
        // The job may end in any way, for example by its wall time limit if it sleeps.
        let _end = run_in(&pool, &["DO=calls", &seed], b"", JOB_LIMITS, 50);
    }
    let answer = run(&pool, &["DO=threads"], b"");
    assert_eq!(answer.as_deref(), Ok("800 true true 7 true\n"));
    let stats = pool.stats();
    assert_eq!((stats.zygote_deaths, stats.violations), (0, 0));
    assert_eq!(
        stats.kills_filter, 0,
        "a guest led its helper to a denied call"
    );
}

fn microvms_pool() -> Option<Pool> {
    pools(Limits {
        max_request_time_ms: 10_000,
        ..Limits::default()
    })
    .into_iter()
    .find(|pool| pool.posture().backend == Backend::Kvm)
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
    let mut violations = PROGRAM.clone();
    violations[56] = 200;
    let cut = &PROGRAM[..PROGRAM.len() / 2];
    let lines = [b"#!/bin/sh", &dynamic[..], &other[..], &violations[..], cut].map(refused);
    let expected = expect![[r#"
        cell: program: not an ELF file
        cell: program: not static: it requests the interpreter /lib64/ld-linux-x86-64.so.2
        cell: program: not for x86-64
        cell: program: malformed: invalid program headers
        cell: program: truncated: a segment lies beyond the end of the file
    "#]];
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

fn kept() -> Limits {
    Limits {
        concurrency: 1,
        spare: 0,
        ephemeral: false,
        max_request_time_ms: 10_000,
        ..Limits::default()
    }
}

/// Promise P1 of `docs/SPEC.md`: if the operator makes a program persistent, the program keeps its
/// state between requests.
#[test]
fn p1_a_program_that_is_kept_counts_its_requests() {
    for pool in pools(kept()) {
        let backend = pool.posture().backend;
        assert!(!pool.posture().ephemeral);
        for count in 1..=20 {
            let answer = run(&pool, &["DO=count"], b"");
            assert_eq!(answer, Ok(count.to_string()), "{backend}");
        }
        assert_eq!(run(&pool, &["DO=nothing"], b"").as_deref(), Ok(""));
        assert_eq!(run(&pool, &["DO=echo"], b"body").as_deref(), Ok("body"));
        assert_eq!(run(&pool, &["DO=slowly"], b"body").as_deref(), Ok("body"));
        // Request and answer are longer than a pipe's buffer.
        let long = "0123456789abcdef".repeat(20_000);
        let answer = run(&pool, &["DO=echo"], long.as_bytes());
        assert!(answer.as_deref() == Ok(&long), "{backend}");
        let finished = run_in(&pool, &["DO=words"], b"", JOB_LIMITS, 10_000).expect("it answers");
        assert_eq!(finished.remark, "number 25", "{backend}");
        crate::life::until(|| pool.stats().ready == 1);
        let stats = pool.stats();
        assert_eq!((stats.runs, stats.finished, stats.wipes), (25, 25, 0));
        // The program had a whole request of 320 KB in memory, so its peak memory is larger.
        assert!(320_000 < stats.memory_peak_bytes, "{backend}: {stats:?}");
        eprintln!("cell: proved: {backend}: a program that is kept has its state");
    }
}

/// Failure of a persistent program: the program is ended, and the failure is reported. The next
/// request starts the program again, with its state lost.
#[test]
fn a_program_that_is_kept_and_fails_begins_anew() {
    let limits = JobLimits {
        output_bytes_max: 1_000,
        cpu_ms_max: 100,
        ..JOB_LIMITS
    };
    for pool in pools(kept()) {
        let mut report = String::new();
        for what in ["fail", "leave", "loop", "long", "more", "hasty"] {
            for _ in 0..2 {
                run(&pool, &["DO=count"], b"").expect("it counts");
            }
            let ask = [format!("DO={what}")];
            let body = vec![0; 100_000];
            let end = match run_in(
                &pool,
                &ask.each_ref().map(String::as_str),
                &body,
                limits,
                10_000,
            ) {
                Ok(finished) => format!("answers {}", text(&finished)),
                Err(failure) => failure.to_string(),
            };
            let end = end.split(" after ").next().expect("split yields one");
            let next = run(&pool, &["DO=count"], b"").expect("another counts");
            report.push_str(&format!("{what}: {end}; then {next}\n"));
        }
        expect![[r#"
            fail: cell: crashed: exit code 3: no luck; then 1
            leave: cell: crashed: exit code 0; then 1
            loop: cell: timed out: the job exceeded its CPU time; then 1
            long: cell: too large: the output exceeded its size limit; then 1
            more: cell: crashed: the program wrote more bytes than the length that it announced; then 1
            hasty: cell: crashed: the program replied before it had read the whole request; then 1
        "#]]
        .assert_eq(&report);
    }
}

/// Failure to start a persistent program that never reads its input. In a microVM, a program must
/// wait for its first request within `max_boot_time`.
#[test]
fn a_program_that_never_waits_does_not_start() {
    if microvms(Limits::default()).is_none() {
        return;
    }
    let limits = Limits {
        backend: Backend::Kvm,
        max_boot_time_ms: 400,
        ..kept()
    };
    let stalls = Program {
        arguments: vec!["--stall".to_owned()],
        ..program(&PROGRAM)
    };
    let error = Pool::start_program(&ATTACKER, &stalls, limits).expect_err("it never waits");
    assert_eq!(error.kind, ErrorKind::Worker);
    let reason = "not ready within max_boot_time, 400 ms";
    assert!(error.to_string().contains(reason), "{error}");
}
