//! Panics on the threads of a server end its process. Each test runs itself in a second process,
//! which installs the panic policy of the program and panics.

use std::env;
use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::thread;

use conversion::single_flight::SingleFlight;
use reactor::{Conn, Limits, Stop};

/// Environment variable that marks the second process.
const SECOND: &str = "PELTON_TEST_PANICS";

const SIGABRT: i32 = 6;

/// Runs the test named `test` in a second process, where it calls `panics`. Checks that this
/// process ended by SIGABRT, that its report begins with `report`, and that nothing ran after the
/// panic.
fn check(test: &str, panics: fn(), report: &str) {
    if env::var_os(SECOND).is_some() {
        report::panics::abort_on_panic();
        panics();
        report::line("the process went on");
        std::process::exit(0);
    }
    let output = Command::new(env::current_exe().expect("a path of the test"))
        .args(["--exact", &format!("panics::{test}"), "--nocapture"])
        .env(SECOND, "1")
        .stdout(Stdio::null())
        .output()
        .expect("the second process ran");
    let written = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.signal(), Some(SIGABRT), "{written}");
    assert!(written.starts_with(report), "{written}");
    assert!(!written.contains("went on"), "{written}");
}

/// Waits for the result of a conversion whose thread panics. The panic must end the whole process.
/// If only the thread ended, the waiter would get an error, as the tests of
/// `conversion::single_flight` show.
fn wait_for_a_panicking_conversion() {
    let flights = SingleFlight::<&str, u32>::new(2);
    let (leader, mut waiter) = flights.lead("key");
    let converting = thread::Builder::new().name("convert-0".to_owned());
    let converting = converting.spawn(move || {
        leader.start();
        panic!("an injected bug in a codec's plan");
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let outcome = runtime.expect("a runtime").block_on(waiter.wait());
    report::line(format_args!("the waiter went on with {outcome:?}"));
    drop(converting.expect("a thread").join());
}

/// Serves on two cores. The handler of the first connection panics. The panic must end the whole
/// process. If only one core ended, the other core would still finish its open requests.
fn serve_with_a_panicking_core() {
    let limits = Limits::default();
    let usable = reactor::usable_cores(&limits).expect("the kernel lists the processors");
    let cores: Vec<_> = usable.into_iter().cycle().take(2).collect();
    let loopback = "127.0.0.1:0".parse().expect("an address");
    let listeners = reactor::bind(&[loopback], &cores, &limits).expect("a free port");
    let address = listeners.addresses()[0];
    thread::spawn(move || {
        let mut client = TcpStream::connect(address).expect("the reactor listens");
        let read = client.read(&mut [0]);
        report::line(format_args!("the client went on with {read:?}"));
    });
    let start = |_: &_| {
        |open: Conn| async move {
            let _open = open; // open until the panic, so that the client waits
            panic!("an injected bug in a handler")
        }
    };
    let drained = reactor::run(listeners, &limits, b"", &Stop::new(), start);
    report::line(format_args!("the server went on with {drained:?}"));
}

#[test]
fn a_panic_in_a_conversion_ends_the_process_before_a_waiter_goes_on() {
    check(
        "a_panic_in_a_conversion_ends_the_process_before_a_waiter_goes_on",
        wait_for_a_panicking_conversion,
        "pelton: panic on thread convert-0: an injected bug in a codec's plan\n",
    );
}

#[test]
fn a_panic_on_a_core_ends_the_process_before_the_other_core_drains() {
    check(
        "a_panic_on_a_core_ends_the_process_before_the_other_core_drains",
        serve_with_a_panicking_core,
        "pelton: panic on thread core-",
    );
}
