//! System call filters: tables of rules, and the BPF program made of each.
//!
//! A call that no rule names kills the process. A filter never looks through a pointer, so a rule judges the call's
//! number and at most one of its arguments.

use crate::syscall::checked;
use rustix::io::Errno;

/// When a rule holds.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// The argument's low half is this number, its high half zero.
    Is(u8, u32),
    /// The argument's low half has none of these bits.
    Lacks(u8, u32),
}
use When::{Always, Is, Lacks};

/// One system call and what becomes of it; where the condition does not hold the process is killed.
struct Rule {
    call: libc::c_long,
    when: When,
    verdict: u32,
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
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
const EXECUTABLE: u32 = libc::PROT_EXEC as u32;
const FILTER_MODE: u32 = 1;
const FUTEX_WAKE_PRIVATE: u32 = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u32;
const CONTROL: u32 = crate::spawn::CONTROL_FD as u32;

/// For the zygote, and inherited by its children. No allowed call can sleep but those that read a socket of the server's,
/// so a child whose server died ends by that or by its CPU limit.
const ZYGOTE: &[Rule] = &[
    // The job's original and answer; the child's reply.
    allow(libc::SYS_read, Always),
    allow(libc::SYS_pread64, Always),
    allow(libc::SYS_readv, Always),
    allow(libc::SYS_write, Always),
    allow(libc::SYS_pwrite64, Always),
    allow(libc::SYS_writev, Always),
    allow(libc::SYS_lseek, Always),
    allow(libc::SYS_fstat, Always),
    allow(libc::SYS_close, Always),
    // The allocator.
    allow(libc::SYS_brk, Always),
    allow(libc::SYS_mmap, Lacks(2, EXECUTABLE)),
    allow(libc::SYS_mprotect, Lacks(2, EXECUTABLE)),
    allow(libc::SYS_munmap, Always),
    allow(libc::SYS_mremap, Always),
    allow(libc::SYS_madvise, Always),
    // Locks and once-cells of libc and codecs wake without looking whether anybody waits. With one thread nobody does.
    allow(libc::SYS_futex, Is(1, FUTEX_WAKE_PRIVATE)),
    allow(libc::SYS_futex, Is(1, libc::FUTEX_WAKE as u32)),
    // Hash tables' keys.
    allow(libc::SYS_getrandom, Always),
    // The clock where the vDSO cannot answer; the job's usage.
    allow(libc::SYS_clock_gettime, Always),
    allow(libc::SYS_getrusage, Always),
    // Codecs ask how many cores there are.
    allow(libc::SYS_sched_getaffinity, Is(0, 0)),
    // libc's `qsort` asks how much memory there is before it takes any for itself.
    allow(libc::SYS_sysinfo, Always),
    // `abort` unblocks and resets its signal, then kills itself by an illegal instruction, since `tgkill` is denied.
    allow(libc::SYS_rt_sigaction, Always),
    allow(libc::SYS_rt_sigprocmask, Always),
    allow(libc::SYS_rt_sigreturn, Always),
    allow(libc::SYS_getpid, Always),
    allow(libc::SYS_gettid, Always),
    answer(libc::SYS_tgkill, NOT_PERMITTED),
    allow(libc::SYS_exit_group, Always),
    // The child: its job, its place among the descriptors, its limits, and its second filter where it has one.
    allow(libc::SYS_recvmsg, Always),
    allow(libc::SYS_dup3, Always),
    allow(libc::SYS_close_range, Always),
    allow(libc::SYS_prlimit64, Is(0, 0)),
    allow(libc::SYS_setitimer, Always),
    allow(libc::SYS_sched_setscheduler, Is(0, 0)),
    allow(libc::SYS_seccomp, Is(0, FILTER_MODE)),
    allow(libc::SYS_set_robust_list, Always),
    // The zygote: fork, reap, report. A child has no socket of this number, and loses `fork` by a limit.
    allow(libc::SYS_clone, Is(0, FORK_FLAGS)),
    allow(libc::SYS_pidfd_open, Always),
    allow(libc::SYS_wait4, Always),
    allow(libc::SYS_sendmsg, Is(0, CONTROL)),
    // Its flags lie behind a pointer; libc falls back to `clone`.
    answer(libc::SYS_clone3, NO_SUCH_CALL),
    // Both take a path, or an empty one for a descriptor, and a filter cannot tell which.
    answer(libc::SYS_statx, NO_SUCH_CALL),
    answer(libc::SYS_newfstatat, NO_SUCH_CALL),
    // Terminals are asked for by buffered output.
    answer(libc::SYS_ioctl, NOT_PERMITTED),
];

/// For the process that only keeps the process namespace alive.
const INIT: &[Rule] = &[
    allow(libc::SYS_pause, Always),
    allow(libc::SYS_rt_sigreturn, Always),
    allow(libc::SYS_exit_group, Always),
];

/// A filter's program.
#[derive(Clone)]
pub(super) struct Program(Vec<libc::sock_filter>);

impl Program {
    pub(super) fn zygote() -> Program {
        Program(compile(ZYGOTE))
    }

    pub(super) fn init() -> Program {
        Program(compile(INIT))
    }

    /// For a child, on top of the zygote's, where no limit takes `fork` away. Of the calls that only the zygote needs it
    /// is the one that a child could use: a child waits for nobody, and has no way to send a descriptor.
    pub(super) fn child() -> Program {
        Program(vec![
            load(NUMBER),
            jump(libc::BPF_JEQ, libc::SYS_clone as u32, 1, 0),
            give(ALLOW),
            give(KILL),
        ])
    }

    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// FNV-1a over the instructions: tells one filter from another, and withstands no forger.
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

    /// Filters this thread, which is the only one, and all it forks.
    pub(super) fn install(&self) -> Result<(), Errno> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.0.len()).expect("tables are short"),
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: `filter` points to `len` instructions, which the kernel copies before the call returns.
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
/// `AUDIT_ARCH_X86_64`.
const X86_64: u32 = 0xc000_003e;
/// Numbers from here on are those of the x32 interface.
const X32: u32 = 0x4000_0000;

/// ```text
/// other architecture or x32 → kill
/// for each rule:  number differs → next;  [condition fails → kill or next rule of this call];  its verdict
/// kill
/// ```
fn compile(rules: &[Rule]) -> Vec<libc::sock_filter> {
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, X86_64, 1, 0),
        give(KILL),
        load(NUMBER),
        jump(libc::BPF_JGE, X32, 0, 1),
        give(KILL),
    ];
    for rule in rules {
        let number = rule.call as u32;
        match rule.when {
            Always => program.extend([jump(libc::BPF_JEQ, number, 0, 1), give(rule.verdict)]),
            Is(argument, value) => program.extend([
                jump(libc::BPF_JEQ, number, 0, 6),
                load(high(argument)),
                jump(libc::BPF_JEQ, 0, 0, 3),
                load(low(argument)),
                jump(libc::BPF_JEQ, value, 0, 1),
                give(rule.verdict),
                load(NUMBER),
            ]),
            Lacks(argument, bits) => program.extend([
                jump(libc::BPF_JEQ, number, 0, 4),
                load(low(argument)),
                jump(libc::BPF_JSET, bits, 1, 0),
                give(rule.verdict),
                load(NUMBER),
            ]),
        }
    }
    program.push(give(KILL));
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

fn give(verdict: u32) -> libc::sock_filter {
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
