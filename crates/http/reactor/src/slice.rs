//! How soon a core's thread runs once there is work for it.

#[cfg(test)]
mod tests;

use std::io;

/// What the thread asks to run at a stretch, the least that the kernel grants.
///
/// A thread that becomes ready takes the processor at once from one with a longer slice, where it would else wait until
/// a conversion has used its own up, some milliseconds. Shares of the processor stay what they are.
const SLICE_NS: u64 = 100_000;

/// How nice the thread wants to be where it may choose: as root, or with `LimitNICE=`.
///
/// A thread that has just answered and is asked again has had more than its share for the moment, and waits for the next
/// tick. Where it weighs nine times a conversion, that moment is over at once.
const NICE: i32 = -10;

/// Asks the kernel to run the calling thread soon rather than long (`sched_setattr(2)`; slices by EEVDF since Linux 6.12,
/// which earlier kernels take and ignore). A thread that somebody gave another policy, or made nice, keeps that.
///
/// # Errors
/// The kernel, or a filter around this process, refuses. Everything works without.
pub(crate) fn ask_to_run_soon() -> io::Result<()> {
    let mut wish = attributes()?;
    if wish.sched_policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    wish.sched_runtime = SLICE_NS;
    if wish.sched_nice == 0 {
        wish.sched_nice = NICE;
        if set(&wish).is_ok() {
            return Ok(());
        }
        wish.sched_nice = 0;
    }
    set(&wish)
}

fn set(wish: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: reads a structure of the size it names, for the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *wish, 0) };
    checked(result)
}

/// How the kernel schedules the calling thread.
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
    // SAFETY: writes a structure of this frame, of the size given, for the calling thread.
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
