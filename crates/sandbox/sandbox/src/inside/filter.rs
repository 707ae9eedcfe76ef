//! System call filters: tables of rules, and the BPF programs that are compiled from these tables.
//!
//! A call that no rule matches kills the process. In the operator's programs, and in the launchers
//! that start them, such a call fails with ENOSYS instead. A filter cannot read the memory behind a
//! pointer, so a rule tests only the call's number and at most one argument.
//!
//! This module does not use the crate `seccompiler`. A filter here has up to five verdicts, but
//! `seccompiler` allows only two: one for calls that match, and one for all other calls.
//! `seccompiler` also treats x32 calls like calls that no rule matches, and installs filters with a
//! call that a zygote's filter denies. The decision is recorded in
//! `docs/decisions/2026-11-24-seccomp-and-landlock.md`.

use crate::syscall::checked;
use rustix::io::Errno;

/// Condition of a rule. The first number of a variant is the index of the argument that it tests.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// The low 32 bits of the argument are this number, and the high 32 bits are zero.
    Is(u8, u32),
    /// The low 32 bits of the argument have none of these bits.
    Lacks(u8, u32),
}
use When::{Always, Is, Lacks};

/// Rule for one system call. If the condition holds, the verdict applies; otherwise the next rule
/// is tried.
struct Rule {
    call: libc::c_long,
    when: When,
    verdict: u32,
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const NO_ENTRY: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOENT as u32;
const NO_ACCESS: u32 = libc::SECCOMP_RET_ERRNO | libc::EACCES as u32;
const NOT_PERMITTED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

const fn allow(call: libc::c_long, when: When) -> Rule {
    Rule {
        call,
        when,
        verdict: ALLOW,
    }
}

const fn answer(call: libc::c_long, verdict: u32) -> Rule {
    Rule {
        call,
        when: Always,
        verdict,
    }
}

const FORK_FLAGS: u32 =
    (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD) as u32;
const THREAD_FLAGS_GO: u32 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_SYSVSEM
    | libc::CLONE_THREAD
    | libc::CLONE_SETTLS) as u32;
const THREAD_FLAGS_LIBC: u32 =
    THREAD_FLAGS_GO | (libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID) as u32;
const EXECUTABLE: u32 = libc::PROT_EXEC as u32;
const FILTER_MODE: u32 = 1;
const FUTEX_WAKE_PRIVATE: u32 = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u32;
const CONTROL: u32 = crate::contract::CONTROL_FD as u32;
const JOB: u32 = crate::contract::JOB_FD as u32;
const SERVICE: u32 = crate::contract::SERVICE_FD as u32;

