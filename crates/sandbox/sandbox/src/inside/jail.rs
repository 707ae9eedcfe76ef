//! The jail's first half, before warm-up: everything but the system call filter.

use super::filter::Program;
use super::landlock;
use super::last_words::exit;
use crate::spawn::CONTROL_FD;
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

/// Enough for a zygote: while a pidfd travels it counts for the zygote, and one is sent for each child.
const DESCRIPTORS_MAX: u64 = 1_024;
const STACK_BYTES: u64 = 8 << 20;

/// What failed, for the pool.
pub(super) type Refusal = String;

pub(super) fn refused(action: &'static str) -> impl FnOnce(Errno) -> Refusal {
    move |errno| format!("{action}: {errno}")
}

/// The socket to the pool. It stays open for the process's last words.
pub(super) type Control = BorrowedFd<'static>;

/// That socket, if a pool started this program.
pub(super) fn control() -> Option<Control> {
    // SAFETY: meant for us by `spawn` and closed by nobody, but in children, which do not use it. A number that is not
    // open is an error of the question and nothing worse.
    let control = unsafe { BorrowedFd::borrow_raw(CONTROL_FD) };
    (socket_type(control) == Ok(SocketType::SEQPACKET)).then_some(control)
}

/// A jailed process.
pub(super) struct Jailed {
    pub(super) jail: Jail,
    /// `/proc/self/statm`, opened while that was possible; `None` on a host without `/proc`.
    pub(super) statm: Option<OwnedFd>,
}

/// First of all: this process ends with the server's, and holds nothing of it but the socket.
pub(super) fn begin() -> Result<(), Refusal> {
    // The parent is the pool's keeper; when it ends, this process and with it the process namespace end.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(refused("PR_SET_PDEATHSIG"))?;
    set_name(c"pelton zygote").map_err(refused("PR_SET_NAME"))?;
    close_from(CONTROL_FD + 1).map_err(refused("close_range"))
}

/// The order is that of the crate's documentation; `filter` is what will close the jail, and `files` may be read in it.
pub(super) fn enter(
    max_memory_bytes: u64,
    filter: &Program,
    files: &[BorrowedFd<'_>],
) -> Result<Jailed, Refusal> {
    limit(max_memory_bytes).map_err(refused("setrlimit"))?;
    die_first();
    never_merge();
    drop_capabilities().map_err(refused("capset"))?;
    set_no_new_privs(true).map_err(refused("PR_SET_NO_NEW_PRIVS"))?;
    let not_dumpable = DumpableBehavior::NotDumpable;
    set_dumpable_behavior(not_dumpable).map_err(refused("PR_SET_DUMPABLE"))?;
    outlive_the_zygote().map_err(refused("init"))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let statm = open("/proc/self/statm", flags, Mode::empty());
    let landlock_abi = landlock::deny_all_but(files).map_err(refused("landlock"))?;
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

/// Address space in use, as `/proc/self/statm` tells; `None` where it cannot.
pub(super) fn mapped_bytes(statm: OwnedFd) -> Option<u64> {
    let mut text = [0; 128];
    let len = rustix::io::pread(statm, &mut text, 0).ok()?;
    let pages = std::str::from_utf8(&text[..len]).ok()?.split(' ').next()?;
    Some(pages.parse::<u64>().ok()? * rustix::param::page_size() as u64)
}

pub(super) fn close_from(first: i32) -> Result<(), Errno> {
    // SAFETY: takes numbers only. Nothing of this process uses a descriptor from `first` on: the callers are a zygote
    // that has opened none yet, and a child that has just forgotten its zygote's.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, i32::MAX, 0) };
    checked(result).map(|_| ())
}

/// Limits of the zygote. Its memory may be raised again, by a child for its job.
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

/// Sets both limits of a resource, or keeps a hard limit that is lower.
pub(super) fn set_limit(resource: Resource, bound: u64) -> Result<(), Errno> {
    let outer = rustix::process::getrlimit(resource).maximum;
    let bound = Some(outer.map_or(bound, |outer| outer.min(bound)));
    let limit = Rlimit {
        current: bound,
        maximum: bound,
    };
    setrlimit(resource, limit)
}

/// When the host is out of memory a child goes before anything else does. Without `/proc` the kernel chooses.
fn die_first() {
    if let Ok(file) = open("/proc/self/oom_score_adj", OFlags::WRONLY, Mode::empty()) {
        let _chosen = rustix::io::write(&file, b"1000");
    }
}

/// Pages merged with another process's are a timing channel. The setting can be inherited; kernels without it say EINVAL.
fn never_merge() {
    const PR_SET_MEMORY_MERGE: i32 = 67;
    // SAFETY: takes numbers only.
    let _unknown = unsafe { libc::prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0) };
}

/// Whether processes and threads are from here on counted apart from everybody else's: the kernel counts those of one user in
/// one user namespace. For who has its capabilities still to drop, since whoever makes a namespace has all of them in it.
pub(super) fn count_apart() -> bool {
    // SAFETY: takes a number, and changes nothing that memory or descriptors hang on. This process has one thread.
    let made = checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) });
    // No user has a name in one that `spawn` made, so that no other can be made in it.
    let given = || std::fs::read("/proc/self/uid_map").is_ok_and(|names| names.is_empty());
    made.is_ok() || given()
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

/// The first process of a process namespace takes all others with it when it dies. So it does nothing but live, and the
/// zygote goes on as its child: children that run a job survive a zygote that dies.
fn outlive_the_zygote() -> Result<(), Errno> {
    if !rustix::process::getpid().is_init() {
        return Ok(());
    }
    // SAFETY: this process has one thread, so the child's copy of every lock is free.
    match checked(unsafe { libc::fork() })? {
        0 => Ok(()),
        _ => live(),
    }
}

fn live() -> ! {
    // SAFETY: SIG_IGN is no function of ours. It makes the kernel reap orphans.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    // For whoever looks at a list of processes.
    let _unnamed = set_name(c"pelton init");
    // The pool must see the zygote's end of the socket close.
    if close_from(CONTROL_FD).is_err() || Program::init().install().is_err() {
        exit(super::EXIT_FAILED);
    }
    loop {
        // SAFETY: waits for a signal; the pool's SIGKILL is the only one that comes.
        unsafe { libc::pause() };
    }
}
