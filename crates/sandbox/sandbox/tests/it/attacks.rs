//! Attacks on a sandbox by the worker inside it, and the expected outcome of each attack.

use crate::{JOB_LIMITS, assert_works, pool, run, run_in, text};
use expect_test::{Expect, expect};
use sandbox::Pool;

/// Runs each of `attacks`, with an honest job after it, and compares the outcomes with `expected`.
fn check(pool: &Pool, attacks: &[&str], expected: Expect) {
    let mut ends = String::new();
    for attack in attacks {
        let end = match run(pool, attack) {
            Ok(answer) => format!("answers {answer}"),
            Err(failure) => failure.to_string(),
        };
        ends.push_str(&format!("{attack}: {end}\n"));
        assert_works(pool);
    }
    expected.assert_eq(&ends);
}

#[test]
fn p13_calls_that_no_codec_makes_kill_or_fail() {
    assert_calls_denied(&pool());
}

#[test]
fn p3_a_fork_bomb_forks_nothing() {
    check(
        &pool(),
        &["fork-bomb"],
        expect![[r#"
        fork-bomb: cell: unsupported: Resource temporarily unavailable (os error 11)
    "#]],
    );
}

/// Checks the outcome of the attacks that consist of system calls. Other tests call this function
/// as another user, or with fewer isolation mechanisms.
pub(crate) fn assert_calls_denied(pool: &Pool) {
    check(
        pool,
        CALLS,
        expect![[r#"
        open: cell: crashed: the kernel killed the cell for a denied system call
        openat2: cell: crashed: the kernel killed the cell for a denied system call
        stat: cell: unsupported: Function not implemented (os error 38)
        unlink: cell: crashed: the kernel killed the cell for a denied system call
        memfd: cell: crashed: the kernel killed the cell for a denied system call
        socket: cell: crashed: the kernel killed the cell for a denied system call
        connect: cell: crashed: the kernel killed the cell for a denied system call
        send-descriptor: cell: crashed: the kernel killed the cell for a denied system call
        send-by-another-number: cell: crashed: the kernel killed the cell for a denied system call
        send-to-zygote: cell: unsupported: Socket operation on non-socket (os error 88)
        ptrace: cell: crashed: the kernel killed the cell for a denied system call
        read-process: cell: crashed: the kernel killed the cell for a denied system call
        execve: cell: crashed: the kernel killed the cell for a denied system call
        execveat: cell: crashed: the kernel killed the cell for a denied system call
        io_uring: cell: crashed: the kernel killed the cell for a denied system call
        clone3: cell: unsupported: Function not implemented (os error 38)
        vfork: cell: crashed: the kernel killed the cell for a denied system call
        thread: cell: crashed: the kernel killed the cell for a denied system call
        unshare: cell: crashed: the kernel killed the cell for a denied system call
        kill-parent: cell: crashed: the kernel killed the cell for a denied system call
        abort-parent: cell: unsupported: Operation not permitted (os error 1)
        signal-by-pidfd: cell: crashed: the kernel killed the cell for a denied system call
        mount: cell: crashed: the kernel killed the cell for a denied system call
        bpf: cell: crashed: the kernel killed the cell for a denied system call
        perf: cell: crashed: the kernel killed the cell for a denied system call
        userfaultfd: cell: crashed: the kernel killed the cell for a denied system call
        keyring: cell: crashed: the kernel killed the cell for a denied system call
        shared-memory: cell: crashed: the kernel killed the cell for a denied system call
        message-queue: cell: crashed: the kernel killed the cell for a denied system call
        dumpable: cell: crashed: the kernel killed the cell for a denied system call
        personality: cell: crashed: the kernel killed the cell for a denied system call
        terminal: cell: unsupported: Operation not permitted (os error 1)
        fcntl: cell: crashed: the kernel killed the cell for a denied system call
        resize: cell: crashed: the kernel killed the cell for a denied system call
        sleep: cell: crashed: the kernel killed the cell for a denied system call
        poll: cell: crashed: the kernel killed the cell for a denied system call
        wait: cell: crashed: the kernel killed the cell for a denied system call
        writable-code: cell: crashed: the kernel killed the cell for a denied system call
        code: cell: crashed: the kernel killed the cell for a denied system call
        limits-of-another: cell: crashed: the kernel killed the cell for a denied system call
        x32: cell: crashed: the kernel killed the cell for a denied system call
        i386: cell: crashed: the kernel killed the cell for a denied system call
        unknown: cell: crashed: the kernel killed the cell for a denied system call
    "#]],
    );
}

const CALLS: &[&str] = &[
    "open",
    "openat2",
    "stat",
    "unlink",
    "memfd",
    "socket",
    "connect",
    "send-descriptor",
    "send-by-another-number",
    "send-to-zygote",
    "ptrace",
    "read-process",
    "execve",
    "execveat",
    "io_uring",
    "clone3",
    "vfork",
    "thread",
    "unshare",
    "kill-parent",
    "abort-parent",
    "signal-by-pidfd",
    "mount",
    "bpf",
    "perf",
    "userfaultfd",
    "keyring",
    "shared-memory",
    "message-queue",
    "dumpable",
    "personality",
    "terminal",
    "fcntl",
    "resize",
    "sleep",
    "poll",
    "wait",
    "writable-code",
    "code",
    "limits-of-another",
    "x32",
    "i386",
    "unknown",
];

#[test]
fn p7_a_worker_that_goes_on_writing_changes_no_byte_that_is_served() {
    let pool = pool();
    for _ in 0..50 {
        let finished = run_in(&pool, "late", JOB_LIMITS, 2_000).expect("it replies");
        let first = text(&finished);
        assert!(["honest", "LATER!"].contains(&first.as_str()), "{first}");
        for _ in 0..1_000 {
            assert_eq!(text(&finished), first);
        }
    }
    assert_works(&pool);
}

#[test]
fn lies_are_found() {
    let violations = [
        "wrong-id",
        "too-long",
        "empty",
        "garbage",
        "giant",
        "terminal-codes",
        "leave",
        "mapped",
        "beyond",
    ];
    check(
        &pool(),
        &violations,
        expect![[r#"
        wrong-id: cell: protocol violation: WrongJob
        too-long: cell: protocol violation: WrongLength
        empty: cell: protocol violation: WrongLength
        garbage: cell: protocol violation: the worker sent a malformed reply: Magic
        giant: cell: protocol violation: the worker sent a packet that is too long
        terminal-codes: cell: undecodable: ?[2J
        leave: cell: crashed: the cell exited without a reply, exit code 7
        mapped: cell: protocol violation: the worker still has the reply mapped for writing
        beyond: cell: too large: the output exceeded its size limit
    "#]],
    );
}

#[test]
fn a_child_holds_six_descriptors_and_no_secret_of_the_server() {
    check(
        &pool(),
        &["descriptors", "environment"],
        expect![[r#"
        descriptors: answers 0 1 2 3 4 5
        environment: answers [GLIBC_TUNABLES]
    "#]],
    );
}

#[test]
fn each_kind_of_death_is_reported_as_its_own() {
    let deaths = ["segv", "abort", "panic", "overflow 100000"];
    check(
        &pool(),
        &deaths,
        expect![[r#"
        segv: cell: crashed: died by signal 11
        abort: cell: crashed: died by signal 11
        panic: cell: crashed: panicked at crates/sandbox/sandbox/tests/attacker/strain.rs:54:19:?on purpose
        overflow 100000: cell: crashed: died by signal 11
    "#]],
    );
}
