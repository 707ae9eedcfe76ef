//! Start of the worker's executable in new namespaces.
//!
//! The server has many threads and a large cache, so it must not `fork`: copying its page tables
//! would stop the server for milliseconds whenever a zygote is replaced. Instead the child shares
//! the server's memory until it executes the file, as with `vfork`. The calling thread is suspended
//! until then.

use crate::contract::CONTROL_FD;
use crate::syscall::checked;
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// User and group id of workers if the server is root.
const NOBODY: libc::c_long = 65_534;
/// Size of the child's stack, in bytes. The child needs a few hundred bytes, since it runs no code
/// of the server except [`enter`].
const STACK_BYTES: usize = 64 << 10;
const EXEC_FAILED: c_int = 127;

const NAMESPACES: [(c_int, &str); 7] = [
    (libc::CLONE_NEWUSER, "user"),
    (libc::CLONE_NEWPID, "pid"),
    (libc::CLONE_NEWNET, "net"),
    (libc::CLONE_NEWIPC, "ipc"),
    (libc::CLONE_NEWNS, "mount"),
    (libc::CLONE_NEWUTS, "uts"),
    (libc::CLONE_NEWCGROUP, "cgroup"),
];
const PRIVILEGED: c_int = libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
/// Sets of namespaces to create, tried in this order. Root can create the first set. A user who may
/// create user namespaces can create the second set. The last set is empty, for hosts that deny
/// namespaces.
const ATTEMPTS: [c_int; 3] = [PRIVILEGED, PRIVILEGED | libc::CLONE_NEWUSER, 0];

/// Started program, which is killed and reaped when this value is dropped.
pub(crate) struct Process {
    pidfd: OwnedFd,
    pub(crate) namespaces: Vec<&'static str>,
    pub(crate) own_user: bool,
}

impl Drop for Process {
    fn drop(&mut self) {
        // The calls fail only if the process has already ended or was already reaped, which is the
        // desired result.
        let _gone = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
        let _reaped = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED);
    }
}

/// Arguments of the child, all of them prepared before the child exists.
struct Entry {
    program: RawFd,
    control: RawFd,
    null: RawFd,
    arguments: [*const c_char; 2],
    environment: Vec<*const c_char>,
    signals: libc::sigset_t,
    drop_user: bool,
    /// True if the child has changed its user to [`NOBODY`]; set by the child.
    user_dropped: bool,
    /// `errno` of the child's failure; 0 if the program runs.
    errno: c_int,
}

/// Runs `program` with `control` as descriptor [`CONTROL_FD`] and `null` as its standard streams.
/// All three descriptors must have numbers above [`CONTROL_FD`].
pub(crate) fn spawn(
    program: BorrowedFd<'_>,
    control: BorrowedFd<'_>,
    null: BorrowedFd<'_>,
    environment: &[CString],
) -> Result<Process, Errno> {
    for descriptor in [program, control, null] {
        assert!(CONTROL_FD < descriptor.as_raw_fd(), "{descriptor:?}");
    }
    const NAME: &CStr = c"pelton-worker";
    let mut pointers: Vec<_> = environment.iter().map(|entry| entry.as_ptr()).collect();
    pointers.push(ptr::null());
    let mut entry = Entry {
        program: program.as_raw_fd(),
        control: control.as_raw_fd(),
        null: null.as_raw_fd(),
        arguments: [NAME.as_ptr(), ptr::null()],
        environment: pointers,
        signals: empty_signals(),
        drop_user: false,
        user_dropped: false,
        errno: 0,
    };
    let privileged = rustix::process::geteuid().is_root();
    let mut refused = Errno::PERM;
    for namespaces in ATTEMPTS {
        // Inside a new user namespace there is no other user to change to.
        entry.drop_user = privileged && namespaces & libc::CLONE_NEWUSER == 0;
        match clone(&mut entry, namespaces) {
            Ok(pidfd) => {
                let process = Process {
                    pidfd,
                    namespaces: names(namespaces),
                    own_user: entry.user_dropped,
                };
                return match entry.errno {
                    0 => Ok(process),
                    errno => Err(Errno::from_raw_os_error(errno)),
                };
            }
            Err(errno) => refused = errno,
        }
    }
    Err(refused)
}

