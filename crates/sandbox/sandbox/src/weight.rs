//! How much of a CPU a child gets when others want it, too.

use crate::seen;
use crate::syscall::checked;
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, getpriority_process, setpriority_process};
use std::os::fd::OwnedFd;

/// How often a child's threads are looked for anew: one that was started meanwhile is as the one that started it was.
const LOOKS_MAX: u32 = 8;

/// 15 of the 1,024 that others have (sched(7)).
const NICE: i32 = 19;

/// What each thread of a child gets, of a CPU that it and others want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// As much as others.
    Usual,
    /// A seventieth: for children of anybody but root, who cannot come back. They have to run once more to end.
    Little,
    /// SCHED_IDLE, a three-hundredth: for root's, who come back before they are ended.
    Least,
}

impl Weight {
    /// What is left to a child that gives way.
    pub(crate) fn given_way() -> Weight {
        match geteuid().is_root() {
            true => Weight::Least,
            false => Weight::Little,
        }
    }

    /// Gives it to all threads of a child and of what it started. Whether they have it: the kernel may refuse.
    pub(crate) fn give(self, pidfd: &OwnedFd) -> bool {
        for _ in 0..LOOKS_MAX {
            let mut others = seen::threads(pidfd);
            others.retain(|thread| !self.is_of(*thread));
            if others.is_empty() {
                return true;
            }
            if !others.into_iter().all(|thread| self.give_one(thread)) {
                return false;
            }
        }
        false
    }

    /// Whether a thread has it, or has ended.
    fn is_of(self, thread: Pid) -> bool {
        let nice = getpriority_process(Some(thread));
        match (self.policy(), nice) {
            (Some(policy), Ok(_)) => policy_of(thread) == libc::c_long::from(policy),
            (None, Ok(nice)) => nice == NICE,
            (_, Err(_)) => true,
        }
    }

    fn give_one(self, thread: Pid) -> bool {
        let given = match self.policy() {
            Some(policy) => set_policy(thread, policy),
            None => setpriority_process(Some(thread), NICE),
        };
        matches!(given, Ok(()) | Err(Errno::SRCH))
    }

    fn policy(self) -> Option<i32> {
        match self {
            Weight::Usual => Some(libc::SCHED_OTHER),
            Weight::Least => Some(libc::SCHED_IDLE),
            Weight::Little => None,
        }
    }
}

fn policy_of(thread: Pid) -> libc::c_long {
    // SAFETY: asks for a number, of a thread that may have ended.
    unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread.as_raw_nonzero().get()) }
}

fn set_policy(thread: Pid, policy: i32) -> Result<(), Errno> {
    let parameter = libc::sched_param { sched_priority: 0 };
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: reads a structure of this frame, for a thread of a child.
    let done = unsafe {
        libc::syscall(
            call,
            thread.as_raw_nonzero().get(),
            policy,
            &raw const parameter,
        )
    };
    checked(done).map(|_| ())
}
