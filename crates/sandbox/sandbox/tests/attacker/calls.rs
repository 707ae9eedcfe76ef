//! System calls that no codec makes. As an attacker would, this module makes most of them by
//! number, not through the wrapper functions of libc.

use crate::{Attack, SOCKET, Scene};
use sandbox_protocol::AllegedReply;
use std::ptr;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("open", open),
    ("openat2", |scene| {
        call(scene, libc::SYS_openat2, &[-100, 0, 0, 0])
    }),
    ("stat", stat),
    ("unlink", |scene| call(scene, libc::SYS_unlink, &[path()])),
    ("memfd", |scene| {
        call(scene, libc::SYS_memfd_create, &[path(), 0])
    }),
    ("socket", |scene| call(scene, libc::SYS_socket, &[2, 1, 0])),
    ("connect", |scene| {
        call(scene, libc::SYS_connect, &[SOCKET as i64, 0, 0])
    }),
    ("send-descriptor", |scene| {
        call(scene, libc::SYS_sendmsg, &[SOCKET as i64, 0, 0])
    }),
    ("send-by-another-number", |scene| {
        let _moved = call(scene, libc::SYS_dup3, &[SOCKET as i64, 3, 0]);
        call(scene, libc::SYS_sendmsg, &[3, 0, 0])
    }),
    ("send-to-zygote", |scene| {
        call(scene, libc::SYS_sendmsg, &[3, 0, 0])
    }),
    ("ptrace", |scene| {
        call(scene, libc::SYS_ptrace, &[16, 1, 0, 0])
    }),
    ("read-process", |scene| {
        call(scene, libc::SYS_process_vm_readv, &[1, 0, 0, 0, 0, 0])
    }),
    ("execve", |scene| {
        call(scene, libc::SYS_execve, &[path(), 0, 0])
    }),
    ("execveat", |scene| {
        call(scene, libc::SYS_execveat, &[5, path(), 0, 0, 0x1000])
    }),
    ("io_uring", |scene| {
        call(scene, libc::SYS_io_uring_setup, &[8, 0])
    }),
    ("clone3", |scene| call(scene, libc::SYS_clone3, &[0, 0])),
    ("fork-bomb", fork_bomb),
    ("vfork", |scene| call(scene, libc::SYS_vfork, &[])),
    ("thread", thread),
    ("unshare", |scene| {
        call(scene, libc::SYS_unshare, &[libc::CLONE_NEWUSER as i64])
    }),
    ("kill-parent", |scene| call(scene, libc::SYS_kill, &[1, 9])),
    ("abort-parent", |scene| {
        call(scene, libc::SYS_tgkill, &[2, 2, 6])
    }),
    ("signal-by-pidfd", |scene| {
        call(scene, libc::SYS_pidfd_send_signal, &[3, 9, 0, 0])
    }),
    ("mount", |scene| {
        call(scene, libc::SYS_mount, &[0, path(), 0, 0, 0])
    }),
    ("bpf", |scene| call(scene, libc::SYS_bpf, &[0, 0, 0])),
    ("perf", |scene| {
        call(scene, libc::SYS_perf_event_open, &[0, 0, -1, -1, 0])
    }),
    ("userfaultfd", |scene| {
        call(scene, libc::SYS_userfaultfd, &[1])
    }),
    ("keyring", |scene| {
        call(scene, libc::SYS_keyctl, &[0, -3, 1, 0, 0])
    }),
    ("shared-memory", |scene| {
        call(scene, libc::SYS_shmget, &[0, 4_096, 0o1600])
    }),
    ("message-queue", |scene| {
        call(scene, libc::SYS_msgget, &[0, 0o1600])
    }),
    ("dumpable", |scene| {
        call(scene, libc::SYS_prctl, &[libc::PR_SET_DUMPABLE as i64, 1])
    }),
    ("personality", |scene| {
        call(scene, libc::SYS_personality, &[0x40_0000])
    }),
    ("terminal", |scene| {
        call(scene, libc::SYS_ioctl, &[0, libc::TIOCSTI as i64, path()])
    }),
    ("fcntl", |scene| {
        call(
            scene,
            libc::SYS_fcntl,
            &[SOCKET as i64, libc::F_SETFL as i64, 0],
        )
    }),
    ("resize", |scene| {
        call(scene, libc::SYS_ftruncate, &[5, 1 << 30])
    }),
    ("sleep", sleep),
    ("poll", |scene| call(scene, libc::SYS_ppoll, &[0, 0, 0, 0])),
    ("wait", |scene| {
        call(scene, libc::SYS_futex, &[path() & !3, 128, 0, 0])
    }),
    ("writable-code", |scene| {
        map(scene, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)
    }),
    ("code", |scene| {
        map(scene, libc::PROT_READ | libc::PROT_EXEC)
    }),
    ("limits-of-another", |scene| {
        call(scene, libc::SYS_prlimit64, &[1, 0, 0, 0])
    }),
    ("x32", |scene| {
        call(scene, 0x4000_0000 + libc::SYS_getpid, &[])
    }),
    ("i386", i386),
    ("unknown", |scene| call(scene, 1_000, &[])),
];

fn path() -> i64 {
    c"/etc/passwd".as_ptr() as i64
}

fn call(scene: &Scene<'_>, number: i64, arguments: &[i64]) -> AllegedReply {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    let [a, b, c, d, e, f] = all;
    // SAFETY: the call is an attack. Its arguments contain no pointers except null pointers and
    // pointers to a constant that the kernel only reads.
    scene.result(unsafe { libc::syscall(number, a, b, c, d, e, f) })
}

fn open(scene: &Scene<'_>) -> AllegedReply {
    call(
        scene,
        libc::SYS_openat,
        &[libc::AT_FDCWD.into(), path(), 0, 0],
    )
}

fn stat(scene: &Scene<'_>) -> AllegedReply {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `found` has room for the structure that the call writes.
    let result = unsafe { libc::stat(c"/etc/passwd".as_ptr(), found.as_mut_ptr()) };
    scene.result(result.into())
}

fn fork_bomb(scene: &Scene<'_>) -> AllegedReply {
    for _ in 0..1_000 {
        // SAFETY: the call is an attack. This process has one thread, so the child is a complete
        // copy, and both processes can continue this loop.
        if unsafe { libc::fork() } == -1 {
            return scene.result(-1);
        }
    }
    scene.done(b"escaped")
}

fn thread(scene: &Scene<'_>) -> AllegedReply {
    match std::thread::Builder::new().spawn(|| ()) {
        Ok(_) => scene.done(b"escaped"),
        Err(_) => scene.result(-1),
    }
}

fn sleep(scene: &Scene<'_>) -> AllegedReply {
    let long = libc::timespec {
        tv_sec: 1_000,
        tv_nsec: 0,
    };
    // SAFETY: the call reads a local structure.
    let result = unsafe { libc::nanosleep(&raw const long, ptr::null_mut()) };
    scene.result(result.into())
}

fn map(scene: &Scene<'_>, protection: i32) -> AllegedReply {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
    let memory = unsafe { libc::mmap(ptr::null_mut(), 4_096, protection, flags, -1, 0) };
    scene.result(memory as i64)
}

/// Calls `getpid` (number 20) by the instruction for 32-bit system calls, `int 0x80`. In 64-bit
/// code, number 20 is another call.
fn i386(scene: &Scene<'_>) -> AllegedReply {
    let mut number = 20_i64;
    // SAFETY: the instruction is an attack; the system call `getpid` changes no memory.
    unsafe { std::arch::asm!("int 0x80", inlateout("rax") number) };
    scene.result(number)
}
