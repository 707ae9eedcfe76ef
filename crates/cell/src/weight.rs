//! How much of a CPU a child gets when others want it, too.
//!
//! A child is the first of a process group, in which all that it starts stays, so a group's weight is that of a job.

use crate::seen;
use rustix::process::{Pid, getpriority_pgrp, setpriority_pgrp};
use std::os::fd::OwnedFd;

/// For whoever gives way: 15 of the 1,024 that others have (sched(7)), so a seventieth of a CPU that both want.
const NICE: i32 = 19;

/// What a child was before it gave way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    group: Pid,
    nice: i32,
}

/// Has the child give way. `None` where the kernel does not say which process it is, or refuses.
pub(crate) fn give_way(pidfd: &OwnedFd) -> Option<Before> {
    let group = seen::id(pidfd)?;
    let nice = getpriority_pgrp(Some(group)).ok()?;
    setpriority_pgrp(Some(group), NICE).ok()?;
    Some(Before { group, nice })
}

impl Before {
    /// Whether the child is again what it was.
    pub(crate) fn restore(self) -> bool {
        setpriority_pgrp(Some(self.group), self.nice).is_ok()
    }
}
