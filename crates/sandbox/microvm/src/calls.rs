//! System calls of a guest. Each implemented call is a row of [`CALLS`], for all guests, or of
//! [`PROGRAM_CALLS`], for guests that run a program of the operator. Every other call fails with
//! `ENOSYS` and is counted.
//!
//! Addresses from the guest are not trusted: [`Memory`](super::memory::Memory) checks that each
//! lies in memory that the guest may access. A structure in the guest's memory is copied once, and
//! its copy is checked.

mod events;
mod files;
mod linux;
mod memory;
mod names;
mod process;
mod records;
mod threads;

pub use linux::{AllowedFile, Files};
pub(super) use linux::{Linux, Next};
pub(super) use process::locate_clock;
pub use threads::THREADS_MAX;

use super::machine::Machine;
use super::stack::NOBODY;
use linux::{Serve, Stop, fails};

/// Executes the system call at which the machine stopped.
pub(crate) fn serve(linux: &mut Linux, machine: &mut Machine) -> Result<Next, String> {
    let (number, arguments) = machine.call();
    linux.calls += 1;
    let more: &[_] = if linux.runs_program {
        PROGRAM_CALLS
    } else {
        &[]
    };
    let mut rows = more.iter().chain(CALLS);
    let row = rows.find(|(known, _)| *known as u64 == number);
    let answer = match row {
        Some((_, serve)) => serve(linux, machine, arguments),
        None => {
            linux.refuse(number);
            fails(libc::ENOSYS)
        }
    };
    let result = match answer {
        Ok(value) => value as i64,
        Err(Stop::Errno(errno)) => -i64::from(errno),
        Err(Stop::Next(next)) => return Ok(next),
        Err(Stop::Wait(wait)) => return linux.wait(machine, wait),
    };
    machine.answer(result)?;
    Ok(Next::Go)
}

/// Calls that only programs may make: threads, sleep, and events between threads. A worker has one
/// thread, which never waits.
const PROGRAM_CALLS: &[(libc::c_long, Serve)] = &[
    (libc::SYS_clone, threads::clone),
    (libc::SYS_nanosleep, threads::nanosleep),
    (libc::SYS_clock_nanosleep, threads::clock_nanosleep),
    (libc::SYS_eventfd2, events::eventfd),
    (libc::SYS_epoll_create1, events::epoll_create),
    (libc::SYS_epoll_ctl, events::epoll_ctl),
    (libc::SYS_epoll_wait, events::epoll_wait),
    (libc::SYS_epoll_pwait, events::epoll_wait),
    // After this error, libc falls back to `clone`, so these failures are not counted.
    (libc::SYS_clone3, |_, _, _| fails(libc::ENOSYS)),
    // Go's runtime tries to name its mappings, and continues if the call fails.
    (libc::SYS_prctl, |_, _, _| fails(libc::EINVAL)),
];

/// Calls that both workers and programs may make.
const CALLS: &[(libc::c_long, Serve)] = &[
    // Calls on files and descriptors.
    (libc::SYS_read, files::read),
    (libc::SYS_pread64, files::pread),
    (libc::SYS_readv, files::readv),
    (libc::SYS_write, files::write),
    (libc::SYS_pwrite64, files::pwrite),
    (libc::SYS_writev, files::writev),
    (libc::SYS_lseek, files::lseek),
    (libc::SYS_close, files::close),
    (libc::SYS_fstat, files::fstat),
    (libc::SYS_newfstatat, files::newfstatat),
    (libc::SYS_open, files::open),
    (libc::SYS_openat, files::openat),
    (libc::SYS_readlink, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_readlinkat, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_access, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_faccessat, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_fcntl, files::fcntl),
    (libc::SYS_ioctl, |_, _, _| fails(libc::ENOTTY)),
    (libc::SYS_poll, files::poll),
    // Calls on memory.
    (libc::SYS_brk, memory::brk),
    (libc::SYS_mmap, memory::mmap),
    (libc::SYS_munmap, memory::munmap),
    (libc::SYS_mremap, |_, _, _| fails(libc::ENOMEM)),
    (libc::SYS_mprotect, memory::mprotect),
    (libc::SYS_madvise, memory::madvise),
    // Calls for time and randomness.
    (libc::SYS_clock_gettime, process::clock_gettime),
    (libc::SYS_clock_getres, process::clock_getres),
    (libc::SYS_gettimeofday, process::gettimeofday),
    (libc::SYS_getrandom, process::getrandom),
    // Other calls of programs with one thread, for example in the start-up code of C and Rust.
    (libc::SYS_arch_prctl, process::arch_prctl),
    (libc::SYS_set_tid_address, threads::set_tid_address),
    (libc::SYS_set_robust_list, |_, _, _| Ok(0)),
    (libc::SYS_rt_sigaction, process::rt_sigaction),
    (libc::SYS_rt_sigprocmask, process::rt_sigprocmask),
    (libc::SYS_sigaltstack, process::sigaltstack),
    (libc::SYS_futex, threads::futex),
    (libc::SYS_prlimit64, process::prlimit),
    (libc::SYS_sched_getaffinity, process::sched_getaffinity),
    (libc::SYS_sched_yield, threads::sched_yield),
    (libc::SYS_sysinfo, process::sysinfo),
    (libc::SYS_uname, process::uname),
    (libc::SYS_getpid, |_, _, _| Ok(1)),
    (libc::SYS_gettid, threads::gettid),
    (libc::SYS_getppid, |_, _, _| Ok(0)),
    (libc::SYS_getuid, |_, _, _| Ok(NOBODY)),
    (libc::SYS_geteuid, |_, _, _| Ok(NOBODY)),
    (libc::SYS_getgid, |_, _, _| Ok(NOBODY)),
    (libc::SYS_getegid, |_, _, _| Ok(NOBODY)),
    // Newer libraries try these calls and continue if the calls fail, so these failures are not
    // counted.
    (libc::SYS_rseq, |_, _, _| fails(libc::ENOSYS)),
    (libc::SYS_statx, |_, _, _| fails(libc::ENOSYS)),
    // Calls that end a thread or the program.
    (libc::SYS_exit, threads::exit),
    (libc::SYS_exit_group, process::exit),
    (libc::SYS_kill, process::kill),
    (libc::SYS_tkill, process::tkill),
    (libc::SYS_tgkill, process::tgkill),
];
