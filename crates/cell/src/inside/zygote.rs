//! The zygote: forks a child when the pool asks, and tells when one is gone.

use super::EXIT_ABANDONED;
use super::child;
use super::filter::Program;
use super::heap;
use super::jail::{self, Refusal, refused};
use super::last_words::{self, exit};
use crate::channel;
use crate::control::{CONTROL_BYTES_MAX, Command, Ending, Report, SlotId};
use crate::syscall::checked;
use job::{AllegedReply, Job};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

pub(super) struct Zygote {
    control: OwnedFd,
    /// Readable when a child ended, or the pool sent something.
    signals: OwnedFd,
    /// Those that live; tens at most.
    children: Vec<(Pid, SlotId)>,
    children_max: usize,
    /// The pool orders no more.
    retired: bool,
    /// What this process maps, which a child has before its job takes anything.
    mapped_bytes: u64,
    /// For each child, where a limit does not deny `fork`.
    filter: Option<Program>,
}

impl Zygote {
    /// Jails the process, warms it up, and says so.
    pub(super) fn boot(control: OwnedFd, warm_up: impl FnOnce()) -> Result<Zygote, Refusal> {
        let flags = RecvFlags::empty();
        let Ok(Some((start, None))) = command(&control, flags) else {
            exit(EXIT_ABANDONED);
        };
        let Command::Start {
            max_memory_bytes,
            children,
        } = start
        else {
            exit(EXIT_ABANDONED);
        };
        let jailed = jail::enter(max_memory_bytes)?;
        let signals = signals(&control).map_err(refused("signalfd"))?;
        heap::keep_small();
        warm_up();
        heap::align();
        let zygote = Zygote {
            control,
            signals,
            children: Vec::with_capacity(children as usize),
            children_max: children as usize,
            retired: false,
            mapped_bytes: jailed
                .statm
                .and_then(jail::mapped_bytes)
                .unwrap_or(max_memory_bytes),
            filter: (!child::limit_denies_fork()).then(Program::child),
        };
        Program::zygote().install().map_err(refused("seccomp"))?;
        zygote.report(&Report::Ready(jailed.jail), None);
        Ok(zygote)
    }

    /// Until the pool hangs up and the last child is gone.
    pub(super) fn serve(mut self, work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply) -> ! {
        loop {
            let ended = self.reap();
            // First the next child, then the report of the last: the pool wakes once for both.
            while !self.full()
                && let Some((slot, socket)) = self.order()
            {
                self.fork(slot, socket, work);
            }
            for (slot, ending) in ended {
                self.report(&Report::Reaped(slot, ending), None);
            }
            if self.retired && self.children.is_empty() {
                exit(0);
            }
            self.wait();
        }
    }

    /// Sleeps until a child ends or the pool sends something. Signals of one kind merge into one, so all that there is to
    /// do is done after each.
    fn wait(&self) {
        let mut signals = [0; 2 * size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.signals, &mut signals) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => last_words::fail(&refused("signalfd")(errno)),
        }
    }

    /// Whether an order would be left unread.
    fn full(&self) -> bool {
        self.retired || self.children_max <= self.children.len()
    }

    /// The next child to fork, if one was ordered.
    fn order(&mut self) -> Option<(SlotId, OwnedFd)> {
        match command(&self.control, RecvFlags::DONTWAIT) {
            Ok(Some((Command::Fork(slot), Some(socket)))) => Some((slot, socket)),
            Ok(None) => {
                self.retired = true;
                None
            }
            Err(Errno::AGAIN) => None,
            Ok(Some(_)) | Err(_) => exit(EXIT_ABANDONED),
        }
    }

    fn fork(
        &mut self,
        slot: SlotId,
        socket: OwnedFd,
        work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply,
    ) {
        // SAFETY: this process has one thread (`serve` asks that of `warm_up`), so the child's copy of every lock is
        // free. Breaks if a codec's warm-up leaves a thread behind.
        match checked(unsafe { libc::fork() }) {
            Ok(0) => child::run(socket, self.mapped_bytes, self.filter.as_ref(), work),
            Err(errno) => self.report(&Report::Refused(slot, errno.raw_os_error()), None),
            Ok(pid) => {
                let pid = Pid::from_raw(pid).expect("fork returns a child's id, which is above 0");
                self.children.push((pid, slot));
                // Nobody else reaps this child, so its id is still its own.
                match pidfd_open(pid, PidfdFlags::empty()) {
                    Ok(pidfd) => self.report(&Report::Forked(slot), Some(pidfd)),
                    Err(errno) => last_words::fail(&refused("pidfd_open")(errno)),
                }
            }
        }
    }

    /// Every child that ended since.
    fn reap(&mut self) -> Vec<(SlotId, Ending)> {
        let mut ended = Vec::new();
        while let Some((pid, ending)) = wait() {
            if let Some(at) = self.children.iter().position(|(child, _)| *child == pid) {
                let (_, slot) = self.children.swap_remove(at);
                ended.push((slot, ending));
            }
        }
        ended
    }

    /// A pool that is gone leaves a zygote nothing to do.
    fn report(&self, report: &Report, descriptor: Option<OwnedFd>) {
        let descriptors: Vec<_> = descriptor.iter().map(AsFd::as_fd).collect();
        let flags = SendFlags::empty();
        if channel::send(
            self.control.as_fd(),
            &report.to_bytes(),
            &descriptors,
            flags,
        )
        .is_err()
        {
            exit(EXIT_ABANDONED);
        }
    }
}

/// The pool's next command; `None` when it hung up.
fn command(
    control: &OwnedFd,
    flags: RecvFlags,
) -> Result<Option<(Command, Option<OwnedFd>)>, Errno> {
    let mut bytes = [0; CONTROL_BYTES_MAX];
    let (len, descriptors) = channel::receive(control.as_fd(), &mut bytes, flags)?;
    if len == 0 {
        return Ok(None);
    }
    let command = Command::from_bytes(&bytes[..len]).ok_or(Errno::BADMSG)?;
    Ok(Some((command, descriptors.into_iter().next())))
}

/// One descriptor to wait on, so that the filter needs to allow no call that waits for several: a child could sleep in
/// it for ever. It tells of children's ends and of packets on `control`, by signals that it blocks.
fn signals(control: &OwnedFd) -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: writes the set it is given.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in [libc::SIGCHLD, libc::SIGIO] {
        // SAFETY: `sigemptyset` made it a set.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: `sigemptyset` wrote it.
    let set = unsafe { set.assume_init() };
    // SAFETY: reads a set of this frame; the mask before is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    // SAFETY: reads a set of this frame, and makes a new descriptor.
    let signals = checked(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) })?;
    // SAFETY: made by the call above, known to nobody else.
    let signals = unsafe { OwnedFd::from_raw_fd(signals) };
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: takes numbers only.
    checked(unsafe { libc::fcntl(control.as_raw_fd(), libc::F_SETOWN, own) })?;
    fcntl_setfl(
        control,
        fcntl_getfl(control)? | OFlags::from_bits_retain(libc::O_ASYNC as u32),
    )?;
    Ok(signals)
}

/// One child that ended, if there is one.
fn wait() -> Option<(Pid, Ending)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes the two places of this frame.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    let pid = Pid::from_raw(pid).filter(|pid| 0 < pid.as_raw_nonzero().get())?;
    // SAFETY: a structure of integers, zeroed above, and written by the call when it found a child.
    let usage = unsafe { usage.assume_init() };
    let ending = Ending {
        status,
        cpu_us: child::cpu_us(&usage),
        memory_peak_bytes: child::memory_peak_bytes(&usage),
    };
    Some((pid, ending))
}
