//! Policy for panics: a panic is a bug. A panic on any thread ends the process at once.
//!
//! Nothing is unwound. An unwound thread would leave its waiters waiting, its locks poisoned and
//! its slots taken, while the process looked healthy. A process that ends is restarted by its
//! service manager, and a start takes 50 ms. Files on disk stay intact, because each of them must
//! survive `kill -9` anyway.
//!
//! The setting `panic = "abort"` of the build profile is not used. Cargo ignores it for tests and
//! for the programs that tests run, and always builds them for unwinding. Cargo would therefore
//! build every C codec twice, once for unwinding and once for aborting.

#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::process;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::log;

/// Maximum size of the panic's message in the report, in bytes. The whole report is then smaller
/// than `PIPE_BUF` (4 KiB). A pipe that is ready accepts that size without blocking (pipe(7)).
const MESSAGE_BYTES_MAX: usize = 2_048;

/// Maximum time for which a panicking thread waits for the log's thread to write the waiting lines.
const LOG_WAIT_MAX: Duration = Duration::from_millis(200);
/// Maximum time for which a panicking thread waits for stderr to accept the report. Lines of the
/// log may have filled the pipe, and its reader may be slow.
const REPORT_WAIT_MAX: Duration = Duration::from_secs(1);

/// Makes every later panic of this process write a report to stderr and end the process by SIGABRT.
/// Lines that wait in the log are written first, unless the log's output is blocked. Otherwise the
/// report could be written into the middle of a line.
pub fn abort_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        let text = describe(info);
        log::finish_within(LOG_WAIT_MAX);
        report(&text);
        process::abort();
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let thread = thread.name().unwrap_or("<unnamed>");
    let message = info.payload_as_str().unwrap_or("no message");
    let message = &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)];
    let place = info.location().map_or_else(String::new, |location| {
        format!("cause:  {}:{}\n", location.file(), location.line())
    });
    format!(
        "pelton: panic on thread {thread}: {message}\n{place}hint:   this is a bug in Pelton; please report these lines\n"
    )
}

/// Writes `text` to stderr. If stderr does not accept the text within [`REPORT_WAIT_MAX`], drops
/// the text: a full pipe must not keep the process from ending.
fn report(text: &str) {
    let stderr = io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let wait = Timespec::try_from(REPORT_WAIT_MAX).expect("a short time");
    if poll(&mut ready, Some(&wait)).is_ok_and(|ready| ready == 1) {
        // Without a reader the report is lost; the exit status still says SIGABRT.
        drop(stderr.lock().write_all(text.as_bytes()));
    }
}