fn names(namespaces: c_int) -> Vec<&'static str> {
    let with = NAMESPACES.iter().filter(|(flag, _)| namespaces & flag != 0);
    with.map(|(_, name)| *name).collect()
}

/// Clones the child. Returns when the child has executed the program, or has failed and set
/// `entry.errno`.
fn clone(entry: &mut Entry, namespaces: c_int) -> Result<OwnedFd, Errno> {
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD | namespaces;
    let mut pidfd: c_int = -1;
    let argument = ptr::from_mut(entry).cast::<c_void>();
    let all = full_signals();
    let before = set_signals(&all);
    // SAFETY: the child runs only `enter`, on a stack of its own that outlives it, since
    // CLONE_VFORK suspends this thread until the child no longer uses this process's memory.
    // `argument` is an `Entry` that no other thread touches meanwhile. All signals are blocked, so
    // no handler of the server runs in the child. Breaks if CLONE_VFORK is removed, or if `enter`
    // calls a function that takes a lock of the server.
    let pid = unsafe { libc::clone(enter, top, flags, argument, &raw mut pidfd) };
    let cloned = checked(pid);
    set_signals(&before);
    cloned?;
    // SAFETY: `cloned?` returned an error unless `clone` had succeeded. So CLONE_PIDFD stored a new
    // descriptor in `pidfd`, and no other code knows its number yet.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// Runs in the child between clone and exec. The child shares the server's memory, so this function
/// may make system calls, but must not allocate, lock or panic.
extern "C" fn enter(argument: *mut c_void) -> c_int {
    // SAFETY: `clone` passes a pointer to its `&mut Entry`, and is suspended while this function
    // runs. Breaks if the child is started without CLONE_VFORK.
    let entry = unsafe { &mut *argument.cast::<Entry>() };
    if entry.drop_user {
        entry.user_dropped = drop_user();
    }
    let streams = [
        (entry.null, 0),
        (entry.null, 1),
        (entry.null, 2),
        (entry.control, CONTROL_FD),
    ];
    for (from, to) in streams {
        // SAFETY: the call changes only the descriptors of the child (no CLONE_FILES).
        if unsafe { libc::dup2(from, to) } == -1 {
            return fail(entry);
        }
    }
    // SAFETY: `empty_signals` filled in `signals`, and the pointer for the old mask may be null.
    // The function `clone` of this module blocked all signals; the program must not inherit this
    // mask.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const entry.signals, ptr::null_mut()) };
    // SAFETY: both lists end in a null pointer and point to strings in the frame of `spawn`, which
    // exists until this call has copied the strings.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            entry.program,
            c"".as_ptr(),
            entry.arguments.as_ptr(),
            entry.environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    fail(entry)
}

fn fail(entry: &mut Entry) -> c_int {
    // The child uses the `errno` of the suspended thread, whose memory it shares. Reading `errno`
    // allocates nothing.
    let error = std::io::Error::last_os_error();
    entry.errno = error.raw_os_error().unwrap_or(libc::EIO);
    EXEC_FAILED
}

/// Changes the child to user and group [`NOBODY`]. Returns false if a call fails. libc's functions
/// for these calls would change all threads of the server; the direct system calls change only the
/// child.
fn drop_user() -> bool {
    // SAFETY: the list is empty, so the kernel reads no memory.
    let groups = unsafe { libc::syscall(libc::SYS_setgroups, 0, ptr::null::<c_void>()) };
    // SAFETY: the call takes numbers only.
    let group = unsafe { libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY) };
    // SAFETY: the call takes numbers only. This call is the last of the three, since it gives up
    // the right to make the other two.
    let user = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
    groups == 0 && group == 0 && user == 0
}

fn empty_signals() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the call writes only to `set`, a local variable.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: `sigemptyset` above initialised the set.
    unsafe { set.assume_init() }
}

fn full_signals() -> libc::sigset_t {
    let mut set = empty_signals();
    // SAFETY: the call writes only to `set`, a local variable.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}

/// Sets the calling thread's signal mask and returns the previous one.
fn set_signals(set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = empty_signals();
    // SAFETY: the call reads the caller's set and writes `before`, which is in this frame.
    let errno = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, &raw mut before) };
    assert_eq!(
        errno, 0,
        "SIG_SETMASK is the only argument that could be wrong"
    );
    before
}
