//! Each test runs itself in a second process, because a panic ends the process.

use std::env;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};
use std::thread;

use rustix::pipe::{PipeFlags, pipe_with};

use super::{MESSAGE_BYTES_MAX, abort_on_panic};
use crate::log;

/// Environment variable that marks the second process, in which the test panics.
const SECOND: &str = "PELTON_TEST_PANICS";

const SIGABRT: i32 = 6;

/// Runs `test` in a second process with this `stderr`. In the second process, the test panics on a
/// thread that another thread joins.
fn panicking(test: &str, stderr: Stdio) -> Output {
    if env::var_os(SECOND).is_some() {
        abort_on_panic();
        let panicking = thread::Builder::new().name("conversion-1".to_owned());
        let panicking = panicking.spawn(|| panic!("{}", "an injected bug ".repeat(500)));
        // Without the hook, the join returns and the process exits with success.
        drop(panicking.expect("a thread").join());
        std::process::exit(0);
    }
    Command::new(env::current_exe().expect("a path of the test"))
        .args(["--exact", test, "--nocapture"])
        .env(SECOND, "1")
        .stdout(Stdio::null())
        .stderr(stderr)
        .output()
        .expect("the second process ran")
}

#[test]
fn a_panic_on_any_thread_is_reported_and_ends_the_process() {
    let output = panicking(
        "panics::tests::a_panic_on_any_thread_is_reported_and_ends_the_process",
        Stdio::piped(),
    );
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let report = String::from_utf8(output.stderr).expect("text");
    let mut lines = report.lines();
    let message = lines.next().expect("a line with the message");
    let start = "pelton: panic on thread conversion-1: ";
    assert!(message.starts_with(&format!("{start}an injected bug")));
    assert_eq!(message.len(), start.len() + MESSAGE_BYTES_MAX);
    let place = lines.next().expect("a line with the place");
    assert!(place.starts_with("cause:  crates/app/report/src/panics/tests.rs:"));
    assert!(
        lines
            .next()
            .is_some_and(|hint| hint.starts_with("hint:   this is a bug"))
    );
}

#[test]
fn a_full_pipe_does_not_keep_the_process_from_ending() {
    let (_reader, writer) = pipe_with(PipeFlags::NONBLOCK).expect("a pipe");
    while rustix::io::write(&writer, &[b'x'; 512]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).expect("a pipe that blocks");
    let output = panicking(
        "panics::tests::a_full_pipe_does_not_keep_the_process_from_ending",
        Stdio::from(writer),
    );
    assert_eq!(output.status.signal(), Some(SIGABRT));
}

#[test]
fn lines_that_wait_in_the_log_are_written_before_the_process_ends() {
    const LINES: usize = 5_000;
    if env::var_os(SECOND).is_some() {
        abort_on_panic();
        log::start(tracing::Level::INFO);
        log::begin().expect("a thread");
        for line in 0..LINES {
            log::say(&format_args!("line {line} that waits in the log"));
        }
        panic!("an injected bug");
    }
    let output = panicking(
        "panics::tests::lines_that_wait_in_the_log_are_written_before_the_process_ends",
        Stdio::piped(),
    );
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let text = String::from_utf8(output.stderr).expect("text");
    let written = text
        .lines()
        .filter(|line| line.ends_with(" that waits in the log"));
    assert_eq!(written.count(), LINES);
    assert!(text.contains("an injected bug"), "{text}");
}

/// Checks in the source that `main` installs the hook before it runs other code. The test reads the
/// source because no input makes the program panic.
#[test]
fn the_program_begins_with_the_policy() {
    let main = include_str!("../../../pelton/src/main.rs");
    let body = main.split_once("\nfn main() -> ExitCode {\n");
    let (_, body) = body.expect("the program begins there");
    assert!(body.trim_start().starts_with("panics::abort_on_panic();"));
}
