//! First step of a zygote's isolation, before warm-up: all mechanisms except the seccomp filter.

use super::filter::Program;
use super::landlock;
use super::last_message::{EXIT_FAILED, exit};
use crate::contract::CONTROL_FD;
use crate::syscall::checked;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, no_new_privs,
    set_capabilities, set_name, set_no_new_privs,
};
use sandbox_protocol::control::Jail;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Maximum number of open descriptors, enough for a zygote: each child needs one pidfd, which
/// counts as open in the zygote until the pool receives it.
const DESCRIPTORS_MAX: u64 = 1_024;
const STACK_BYTES: u64 = 8 << 20;

/// Message that tells the pool which step failed.
pub(super) type Refusal = String;

pub(super) fn refused(action: &'static str) -> impl FnOnce(Errno) -> Refusal {
    move |errno| format!("{action}: {errno}")
}

/// Socket to the pool. The socket stays open, so that the process can report a failure at any time.
pub(super) type Control = BorrowedFd<'static>;

/// Returns the socket to the pool, if a pool started this program.
pub(super) fn control() -> Option<Control> {
    // SAFETY: `spawn` moved the socket to this descriptor. Only children close it, and they do not
    // use it. If the descriptor is not open, the call below only returns an error.
    let control = unsafe { BorrowedFd::borrow_raw(CONTROL_FD) };
    (socket_type(control) == Ok(SocketType::SEQPACKET)).then_some(control)
}

/// Result of [`enter`]: the isolation in force, and a file that was opened for later use.
pub(super) struct Jailed {
    pub(super) jail: Jail,
    /// Descriptor of `/proc/self/statm`, opened while this process could still open files; `None`
    /// on a host without `/proc`.
    pub(super) statm: Option<OwnedFd>,
}

/// Makes this process end when the server ends, and closes all inherited descriptors except the
/// standard streams and the socket. This must be the zygote's first step.
pub(super) fn tie_to_server() -> Result<(), Refusal> {
    // The parent is the pool's supervisor thread. When that thread ends, the kernel kills this
    // process and its process namespace.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(refused("PR_SET_PDEATHSIG"))?;
    set_name(c"pelton zygote").map_err(refused("PR_SET_NAME"))?;
    close_from(CONTROL_FD + 1).map_err(refused("close_range"))
}

