//! Server's side of one zygote: starts it, sends it commands, and receives its reports.

use crate::channel;
use crate::limits::Limits;
use crate::memfd::dup_above;
use crate::posture::HugePages;
use crate::spawn::{Process, spawn};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use sandbox_protocol::control::{CONTROL_BYTES_MAX, Command, ProgramText, Report, SlotId, Start};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Process that forks children on command. Dropping this value kills the process and its remaining
/// children.
pub(crate) struct Zygote {
    pub(crate) process: Process,
    control: OwnedFd,
}

/// Files and strings that each zygote of a pool receives at its start.
pub(crate) struct ZygoteSource {
    /// Executable of the worker, which every zygote runs.
    pub(crate) worker: OwnedFd,
    /// Program that the jobs run, if it is not the worker.
    pub(crate) program: Option<OwnedFd>,
    /// Open `/dev/kvm`, if each child hosts a microVM.
    pub(crate) device: Option<OwnedFd>,
    pub(crate) words: Vec<StartText>,
}

/// String for a program (an argument, a variable or a path), with the open file if it is a path.
pub(crate) type StartText = (ProgramText, Vec<u8>, Option<OwnedFd>);

impl Zygote {
    /// Starts a zygote. It may be used only after it has reported that it is ready.
    pub(crate) fn start(zygote_source: &ZygoteSource, limits: &Limits) -> Result<Zygote, Errno> {
        let (control, theirs) = channel::pair()?;
        let theirs = dup_above(theirs.as_fd())?;
        let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let null = dup_above(null.as_fd())?;
        let machine = zygote_source.device.is_some();
        // Huge pages are requested only if the host provides them. On another host, the request
        // would only make the zygote copy its code to other small pages, which makes no job faster.
        let uses_huge_pages = |wanted| HugePages::read(wanted) == HugePages::On;
        let start = Command::Start(Start {
            machine,
            program: zygote_source.program.is_some(),
            ephemeral: limits.ephemeral,
            hugepages: uses_huge_pages(limits.hugepages),
            work_hugepages: uses_huge_pages(limits.request_hugepages),
            max_memory_bytes: limits.max_memory_bytes,
            max_work_memory_bytes: limits.max_work_memory_bytes,
            children: limits.children() as u64,
            words: zygote_source.words.len() as u64,
        });
        let worker = zygote_source.worker.as_fd();
        let program = zygote_source.program.as_ref().map(AsFd::as_fd);
        let descriptors_to_send: Vec<_> = match &zygote_source.device {
            Some(device) => vec![program.unwrap_or(worker), device.as_fd()],
            None => program.into_iter().collect(),
        };
        // The first command is sent before the process starts, so an early end of the process
        // cannot make this call fail. An early end is detected later, when the reports of the
        // process are read.
        let flags = SendFlags::DONTWAIT;
        channel::send(
            control.as_fd(),
            &start.to_bytes(),
            &descriptors_to_send,
            flags,
        )?;
        for (word, text, file) in &zygote_source.words {
            let command = Command::ProgramText(*word, text.clone()).to_bytes();
            let file: Vec<_> = file.iter().map(AsFd::as_fd).collect();
            channel::send(control.as_fd(), &command, &file, flags)?;
        }
        let environment = environment(limits, machine);
        let process = spawn(worker, theirs.as_fd(), null.as_fd(), &environment)?;
        Ok(Zygote { process, control })
    }

    /// Orders the fork of a child that serves the other end of `socket`. The zygote forks the child
    /// at once or, if it has the maximum number of children, when one of its children has ended.
    /// Returns `EAGAIN` if the zygote's queue of commands is full.
    pub(crate) fn fork(&self, slot: SlotId, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        let command = Command::Fork(slot).to_bytes();
        channel::send(
            self.control.as_fd(),
            &command,
            &[socket],
            SendFlags::DONTWAIT,
        )
    }

    /// Receives the next report, with the pidfd if a child was forked. Returns `Ok(None)` if no
    /// report has arrived, and an error if the zygote is gone or sent an invalid report.
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

    /// Orders the zygote to fork no more children, and to exit after its last child has ended.
    pub(crate) fn retire(&self) -> Result<(), Errno> {
        shutdown(&self.control, Shutdown::Write)
    }

    pub(crate) fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// Returns the worker's environment variables. None of the server's variables are among them.
fn environment(limits: &Limits, machine: bool) -> Vec<CString> {
    let tunables = c"GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
    if limits.hugepages && !machine {
        vec![tunables.to_owned()]
    } else {
        Vec::new()
    }
}
