//! The server's end of one zygote.

use crate::channel;
use crate::control::{CONTROL_BYTES_MAX, Command, Report, SlotId};
use crate::limits::Limits;
use crate::memfd::above;
use crate::spawn::{Process, spawn};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A process that forks children when told to. Dropping it kills what is left of it.
pub(crate) struct Zygote {
    pub(crate) process: Process,
    control: OwnedFd,
}

impl Zygote {
    /// Starts `program`; it has not said yet that it is ready.
    pub(crate) fn start(program: BorrowedFd<'_>, limits: &Limits) -> Result<Zygote, Errno> {
        let (control, theirs) = channel::pair()?;
        let theirs = above(theirs.as_fd())?;
        let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let null = above(null.as_fd())?;
        let start = Command::Start {
            max_memory_bytes: limits.max_memory_bytes,
            children: limits.children() as u64,
        };
        // Sent before anybody can hang up: a program that ends at once is then always found by its reports.
        channel::send(control.as_fd(), &start.to_bytes(), &[], SendFlags::DONTWAIT)?;
        let process = spawn(program, theirs.as_fd(), null.as_fd(), &environment(limits))?;
        Ok(Zygote { process, control })
    }

    /// Asks for a child, now or when another ended, that serves the other end of `socket`. `EAGAIN` when the zygote is behind with its work.
    pub(crate) fn fork(&self, slot: SlotId, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        let command = Command::Fork(slot).to_bytes();
        channel::send(
            self.control.as_fd(),
            &command,
            &[socket],
            SendFlags::DONTWAIT,
        )
    }

    /// The next report, with the pidfd of a child that was forked. `Ok(None)` when there is none yet; an error when
    /// the zygote is gone or talks nonsense, which is the same to us.
    pub(crate) fn report(&self) -> Result<Option<(Report, Option<OwnedFd>)>, Errno> {
        let mut bytes = [0; CONTROL_BYTES_MAX];
        let flags = RecvFlags::DONTWAIT;
        match channel::receive(self.control.as_fd(), &mut bytes, flags) {
            Ok((0, _)) => Err(Errno::PIPE),
            Ok((len, descriptors)) => match Report::from_bytes(&bytes[..len]) {
                Some(report) => Ok(Some((report, descriptors.into_iter().next()))),
                None => Err(Errno::BADMSG),
            },
            Err(Errno::AGAIN) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Tells the zygote to fork no more, and to leave when its last child did.
    pub(crate) fn retire(&self) -> Result<(), Errno> {
        shutdown(&self.control, Shutdown::Write)
    }

    pub(crate) fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// The worker inherits nothing of the server's environment.
fn environment(limits: &Limits) -> Vec<CString> {
    let tunables = c"GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
    if limits.hugepages {
        vec![tunables.to_owned()]
    } else {
        Vec::new()
    }
}