/// Isolates this process, in the order that the crate's documentation gives. `filter` is the
/// seccomp filter that will be installed later, and `files` are the files that can still be read
/// afterwards.
pub(super) fn enter(
    max_memory_bytes: u64,
    filter: &Program,
    files: &[BorrowedFd<'_>],
) -> Result<Jailed, Refusal> {
    limit(max_memory_bytes).map_err(refused("setrlimit"))?;
    prefer_oom_kill();
    disable_page_merging();
    drop_capabilities().map_err(refused("capset"))?;
    set_no_new_privs(true).map_err(refused("PR_SET_NO_NEW_PRIVS"))?;
    let not_dumpable = DumpableBehavior::NotDumpable;
    set_dumpable_behavior(not_dumpable).map_err(refused("PR_SET_DUMPABLE"))?;
    split_off_init().map_err(refused("init"))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let statm = open("/proc/self/statm", flags, Mode::empty());
    let landlock_abi =
        landlock::deny_all_but(files).map_err(|error| format!("landlock: {error}"))?;
    let held = capabilities(None).map_err(refused("capget"))?;
    let jail = Jail {
        filter_hash: filter.hash(),
        filter_len: filter.len(),
        landlock_abi,
        no_new_privs: no_new_privs().map_err(refused("PR_GET_NO_NEW_PRIVS"))?,
        capabilities: !(held.effective | held.permitted | held.inheritable).is_empty(),
    };
    Ok(Jailed {
        jail,
        statm: statm.ok(),
    })
}

/// Returns the size of the address space in use, in bytes. Returns `None` if `statm`, the open
/// `/proc/self/statm`, cannot be read.
pub(super) fn mapped_bytes(statm: OwnedFd) -> Option<u64> {
    let mut text = [0; 128];
    let len = rustix::io::pread(statm, &mut text, 0).ok()?;
    let pages = std::str::from_utf8(&text[..len]).ok()?.split(' ').next()?;
    Some(pages.parse::<u64>().ok()? * rustix::param::page_size() as u64)
}

pub(super) fn close_from(first: i32) -> Result<(), Errno> {
    // SAFETY: the call takes numbers only. No code of this process uses descriptors from `first`
    // on: a zygote has not opened any yet, and a child or the init process no longer uses the
    // zygote's descriptors.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, i32::MAX, 0) };
    checked(result).map(|_| ())
}

/// Sets the resource limits of the zygote. A child may raise the memory limit again for its job.
fn limit(max_memory_bytes: u64) -> Result<(), Errno> {
    let hard = [
        (Resource::Core, 0),
        (Resource::Nofile, DESCRIPTORS_MAX),
        (Resource::Stack, STACK_BYTES),
    ];
    for (resource, bound) in hard {
        set_limit(resource, bound)?;
    }
    set_soft_limit(Resource::As, max_memory_bytes)
}

/// Sets a limit that this process may raise again.
pub(super) fn set_soft_limit(resource: Resource, bound: u64) -> Result<(), Errno> {
    let outer = rustix::process::getrlimit(resource).maximum;
    let current = Some(outer.map_or(bound, |outer| outer.min(bound)));
    let limit = Rlimit {
        current,
        maximum: outer,
    };
    setrlimit(resource, limit)
}

/// Sets the soft and the hard limit of a resource to `bound`, or to the present hard limit if that
/// is lower.
pub(super) fn set_limit(resource: Resource, bound: u64) -> Result<(), Errno> {
    let outer = rustix::process::getrlimit(resource).maximum;
    let bound = Some(outer.map_or(bound, |outer| outer.min(bound)));
    let limit = Rlimit {
        current: bound,
        maximum: bound,
    };
    setrlimit(resource, limit)
}

/// Makes the out-of-memory killer choose this process and its children first. Has no effect on a
/// host without `/proc`.
fn prefer_oom_kill() {
    if let Ok(file) = open("/proc/self/oom_score_adj", OFlags::WRONLY, Mode::empty()) {
        let _chosen = rustix::io::write(&file, b"1000");
    }
}

/// Turns off the merging of pages with equal content (KSM). With KSM, a process could find out by
/// timing whether another process has a page with the same content. Children of a process inherit
/// the setting. An old kernel without the setting returns EINVAL, which is ignored.
fn disable_page_merging() {
    const PR_SET_MEMORY_MERGE: i32 = 67;
    // SAFETY: the call takes numbers only.
    let _unknown = unsafe { libc::prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0) };
}

/// Moves this process to its own user namespace, if `spawn` has not created one already. The kernel
/// counts the processes and threads of a user separately in each user namespace. Returns true if
/// this process is now in its own user namespace. Call this function before capabilities are
/// dropped, because the creator of a user namespace holds all capabilities in it.
pub(super) fn count_separately() -> bool {
    // SAFETY: the call takes a number, and changes nothing that memory or descriptors depend on.
    // This process has one thread.
    let made = checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) });
    // `spawn` creates a user namespace that maps no user, so `unshare` fails inside it. An empty
    // map shows that this process is in such a namespace.
    let is_in_new_namespace =
        || std::fs::read("/proc/self/uid_map").is_ok_and(|names| names.is_empty());
    made.is_ok() || is_in_new_namespace()
}

fn drop_capabilities() -> Result<(), Errno> {
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets)
}

/// Forks if this process is the init process of its PID namespace. This process then only keeps the
/// namespace alive, and its child continues as the zygote. When an init process dies, the kernel
/// kills all other processes of the namespace. So a zygote must not be the init process: children
/// that run a job must survive the death of their zygote.
fn split_off_init() -> Result<(), Errno> {
    if !rustix::process::getpid().is_init() {
        return Ok(());
    }
    // SAFETY: this process has one thread, so the child's copy of every lock is free.
    match checked(unsafe { libc::fork() })? {
        0 => Ok(()),
        _ => wait_forever(),
    }
}

fn wait_forever() -> ! {
    // SAFETY: SIG_IGN installs no handler, so no code of ours runs on a signal. With SIG_IGN the
    // kernel reaps orphans.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    // Tools such as `ps` show this name.
    let _unnamed = set_name(c"pelton init");
    // This process closes its copy of the zygote's socket. With this copy open, the pool would not
    // notice that the zygote closed its own copy.
    if close_from(CONTROL_FD).is_err() || Program::init().install().is_err() {
        exit(EXIT_FAILED);
    }
    loop {
        // SAFETY: the call waits for a signal; the pool's SIGKILL is the only one that arrives.
        unsafe { libc::pause() };
    }
}
