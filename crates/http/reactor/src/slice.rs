//! Scheduling parameters of a core's thread, which make the thread run soon after work arrives.

#[cfg(test)]
mod tests;

use std::io;

/// Time slice that the thread requests, in nanoseconds. Linux grants no shorter one.
///
/// When the thread becomes ready, it preempts a running thread with a longer slice at once. If both
/// slices were equal, it would wait some milliseconds, until the running thread (such as one that
/// converts an image) has used up its slice. The threads' shares of the processor do not change.
const SLICE_NS: u64 = 100_000;

/// Nice value that the thread requests. The kernel grants this value to root, and to a service with
/// a sufficient `LimitNICE=`.
///
/// At nice value 0, a thread that has just served a request has used more than its share for the
/// moment. When the next request arrives, the thread waits for the scheduler's next tick. At -10,
/// the thread's weight is nine times as large, and this wait is negligible.
const NICE: i32 = -10;

/// Requests low-latency scheduling for the calling thread: a short time slice and a negative nice
/// value (`sched_setattr(2)`). Linux honours the slice since 6.12; earlier kernels accept and
/// ignore it. A scheduling policy or nice value that was set before the program started is kept.
///
/// # Errors
/// The kernel, or a seccomp filter around this process, refuses the request. The program works
/// without it.
pub(crate) fn request_low_latency() -> io::Result<()> {
    let mut requested = attributes()?;
    if requested.sched_policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    requested.sched_runtime = SLICE_NS;
    if requested.sched_nice == 0 {
        requested.sched_nice = NICE;
        if set(&requested).is_ok() {
            return Ok(());
        }
        requested.sched_nice = 0;
    }
    set(&requested)
}

fn set(requested: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads a structure of the size stated in it, for the calling thread, and
    // does not keep the pointer.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *requested, 0) };
    checked(result)
}

/// Returns the scheduling attributes of the calling thread.
fn attributes() -> io::Result<libc::sched_attr> {
    let mut attributes = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let size = size_of_val(&attributes);
    // SAFETY: the kernel writes at most `size` bytes to `attributes`; `size` is the size of
    // `attributes`, which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    checked(result)?;
    Ok(attributes)
}

fn checked(result: libc::c_long) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
