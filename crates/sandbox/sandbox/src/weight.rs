//! Scheduling weight of a child. If other processes need the same CPU, the weight determines the
//! child's share of the CPU time.

use crate::procfs;
use crate::syscall::checked;
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, getpriority_process, setpriority_process};
use std::os::fd::OwnedFd;

/// Maximum number of passes over a child's threads. A thread started during a pass inherits the old
/// weight, so passes repeat until all threads have the new weight.
const PASSES_MAX: u32 = 8;

/// Nice value whose weight is 15, while other processes have a weight of 1,024 (sched(7)).
const NICE: i32 = 19;

/// Scheduling weight of each thread of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The weight of other processes.
    Usual,
    /// A seventieth of the usual weight, for a server that is not root. Such a server cannot raise
    /// a weight again. A killed child therefore keeps this weight, and must still get enough CPU
    /// time to exit.
    Little,
    /// A three-hundredth of the usual weight (SCHED_IDLE), for a server that is root. Such a server
    /// raises the weight again before it kills the child.
    Least,
}

impl Weight {
    /// Returns the weight of a deprioritized child.
    pub(crate) fn deprioritized() -> Weight {
        match geteuid().is_root() {
            true => Weight::Least,
            false => Weight::Little,
        }
    }

    /// Sets this weight for all threads of a child and of its descendants. Returns false if the
    /// kernel refuses, or if new threads still appear after [`PASSES_MAX`] passes.
    pub(crate) fn apply(self, pidfd: &OwnedFd) -> bool {
        for _ in 0..PASSES_MAX {
            let mut others = procfs::threads(pidfd);
            others.retain(|thread| !self.applies_to(*thread));
            if others.is_empty() {
                return true;
            }
            if !others.into_iter().all(|thread| self.apply_to(thread)) {
                return false;
            }
        }
        false
    }

    /// Returns whether a thread has this weight, or has ended.
    fn applies_to(self, thread: Pid) -> bool {
        let nice = getpriority_process(Some(thread));
        match (self.policy(), nice) {
            (Some(policy), Ok(_)) => policy_of(thread) == libc::c_long::from(policy),
            (None, Ok(nice)) => nice == NICE,
            (_, Err(_)) => true,
        }
    }

    fn apply_to(self, thread: Pid) -> bool {
        let result = match self.policy() {
            Some(policy) => set_policy(thread, policy),
            None => setpriority_process(Some(thread), NICE),
        };
        matches!(result, Ok(()) | Err(Errno::SRCH))
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
    // SAFETY: the call takes and returns only numbers. If the thread has ended, the call returns an
    // error.
    unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread.as_raw_nonzero().get()) }
}

fn set_policy(thread: Pid, policy: i32) -> Result<(), Errno> {
    let parameter = libc::sched_param { sched_priority: 0 };
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the kernel only reads `parameter`, a local variable that outlives the call.
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
