//! Tests of a panic in the thread of the indexer. Each test starts itself again as a second
//! process, in which the panic occurs, and checks how that process ends.

#![forbid(unsafe_code)]

use std::env;
use std::fmt::Debug;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{self, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use scan::{LibraryIndexer, Limits, Setup, WatchMode, Watching};
use tags::Splits;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Environment variable that is set only in the second process. Its value is the folder of the
/// library.
const SECOND: &str = "PELTON_TEST_SCAN_PANICS";
/// Timeout for the second process. Even on a busy machine, a scan of two files takes much less
/// time.
const DEADLINE: Duration = Duration::from_secs(60);
const SIGABRT: i32 = 6;

/// Log subscriber that panics when a completed scan is logged. The panic occurs in the thread of
/// the indexer, before the new catalog is published.
struct Injector;

impl Subscriber for Injector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        assert!(message.0 != "scan completed", "an injected bug");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Starts an indexer whose first scan panics.
fn indexer(home: &str) -> LibraryIndexer {
    tracing::subscriber::set_global_default(Injector).expect("the only log of this process");
    let home = PathBuf::from(home);
    let setup = Setup {
        root: home.join("library"),
        folder: home.join("index"),
        hidden: home.join("index"),
        splits: Splits::default(),
        watching: Watching {
            means: WatchMode::Off,
            settle: Duration::ZERO,
            poll_interval: Duration::from_secs(3600),
            rescan: Duration::ZERO,
        },
        limits: Limits::default(),
    };
    LibraryIndexer::start(setup).expect("a folder of our own")
}

/// Runs `test` in a second process. Returns its exit status and its standard error.
fn second(test: &str) -> (ExitStatus, String) {
    let home = env::temp_dir().join(format!("pelton-scan-panics-{test}-{}", process::id()));
    fs::create_dir_all(home.join("library")).expect("a folder of our own");
    let track = include_bytes!("../../tags/testdata/sine.flac");
    fs::write(home.join("library/1.flac"), track).expect("a folder of our own");
    let mut child = Command::new(env::current_exe().expect("a path of the test"))
        .args(["--exact", test, "--nocapture"])
        .env(SECOND, &home)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the second process started");
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child of ours") {
            Some(status) => break status,
            None if DEADLINE < start.elapsed() => {
                child.kill().expect("a child of ours");
                panic!("{test} waits for ever");
            }
            None => thread::park_timeout(Duration::from_millis(5)),
        }
    };
    let mut text = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut text).expect("text");
    fs::remove_dir_all(home).expect("the test made it");
    (status, text)
}

/// A panic in the thread of the indexer runs the panic hook that the process has set. The hook
/// prints the name of the thread and aborts the process.
#[test]
fn a_panic_of_the_indexer_reaches_the_hook_of_the_program() {
    if let Some(home) = env::var_os(SECOND) {
        panic::set_hook(Box::new(|panic| {
            eprintln!("{} on {:?}", panic, thread::current().name());
            process::abort();
        }));
        let _indexer = indexer(home.to_str().expect("a path of text"));
        thread::sleep(DEADLINE);
        process::exit(0);
    }
    let (status, report) = second("a_panic_of_the_indexer_reaches_the_hook_of_the_program");
    assert_eq!(status.signal(), Some(SIGABRT), "{report}");
    assert!(report.contains("an injected bug"), "{report}");
    assert!(report.contains("Some(\"scan\")"), "{report}");
}

/// If the panic hook does not end the process, the thread that stops the indexer gets the panic and
/// does not wait for ever. The last catalog can still be read.
#[test]
fn no_thread_waits_for_an_indexer_that_panicked() {
    if let Some(home) = env::var_os(SECOND) {
        let home = home.to_str().expect("a path of text");
        let indexer = indexer(home);
        while fs::metadata(format!("{home}/index/index")).is_err() {
            thread::park_timeout(Duration::from_millis(2));
        }
        indexer.ask(Vec::new());
        let stopped = panic::catch_unwind(AssertUnwindSafe(|| indexer.stop()));
        assert!(stopped.is_err(), "the panic was swallowed");
        indexer.ask(Vec::new());
        indexer.cancel();
        assert_eq!(indexer.catalog().counts().tracks, 0);
        drop(indexer.status());
        drop(indexer);
        process::exit(0);
    }
    let (status, report) = second("no_thread_waits_for_an_indexer_that_panicked");
    assert_eq!(status.code(), Some(0), "{report}");
}