/// Rules of the zygote, inherited by its children. In a child, only calls on its socket to the
/// server can block. When the server dies, these calls return. If the child then does not end, its
/// CPU limit ends it.
const ZYGOTE: &[Rule] = &[
    // Reads of the job's original, writes to its output, and the child's reply.
    allow(libc::SYS_read, Always),
    allow(libc::SYS_pread64, Always),
    allow(libc::SYS_readv, Always),
    allow(libc::SYS_write, Always),
    allow(libc::SYS_pwrite64, Always),
    allow(libc::SYS_writev, Always),
    allow(libc::SYS_lseek, Always),
    allow(libc::SYS_fstat, Always),
    allow(libc::SYS_close, Always),
    // Calls of the allocator.
    allow(libc::SYS_brk, Always),
    allow(libc::SYS_mmap, Lacks(2, EXECUTABLE)),
    allow(libc::SYS_mprotect, Lacks(2, EXECUTABLE)),
    allow(libc::SYS_munmap, Always),
    allow(libc::SYS_mremap, Always),
    allow(libc::SYS_madvise, Always),
    // Locks and once-cells of libc and codecs wake waiters even if there are none. Waiting is not
    // allowed, because a process with one thread never needs to wait for a lock.
    allow(libc::SYS_futex, Is(1, FUTEX_WAKE_PRIVATE)),
    allow(libc::SYS_futex, Is(1, libc::FUTEX_WAKE as u32)),
    // Hash tables get random keys from this call.
    allow(libc::SYS_getrandom, Always),
    // Reads of the clock, on hosts where the vDSO cannot read it, and of the job's resource usage.
    allow(libc::SYS_clock_gettime, Always),
    allow(libc::SYS_getrusage, Always),
    // Codecs query the number of cores.
    allow(libc::SYS_sched_getaffinity, Is(0, 0)),
    // libc's `qsort` queries the size of the host's memory before it allocates.
    allow(libc::SYS_sysinfo, Always),
    // Calls of `abort`. It unblocks and resets SIGABRT, and sends the signal by `tgkill`. This call
    // is denied, so `abort` ends the process by an illegal instruction.
    allow(libc::SYS_rt_sigaction, Always),
    allow(libc::SYS_rt_sigprocmask, Always),
    allow(libc::SYS_rt_sigreturn, Always),
    allow(libc::SYS_getpid, Always),
    allow(libc::SYS_gettid, Always),
    answer(libc::SYS_tgkill, NOT_PERMITTED),
    allow(libc::SYS_exit_group, Always),
    // Setup of a child: it receives its job, sets its descriptor numbers and its limits, and
    // installs its second filter if it has one.
    allow(libc::SYS_recvmsg, Always),
    allow(libc::SYS_setpgid, Is(0, 0)),
    allow(libc::SYS_dup3, Is(1, JOB)),
    allow(libc::SYS_close_range, Always),
    allow(libc::SYS_prlimit64, Is(0, 0)),
    allow(libc::SYS_setitimer, Always),
    allow(libc::SYS_sched_setscheduler, Is(0, 0)),
    allow(libc::SYS_seccomp, Is(0, FILTER_MODE)),
    allow(libc::SYS_set_robust_list, Always),
    // Work of the zygote: it forks, reaps and reports. A child inherits these rules, but it has no
    // socket with the number CONTROL, and a limit or its second filter denies it `fork`.
    allow(libc::SYS_clone, Is(0, FORK_FLAGS)),
    allow(libc::SYS_pidfd_open, Always),
    allow(libc::SYS_wait4, Always),
    allow(libc::SYS_sendmsg, Is(0, CONTROL)),
    // A filter cannot read the flags of `clone3`, which lie behind a pointer. After this error,
    // libc falls back to `clone`.
    answer(libc::SYS_clone3, NO_SUCH_CALL),
    // Both calls take either a path, or a descriptor and an empty path. A filter cannot distinguish
    // the two cases, so both calls are denied.
    answer(libc::SYS_statx, NO_SUCH_CALL),
    answer(libc::SYS_newfstatat, NO_SUCH_CALL),
    // Buffered output checks whether it writes to a terminal.
    answer(libc::SYS_ioctl, NOT_PERMITTED),
];

/// Rules of helpers, the processes that run microVMs, in addition to the zygote's rules. Most of
/// these rules allow the ioctls of KVM. A helper closes `/dev/kvm` after it has created its
/// machine, and can then create no other machine.
const MACHINE: &[Rule] = &[
    // Calls with which a helper creates its machine.
    allow(libc::SYS_ioctl, Is(1, KVM_CREATE_VM)),
    allow(libc::SYS_ioctl, Is(1, KVM_GET_VCPU_MMAP_SIZE)),
    allow(libc::SYS_ioctl, Is(1, KVM_GET_SUPPORTED_CPUID)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_USER_MEMORY_REGION)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_MSR_FILTER)),
    allow(libc::SYS_ioctl, Is(1, KVM_CREATE_VCPU)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_CPUID2)),
    // Calls that run the guest, and calls that read and set its registers when it makes a system
    // call.
    allow(libc::SYS_ioctl, Is(1, KVM_RUN)),
    allow(libc::SYS_ioctl, Is(1, KVM_GET_REGS)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_REGS)),
    allow(libc::SYS_ioctl, Is(1, KVM_GET_SREGS)),
    // The guest's threads take turns on one CPU: their vector registers are saved, and the helper
    // waits while no thread can run. If the server closes its socket, the wait ends.
    allow(libc::SYS_ioctl, Is(1, KVM_GET_XSAVE)),
    allow(libc::SYS_ppoll, Always),
    // Calls by which a wipe restores the state of the CPU.
    allow(libc::SYS_ioctl, Is(1, KVM_SET_SREGS)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_XCRS)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_XSAVE)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_DEBUGREGS)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_MSRS)),
    allow(libc::SYS_ioctl, Is(1, KVM_SET_VCPU_EVENTS)),
    // Call by which a wipe measures the memory that the job used.
    allow(libc::SYS_mincore, Always),
];

