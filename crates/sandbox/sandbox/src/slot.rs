//! One child that takes one job: a socket, a pidfd, and the place where its end is told.
//!
//! Nothing here knows what stands behind the socket, so that a helper with a microVM can.

use crate::seen;
use crate::weight::Weight;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, pidfd_send_signal};
use sandbox_protocol::control::{Ending, SlotId};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Holds for every lock of this crate.
pub(crate) const UNPOISONED: &str = "no thread panics while it holds this lock";

/// A child that waits for its job, or runs it.
pub(crate) struct Slot {
    pub(crate) id: SlotId,
    /// Counts the zygotes of its pool.
    pub(crate) generation: u64,
    pub(crate) socket: OwnedFd,
    pub(crate) pidfd: Arc<OwnedFd>,
    /// Where its jobs are told where to begin.
    pub(crate) process: Option<Pid>,
    pub(crate) end: Arc<End>,
    /// What is left to its present job, which gave way.
    pub(crate) gave_way: Option<Weight>,
}

impl Slot {
    /// Waits until there is something to read from the child: a reply, or the end. False when `deadline` came first.
    pub(crate) fn wait_readable(&self, deadline: Instant) -> Result<bool, Errno> {
        wait(&mut self.readable(), deadline)
    }

    /// What is readable when the child has replied or ended.
    pub(crate) fn readable(&self) -> [PollFd<'_>; 2] {
        [
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&*self.pidfd, PollFlags::IN),
        ]
    }

    /// As [`Slot::wait_readable`], or until `cancel` is readable.
    pub(crate) fn wait_readable_or(
        &self,
        cancel: BorrowedFd<'_>,
        deadline: Instant,
    ) -> Result<bool, Errno> {
        let [socket, end] = self.readable();
        let cancel = PollFd::from_borrowed_fd(cancel, PollFlags::IN);
        wait(&mut [socket, end, cancel], deadline)
    }

    /// Waits until the child exited. False when `deadline` came first.
    pub(crate) fn wait_exited(&self, deadline: Instant) -> Result<bool, Errno> {
        wait(&mut [PollFd::new(&*self.pidfd, PollFlags::IN)], deadline)
    }

    /// CPU time of the child, and of what it started, so far.
    pub(crate) fn cpu(&self) -> Duration {
        seen::cpu(&self.pidfd)
    }

    /// Has the child give way to others.
    pub(crate) fn give_way(&mut self) {
        let weight = Weight::given_way();
        // Some of its threads may have it, even if the kernel refuses.
        self.gave_way = Some(weight);
        weight.give(&self.pidfd);
    }

    /// Whether the child's next job has the weight that its present one began with.
    pub(crate) fn take_back_way(&mut self) -> bool {
        match self.gave_way.take() {
            None => true,
            Some(Weight::Little) => false,
            Some(_) => Weight::Usual.give(&self.pidfd),
        }
    }

    /// Kills the child. It may have ended already, so there is nothing to report.
    pub(crate) fn kill(&self) {
        kill(&self.pidfd);
    }

    /// Kills the child, and frees its memory here and now: one that gets no CPU would hold it until it gets some.
    pub(crate) fn end_at_once(&self) {
        // Where the kernel refuses, it dies with the weight that it has.
        Weight::Usual.give(&self.pidfd);
        self.kill();
        // Since Linux 5.15, and only for a process that was killed; before, memory goes when the process does.
        let no_flags = 0;
        // SAFETY: takes a descriptor of ours and a number, and touches no memory of this process.
        unsafe { libc::syscall(libc::SYS_process_mrelease, self.pidfd.as_raw_fd(), no_flags) };
    }
}

/// Waits until one of these is ready. False when `deadline` came first.
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
        Err(errno) => unreachable!("a pidfd takes SIGKILL: {errno}"),
    }
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).expect("waits are bounded by limits of 32 bits of milliseconds")
}

/// Where the keeper puts a child's end, and the thread that ran its job looks for it.
#[derive(Debug, Default)]
pub(crate) struct End {
    told: Mutex<Option<Told>>,
    changed: Condvar,
}

/// How much is known of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Reaped(Ending),
    /// The zygote that should have told died first.
    Unknown,
}

impl End {
    pub(crate) fn tell(&self, told: Told) {
        *self.told.lock().expect(UNPOISONED) = Some(told);
        self.changed.notify_all();
    }

    /// Waits at most `time`; the end of a process that died is told within a millisecond or so.
    pub(crate) fn wait(&self, time: Duration) -> Told {
        let told = self.told.lock().expect(UNPOISONED);
        let (told, _) = self
            .changed
            .wait_timeout_while(told, time, |told| told.is_none())
            .expect(UNPOISONED);
        told.unwrap_or(Told::Unknown)
    }
}
