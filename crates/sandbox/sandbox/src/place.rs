//! Choice of the core on which a job starts.
//!
//! The kernel wakes a process on the core where it last ran, or on the core of the waking process,
//! unless another core is idle at that moment. Between two jobs, no core is idle, because the
//! previous child is still being freed. So the kernel could start a job on the core of another job.
//! The new job would wait there for milliseconds, until the other job's time slice ends. Meanwhile
//! the core of the previous child would be idle, until a timer tick moves a process to it. Each job
//! therefore starts on the core where the fewest running jobs of its pool started. After the start,
//! the kernel may move the job to any core.

use crate::procfs;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::os::fd::OwnedFd;

/// Cores of a pool, each with the number of running jobs that started on it.
pub(crate) struct Cores {
    /// Cores in the order in which jobs last ended on them. The last core is the most likely to be
    /// idle.
    cores: Vec<Core>,
    all: CpuSet,
}

#[derive(Debug)]
struct Core {
    id: usize,
    jobs: u32,
}

/// Index of a core, in the kernel's numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreId(usize);

impl Cores {
    /// Returns the cores that this thread may use. The result is empty if the kernel does not
    /// report the cores, or reports only one.
    pub(crate) fn own() -> Cores {
        let all = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        let ids = (0..CpuSet::MAX_CPU).filter(|id| all.is_set(*id));
        let core = |id| Core { id, jobs: 0 };
        let mut cores: Vec<_> = ids.map(core).collect();
        if cores.len() < 2 {
            cores.clear();
        }
        Cores { cores, all }
    }

    /// Returns an empty set, for a pool that leaves the choice of the core to the kernel.
    pub(crate) fn any() -> Cores {
        Cores {
            cores: Vec::new(),
            all: CpuSet::new(),
        }
    }

    /// Chooses the core for a new job, and counts the job on this core. Returns the core with the
    /// fewest jobs; of several such cores, the core on which a job ended most recently.
    pub(crate) fn take(&mut self) -> Option<CoreId> {
        let cores = self.cores.iter_mut().rev();
        let core = cores.min_by_key(|core| core.jobs)?;
        core.jobs += 1;
        Some(CoreId(core.id))
    }

    /// Records that a job that started on this core has ended.
    pub(crate) fn leave(&mut self, CoreId(id): CoreId) {
        let at = self.cores.iter().position(|core| core.id == id);
        let mut core = self
            .cores
            .remove(at.expect("the core of a running job is listed"));
        core.jobs -= 1;
        self.cores.push(core);
    }

    pub(crate) fn all(&self) -> &CpuSet {
        &self.all
    }
}

/// Returns the process id of a child that waits for its job.
pub(crate) fn process(pidfd: &OwnedFd) -> Option<Pid> {
    procfs::id(pidfd)
}

/// Makes a sleeping child wake on the given core. Returns false if the kernel refuses; the kernel
/// then chooses the core.
pub(crate) fn wake_on(child: Pid, CoreId(id): CoreId) -> bool {
    let mut one = CpuSet::new();
    one.set(id);
    sched_setaffinity(Some(child), &one).is_ok()
}

/// Lets a child run on any core of `all` again. The call fails only if the child has ended.
pub(crate) fn release(child: Pid, all: &CpuSet) {
    let _ended = sched_setaffinity(Some(child), all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(count: usize) -> Cores {
        let core = |id| Core { id, jobs: 0 };
        Cores {
            cores: (0..count).map(core).collect(),
            all: CpuSet::new(),
        }
    }

    #[test]
    fn no_two_jobs_begin_on_one_core_while_there_is_another() {
        let mut cores = cores(3);
        let mut taken: Vec<_> = (0..3).filter_map(|_| cores.take()).collect();
        taken.sort_by_key(|core| core.0);
        assert_eq!(taken, [CoreId(0), CoreId(1), CoreId(2)]);
        cores.leave(CoreId(1));
        assert_eq!(cores.take(), Some(CoreId(1)));
        // A fourth job must share one of the three cores. After the fourth job and the job on core
        // 0 have ended, core 0 is the only core without a job.
        let fourth = cores.take().expect("there are cores");
        cores.leave(fourth);
        cores.leave(CoreId(0));
        assert_eq!(cores.take(), Some(CoreId(0)));
    }

    #[test]
    fn the_core_that_was_left_last_is_the_next() {
        let mut cores = cores(4);
        for _ in 0..4 {
            cores.take();
        }
        for left in [2, 0, 3] {
            cores.leave(CoreId(left));
        }
        let next = [cores.take(), cores.take(), cores.take()];
        assert_eq!(next, [3, 0, 2].map(|id| Some(CoreId(id))));
    }

    #[test]
    fn without_a_choice_no_core_is_taken() {
        assert_eq!(Cores::any().take(), None);
    }
}