// Requests of KVM's `ioctl`, from the kernel's `linux/kvm.h`.
const KVM_CREATE_VM: u32 = 0xae01;
const KVM_GET_VCPU_MMAP_SIZE: u32 = 0xae04;
const KVM_GET_SUPPORTED_CPUID: u32 = 0xc008_ae05;
const KVM_CREATE_VCPU: u32 = 0xae41;
const KVM_SET_USER_MEMORY_REGION: u32 = 0x4020_ae46;
const KVM_RUN: u32 = 0xae80;
const KVM_GET_REGS: u32 = 0x8090_ae81;
const KVM_SET_REGS: u32 = 0x4090_ae82;
const KVM_GET_SREGS: u32 = 0x8138_ae83;
const KVM_SET_SREGS: u32 = 0x4138_ae84;
const KVM_SET_MSRS: u32 = 0x4008_ae89;
const KVM_SET_CPUID2: u32 = 0x4008_ae90;
const KVM_SET_VCPU_EVENTS: u32 = 0x4040_aea0;
const KVM_SET_DEBUGREGS: u32 = 0x4080_aea2;
const KVM_GET_XSAVE: u32 = 0x9000_aea4;
const KVM_SET_XSAVE: u32 = 0x5000_aea5;
const KVM_SET_XCRS: u32 = 0x4188_aea7;
const KVM_SET_MSR_FILTER: u32 = 0x4188_aec6;

/// Rules of launchers and of the programs that they start, in addition to the zygote's rules. A
/// call without a rule kills a worker. In a launcher or a program, such a call only returns an
/// error, because most programs are not written for a sandbox.
const LAUNCHER: &[Rule] = &[
    // The launcher starts its program once, from a descriptor that the kernel closes at this call.
    allow(libc::SYS_execveat, Is(4, libc::AT_EMPTY_PATH as u32)),
    allow(libc::SYS_pipe2, Always),
    // The launcher sets up the program's standard streams and its stream to a service.
    allow(libc::SYS_dup3, Is(1, 0)),
    allow(libc::SYS_dup3, Is(1, 1)),
    allow(libc::SYS_dup3, Is(1, 2)),
    allow(libc::SYS_dup3, Is(1, SERVICE)),
    allow(libc::SYS_prctl, Is(0, libc::PR_SET_PDEATHSIG as u32)),
    // The launcher of a persistent program makes its ends of the pipes non-blocking, and polls all
    // of them.
    allow(libc::SYS_fcntl, Is(1, libc::F_SETFL as u32)),
    allow(libc::SYS_ppoll, Always),
    // Calls of the start-up code of programs in C, Rust and Go.
    allow(libc::SYS_arch_prctl, Always),
    allow(libc::SYS_set_tid_address, Always),
    allow(libc::SYS_sigaltstack, Always),
    allow(libc::SYS_poll, Always),
    allow(libc::SYS_fcntl, Is(1, libc::F_GETFL as u32)),
    allow(libc::SYS_fcntl, Is(1, libc::F_GETFD as u32)),
    allow(libc::SYS_uname, Always),
    // Calls of programs with several threads. `fork` calls `clone` with other flags, which the
    // zygote's rules allow. Only the launcher may use these flags: `Program::of_program` denies
    // them to the program.
    allow(libc::SYS_clone, Is(0, THREAD_FLAGS_GO)),
    allow(libc::SYS_clone, Is(0, THREAD_FLAGS_LIBC)),
    allow(libc::SYS_futex, Always),
    allow(libc::SYS_sched_yield, Always),
    allow(libc::SYS_nanosleep, Always),
    allow(libc::SYS_clock_nanosleep, Always),
    allow(libc::SYS_exit, Always),
    // Without these calls, Go's runtime exits when it first reads a file. These calls give a
    // program no further access, because they only wait for descriptors that the program already
    // has.
    allow(libc::SYS_epoll_create1, Always),
    allow(libc::SYS_epoll_ctl, Always),
    allow(libc::SYS_epoll_pwait, Always),
    allow(libc::SYS_eventfd2, Always),
    // Calls that return the ids of user, group and parent process. The ids of user and group reveal
    // nothing, since all programs run as the same user.
    allow(libc::SYS_getuid, Always),
    allow(libc::SYS_geteuid, Always),
    allow(libc::SYS_getgid, Always),
    allow(libc::SYS_getegid, Always),
    allow(libc::SYS_getppid, Always),
    // Calls with a path fail with ENOENT, as if no file existed.
    answer(libc::SYS_open, NO_ENTRY),
    answer(libc::SYS_openat, NO_ENTRY),
    answer(libc::SYS_readlink, NO_ENTRY),
    answer(libc::SYS_readlinkat, NO_ENTRY),
    answer(libc::SYS_access, NO_ENTRY),
    answer(libc::SYS_faccessat, NO_ENTRY),
];

