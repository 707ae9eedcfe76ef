//! The policy for panics: a panic is a bug, and ends the process at once, whichever thread it happens on.
//!
//! Nothing is unwound. A thread that unwound would leave its waiters waiting, its locks poisoned and its slots taken,
//! while the process looked healthy. A process that ends is restarted by its supervisor, and a start takes 50 ms. The
//! files on disk are safe, because every one of them must survive `kill -9` anyway.
//!
//! `panic = "abort"` in the build profile would do the same, but not for the programs that the tests run: cargo builds
//! those for unwinding, and every C codec once more for it.

#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::process;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes of a message that are reported. With the lines around it that is less than `PIPE_BUF` (4 KiB), as many as a pipe
/// takes without blocking once it is ready (pipe(7)).
const MESSAGE_BYTES_MAX: usize = 2_048;

/// Makes every later panic of this process end it by SIGABRT, after a report on stderr.
pub(crate) fn abort_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        report(&describe(info));
        process::abort();
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let thread = thread.name().unwrap_or("without a name");
    let message = info.payload_as_str().unwrap_or("no message");
    let message = &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)];
    let place = info.location().map_or_else(String::new, |location| {
        format!("cause:  {}:{}\n", location.file(), location.line())
    });
    format!(
        "pelton: panic on thread {thread}: {message}\n{place}hint:   this is a bug in Pelton; please report these lines\n"
    )
}

/// Writes `text` to stderr, unless that would block: a full pipe must not keep the process from ending.
fn report(text: &str) {
    let stderr = io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    if poll(&mut ready, Some(&at_once)).is_ok_and(|ready| ready == 1) {
        // Without a reader the report is lost; the exit status still says SIGABRT.
        drop(stderr.lock().write_all(text.as_bytes()));
    }
}
