//! Names of system calls, for the log.

/// Returns the name of a system call, if it is in the list of calls that programs often make and
/// that may be missing in a guest.
pub(super) fn name(number: u64) -> Option<&'static str> {
    const NAMES: &[(libc::c_long, &str)] = &[
        (libc::SYS_clone, "clone"),
        (libc::SYS_clone3, "clone3"),
        (libc::SYS_fork, "fork"),
        (libc::SYS_vfork, "vfork"),
        (libc::SYS_execve, "execve"),
        (libc::SYS_socket, "socket"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
        (libc::SYS_epoll_create1, "epoll_create1"),
        (libc::SYS_eventfd2, "eventfd2"),
        (libc::SYS_pipe2, "pipe2"),
        (libc::SYS_dup, "dup"),
        (libc::SYS_getcwd, "getcwd"),
        (libc::SYS_unlink, "unlink"),
        (libc::SYS_mkdir, "mkdir"),
        (libc::SYS_ptrace, "ptrace"),
        (libc::SYS_io_uring_setup, "io_uring_setup"),
        (libc::SYS_sendmsg, "sendmsg"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_memfd_create, "memfd_create"),
        (libc::SYS_tgkill, "tgkill"),
    ];
    let known = NAMES.iter().find(|(call, _)| *call as u64 == number);
    known.map(|(_, name)| *name)
}
