//! Turns and sleep of guests that have several threads: a timer of this process interrupts the guest when a slice is over.

use rustix::event::{PollFd, PollFlags, poll};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::time::Duration;

/// How long a thread runs while others could.
const SLICE: Duration = Duration::from_millis(10);

/// Longest sleep at a time: a guest may ask for centuries.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// From here on a guest that runs is left once a slice.
pub(super) fn begin() {
    hear();
    set(SLICE);
}

/// From here on it is not.
pub(super) fn end() {
    set(Duration::ZERO);
}

/// Sleeps so long, or until a signal, and no longer than a second; ends this process when its server is gone.
pub(super) fn sleep(time: Duration, server: Option<BorrowedFd<'_>>) {
    let time = crate::slot::timespec(time.min(SLEEP_MAX));
    let mut watched: Vec<PollFd<'_>> = server
        .iter()
        .map(|server| PollFd::from_borrowed_fd(*server, PollFlags::empty()))
        .collect();
    // A signal is the end of a slice, which nobody has now.
    let hung_up = poll(&mut watched, Some(&time));
    if hung_up.is_ok_and(|ready| 0 < ready) {
        crate::inside::abandon();
    }
}

/// The timer's signal interrupts what this process is in, and does nothing else.
fn hear() {
    extern "C" fn nothing(_: i32) {}
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a structure of integers and a null pointer, for which zero is a value: no flags, so that calls are
    // interrupted and not begun again, and an empty mask.
    let action = unsafe { action.assume_init_mut() };
    let handler: extern "C" fn(i32) = nothing;
    action.sa_sigaction = handler as usize;
    // SAFETY: reads a structure of this frame; the handler touches nothing. What was there before is not asked for.
    let heard = unsafe { libc::sigaction(libc::SIGALRM, action, ptr::null_mut()) };
    assert_eq!(heard, 0, "SIGALRM can be handled");
}

fn set(slice: Duration) {
    let time = libc::timeval {
        tv_sec: 0,
        tv_usec: slice.as_micros() as i64,
    };
    let timer = libc::itimerval {
        it_interval: time,
        it_value: time,
    };
    let call = libc::SYS_setitimer;
    // SAFETY: reads a structure of this frame; the timer before is not asked for.
    let set = unsafe { libc::syscall(call, libc::ITIMER_REAL, &raw const timer, 0) };
    assert_eq!(set, 0, "a timer of milliseconds");
}
