//! State that the callers of a pool share with its supervisor.

use crate::limits::Limits;
use crate::posture::Backend;
use crate::queue::{Queue, Signal};
use crate::slot::Slot;
use crate::stats::Counters;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::thread::CpuSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// State shared between callers and the supervisor.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    /// True if each child runs several jobs, one after another, and reports when it is ready for
    /// the next job.
    pub(crate) reuses_children: bool,
    /// True if jobs are runs of a program, false if the worker runs them.
    pub(crate) runs_program: bool,
    /// CPU time after which a job is deprioritized; `None` if jobs are never deprioritized.
    pub(crate) deprioritize_after: Option<Duration>,
    /// Kind of sandbox that runs the jobs. `fell_back` is the reason why [`Backend::Auto`] chose
    /// processes, if it did.
    pub(crate) backend: Backend,
    pub(crate) fell_back: Option<String>,
    pub(crate) counters: Counters,
    /// All cores on which a job may run.
    pub(crate) all_cores: CpuSet,
    pub(crate) queue: Queue<Slot, Wake>,
}

impl Shared {
    /// Returns whether the pool runs persistent programs in processes. A persistent program does
    /// not report its memory, so the pool reads the peak of this memory from `/proc`.
    pub(crate) fn keeps_processes(&self) -> bool {
        self.reuses_children && self.runs_program && self.backend == Backend::Process
    }
}

/// Eventfd that wakes the supervisor from its poll.
pub(crate) struct Wake(OwnedFd);

impl Wake {
    pub(crate) fn new() -> Result<Wake, Errno> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Wake)
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Signal for Wake {
    fn raise(&self) {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())
            .expect("an eventfd accepts a small number");
    }

    fn clear(&self) {
        let mut raised = [0; 8];
        // The read fails if the eventfd was not raised. This error needs no handling.
        let _raised = rustix::io::read(&self.0, &mut raised);
    }
}