/// Rules that precede the launcher's rules if its programs may open files. Landlock decides which
/// files. These rules allow only reading of existing files, because Landlock does not check every
/// flag of `open`. Landlock never checks O_PATH, which would reveal which files exist, and checks
/// O_TRUNC only from ABI version 3 on.
const FILES: &[Rule] = &[
    allow(libc::SYS_open, Lacks(1, WRITE_FLAGS)),
    allow(libc::SYS_openat, Lacks(2, WRITE_FLAGS)),
    answer(libc::SYS_open, NO_ACCESS),
    answer(libc::SYS_openat, NO_ACCESS),
];

/// Flags of `open` that request anything other than reading an existing file.
const WRITE_FLAGS: u32 =
    (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_PATH | libc::O_TMPFILE) as u32;

/// System calls that a zygote and a launcher may make, but their programs may not.
const LAUNCHER_ONLY: &[libc::c_long] = &[
    libc::SYS_setpgid,
    libc::SYS_prctl,
    libc::SYS_dup3,
    libc::SYS_sendmsg,
];

/// Rules of the init process, whose only task is to keep the process namespace alive.
const INIT: &[Rule] = &[
    allow(libc::SYS_pause, Always),
    allow(libc::SYS_rt_sigreturn, Always),
    allow(libc::SYS_exit_group, Always),
];

/// Compiled filter, as BPF instructions.
#[derive(Clone)]
pub(super) struct Program(Vec<libc::sock_filter>);

impl Program {
    pub(super) fn zygote() -> Program {
        Program(compile(ZYGOTE, KILL))
    }

    /// Compiles the filter of a zygote whose children are launchers. `files` is true if the
    /// programs that they start may open files.
    pub(super) fn launcher(files: bool) -> Program {
        let files = if files { FILES } else { &[] };
        let rules = files.iter().chain(LAUNCHER).chain(ZYGOTE);
        Program(compile(rules, NO_SUCH_CALL))
    }

    /// Compiles the filter of a zygote whose children are helpers, which host microVMs. The first
    /// matching rule of a call decides, so the rules for KVM precede the zygote's rule that denies
    /// `ioctl`.
    pub(super) fn machine() -> Program {
        let rules = MACHINE.iter().chain(ZYGOTE);
        Program(compile(rules, KILL))
    }

    pub(super) fn init() -> Program {
        Program(compile(INIT, KILL))
    }

    /// Compiles the filter of a program, which applies in addition to the launcher's filter. `file`
    /// is the descriptor of the program's file. The program may start threads, but no processes.
    /// The filter denies the calls that only the launcher needs: the program cannot leave its
    /// process group, cannot change the signal that it gets at the launcher's death, and cannot
    /// move or send a descriptor. The filter allows `execveat` for the number `file` only. This
    /// descriptor closes when the program starts, and no other executable can get its number. So
    /// the program cannot execute another file.
    pub(super) fn of_program(file: i32) -> Program {
        let mut program = vec![load(NUMBER)];
        for lost in LAUNCHER_ONLY {
            program.extend([
                jump(libc::BPF_JEQ, *lost as u32, 0, 1),
                return_verdict(NO_SUCH_CALL),
            ]);
        }
        program.extend([
            jump(libc::BPF_JEQ, libc::SYS_execveat as u32, 0, 4),
            load(low(0)),
            jump(libc::BPF_JEQ, file as u32, 0, 1),
            return_verdict(ALLOW),
            return_verdict(NO_SUCH_CALL),
            jump(libc::BPF_JEQ, libc::SYS_clone as u32, 1, 0),
            return_verdict(ALLOW),
            load(low(0)),
            jump(libc::BPF_JSET, libc::CLONE_THREAD as u32, 0, 1),
            return_verdict(ALLOW),
            return_verdict(NOT_PERMITTED),
        ]);
        Program(program)
    }

