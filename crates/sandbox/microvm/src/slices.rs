//! Time slices of guests with several threads, and the waiting of guests in which no thread can
//! run. A timer of this process interrupts the guest when a slice is over.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::time::Duration;

/// Time slice of a thread. At its end, another thread that can run gets the CPU.
const SLICE: Duration = Duration::from_millis(10);

/// Maximum time of one call of [`sleep`]. A longer wait consists of several calls.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Connection of a machine to the server process, which sends the machine its jobs.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// Socket that hangs up when the server no longer wants an answer.
    pub socket: BorrowedFd<'static>,
    /// Function that ends this process; called when the socket has hung up.
    pub abandon: fn() -> !,
}

/// Starts the timer that interrupts a running guest once per slice.
pub(super) fn begin() {
    install_handler();
    set(SLICE);
}

/// Stops the timer that [`begin`] started.
pub(super) fn end() {
    set(Duration::ZERO);
}

/// Waits for `time`, but at most [`SLEEP_MAX`], or until a signal arrives. Ends this process if the
/// server is gone.
pub(super) fn sleep(time: Duration, server: Option<Server>) {
    let time = time.min(SLEEP_MAX);
    let time = Timespec::try_from(time).expect("a second is within its range");
    let mut watched: Vec<PollFd<'_>> = server
        .iter()
        .map(|server| PollFd::from_borrowed_fd(server.socket, PollFlags::empty()))
        .collect();
    // The timer's signal, which ends a guest thread's time slice, may interrupt `poll`. This is
    // harmless: no guest thread runs now, and the caller checks again which threads may run.
    let hung_up = poll(&mut watched, Some(&time));
    if let Some(server) = server
        && hung_up.is_ok_and(|ready| 0 < ready)
    {
        (server.abandon)();
    }
}

/// Installs a handler for the timer's signal that does nothing: the signal only interrupts the
/// guest.
fn install_handler() {
    extern "C" fn nothing(_: i32) {}
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the structure consists of integers and a null pointer, for which zero is valid. Zero
    // means an empty signal mask and no flags. Without flags, a system call that the signal
    // interrupts is not restarted.
    let action = unsafe { action.assume_init_mut() };
    let handler: extern "C" fn(i32) = nothing;
    action.sa_sigaction = handler as usize;
    // SAFETY: the call reads a local structure, and the handler accesses nothing. The pointer for
    // the old action may be null.
    let installed = unsafe { libc::sigaction(libc::SIGALRM, action, ptr::null_mut()) };
    assert_eq!(installed, 0, "SIGALRM can be handled");
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
    // SAFETY: the call reads a local structure. The pointer for the old timer may be null.
    let set = unsafe { libc::syscall(call, libc::ITIMER_REAL, &raw const timer, 0) };
    assert_eq!(set, 0, "setitimer accepts a time in milliseconds");
}
