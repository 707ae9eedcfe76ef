//! Test that a panic on a thread of conversions ends the process. It is in this crate because only
//! the program links both the panic policy and the conversions.

use std::env;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::thread;

use conversion::single_flight::SingleFlight;

/// Environment variable that marks the second process, in which the conversion panics.
const SECOND: &str = "PELTON_TEST_PANICS";

const SIGABRT: i32 = 6;

/// Waits for a conversion whose thread panics. With the panic policy of the program, the process
/// ends first. Without it, the waiter would get an error, as the tests of
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
    report::line(format_args!("the waiter got {outcome:?}"));
    drop(converting.expect("a thread").join());
}

#[test]
fn a_panic_in_a_conversion_ends_the_process_before_a_waiter_goes_on() {
    if env::var_os(SECOND).is_some() {
        report::panics::abort_on_panic();
        wait_for_a_panicking_conversion();
        std::process::exit(0);
    }
    let output = Command::new(env::current_exe().expect("a path of the test"))
        .args([
            "--exact",
            "panics_of_conversions::a_panic_in_a_conversion_ends_the_process_before_a_waiter_goes_on",
            "--nocapture",
        ])
        .env(SECOND, "1")
        .stdout(Stdio::null())
        .output()
        .expect("the second process ran");
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let report = String::from_utf8(output.stderr).expect("text");
    let start = "pelton: panic on thread convert-0: an injected bug in a codec's plan\n";
    assert!(report.starts_with(start), "{report}");
    assert!(!report.contains("the waiter got"), "{report}");
}