    /// Compiles a second filter for a child, for hosts where no limit denies `fork`. This filter
    /// denies `clone`. The zygote's rules allow other calls that only the zygote needs, but a child
    /// cannot use them: it has no children to wait for, and no socket through which it could send a
    /// descriptor.
    pub(super) fn child() -> Program {
        Program(vec![
            load(NUMBER),
            jump(libc::BPF_JEQ, libc::SYS_clone as u32, 1, 0),
            return_verdict(ALLOW),
            return_verdict(KILL),
        ])
    }

    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the FNV-1a hash of the instructions. The hash distinguishes filters, but an attacker
    /// could construct two filters with the same hash.
    pub(super) fn hash(&self) -> u64 {
        let words = self.0.iter().map(|op| {
            u64::from(op.code) << 48
                | u64::from(op.jt) << 40
                | u64::from(op.jf) << 32
                | u64::from(op.k)
        });
        let bytes = words.flat_map(u64::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Installs the filter for this process, which must have one thread, and for all processes that
    /// this process forks later.
    pub(super) fn install(&self) -> Result<(), Errno> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.0.len())
                .expect("the filter has fewer than 65,536 instructions"),
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: `filter` points to `len` instructions, which the kernel copies before the call
        // returns.
        let result = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            )
        };
        checked(result).map(|_| ())
    }
}

// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
/// Architecture of the only allowed calls: the kernel's `AUDIT_ARCH_X86_64`.
const X86_64: u32 = 0xc000_003e;
/// First call number of the x32 interface.
const X32: u32 = 0x4000_0000;

/// Compiles rules to instructions of this shape. `otherwise` is the verdict for a call that no rule
/// matches.
///
/// ```text
/// other architecture or x32 → kill
/// for each rule:  number differs → next rule;  [condition fails → next rule];  its verdict
/// otherwise
/// ```
fn compile<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    otherwise: u32,
) -> Vec<libc::sock_filter> {
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, X86_64, 1, 0),
        return_verdict(KILL),
        load(NUMBER),
        jump(libc::BPF_JGE, X32, 0, 1),
        return_verdict(KILL),
    ];
    for rule in rules {
        let number = rule.call as u32;
        match rule.when {
            Always => program.extend([
                jump(libc::BPF_JEQ, number, 0, 1),
                return_verdict(rule.verdict),
            ]),
            Is(argument, value) => program.extend([
                jump(libc::BPF_JEQ, number, 0, 6),
                load(high(argument)),
                jump(libc::BPF_JEQ, 0, 0, 3),
                load(low(argument)),
                jump(libc::BPF_JEQ, value, 0, 1),
                return_verdict(rule.verdict),
                load(NUMBER),
            ]),
            Lacks(argument, bits) => program.extend([
                jump(libc::BPF_JEQ, number, 0, 4),
                load(low(argument)),
                jump(libc::BPF_JSET, bits, 1, 0),
                return_verdict(rule.verdict),
                load(NUMBER),
            ]),
        }
    }
    program.push(return_verdict(otherwise));
    program
}

fn low(argument: u8) -> u32 {
    ARGUMENTS + 8 * u32::from(argument)
}

fn high(argument: u8) -> u32 {
    low(argument) + 4
}

fn load(offset: u32) -> libc::sock_filter {
    op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn jump(test: u32, value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    op(libc::BPF_JMP | test | libc::BPF_K, value, then, otherwise)
}

fn return_verdict(verdict: u32) -> libc::sock_filter {
    op(libc::BPF_RET | libc::BPF_K, verdict, 0, 0)
}

fn op(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

#[cfg(test)]
mod tests;
