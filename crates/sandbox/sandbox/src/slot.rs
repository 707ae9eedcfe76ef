//! A slot: the server's handles of one child process. These handles are the child's socket, pidfd
//! and exit report.
//!
//! This module does not depend on the kind of the child: the child may be a worker, a program's
//! launcher, or a helper with a microVM.

use crate::exit::PendingExit;
use crate::procfs;
use crate::weight::Weight;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, pidfd_send_signal};
use sandbox_protocol::control::SlotId;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Child that waits for a job or runs a job.
pub(crate) struct Slot {
    pub(crate) id: SlotId,
    /// Number of the zygote that forked the child, counted per pool.
    pub(crate) generation: u64,
    pub(crate) socket: OwnedFd,
    pub(crate) pidfd: Arc<OwnedFd>,
    /// Process whose CPU affinity is set, to choose the core on which a job starts. `None` if the
    /// kernel chooses the core.
    pub(crate) process: Option<Pid>,
    pub(crate) end: Arc<PendingExit>,
    /// Reduced scheduling weight of the child, if its current job was deprioritized.
    pub(crate) reduced_weight: Option<Weight>,
}

impl Slot {
    /// Waits until the child replies or ends. Returns false if `deadline` passed first.
    pub(crate) fn wait_readable(&self, deadline: Instant) -> Result<bool, Errno> {
        wait(&mut self.readable(), deadline)
    }

    /// Returns the descriptors that become readable when the child replies or ends.
    pub(crate) fn readable(&self) -> [PollFd<'_>; 2] {
        [
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&*self.pidfd, PollFlags::IN),
        ]
    }

    /// Waits like [`Slot::wait_readable`], or until `cancel` is readable.
    pub(crate) fn wait_readable_or(
        &self,
        cancel: BorrowedFd<'_>,
        deadline: Instant,
    ) -> Result<bool, Errno> {
        let [socket, end] = self.readable();
        let cancel = PollFd::from_borrowed_fd(cancel, PollFlags::IN);
        wait(&mut [socket, end, cancel], deadline)
    }

    /// Waits until the child has exited. Returns false if `deadline` passed first.
    pub(crate) fn wait_exited(&self, deadline: Instant) -> Result<bool, Errno> {
        wait(&mut [PollFd::new(&*self.pidfd, PollFlags::IN)], deadline)
    }

    /// Returns the CPU time of the child and of its descendants so far.
    pub(crate) fn cpu(&self) -> Duration {
        procfs::cpu(&self.pidfd)
    }

    /// Lowers the scheduling priority of the child.
    pub(crate) fn deprioritize(&mut self) {
        let weight = Weight::deprioritized();
        // The weight is recorded even if the kernel refuses it: some threads may have the new
        // weight.
        self.reduced_weight = Some(weight);
        weight.apply(&self.pidfd);
    }

    /// Restores the child's usual scheduling weight. Returns false if the weight cannot be
    /// restored.
    pub(crate) fn restore_weight(&mut self) -> bool {
        match self.reduced_weight.take() {
            None => true,
            Some(Weight::Little) => false,
            Some(_) => Weight::Usual.apply(&self.pidfd),
        }
    }

    /// Kills the child. Has no effect if the child has ended already.
    pub(crate) fn kill(&self) {
        kill(&self.pidfd);
    }

    /// Kills the child and frees its memory at once. A child that is only killed keeps its memory
    /// until it gets CPU time for its exit.
    pub(crate) fn end_at_once(&self) {
        // If the kernel refuses the usual weight, the child exits with its current weight.
        Weight::Usual.apply(&self.pidfd);
        self.kill();
        // `process_mrelease` exists since Linux 5.15, and works only for a process that was killed.
        // In older kernels, the memory is freed when the process exits.
        let no_flags = 0;
        // SAFETY: the call takes a descriptor of ours and a number, and touches no memory of this
        // process.
        unsafe { libc::syscall(libc::SYS_process_mrelease, self.pidfd.as_raw_fd(), no_flags) };
    }
}

/// Waits until one of `watched` is ready. Returns false if `deadline` passed first.
pub(crate) fn wait(watched: &mut [PollFd<'_>], deadline: Instant) -> Result<bool, Errno> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(watched, Some(&timespec(left))) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno),
        }
    }
}

pub(crate) fn kill(pidfd: &OwnedFd) {
    match pidfd_send_signal(pidfd.as_fd(), Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(errno) => unreachable!("a pidfd accepts SIGKILL: {errno}"),
    }
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).expect("waits are bounded by limits of 32 bits of milliseconds")
}
