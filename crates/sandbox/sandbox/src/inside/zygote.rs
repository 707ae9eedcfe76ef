//! The zygote: a process that forks a child when the pool orders one, and reports to the pool when
//! a child has ended.

use super::child;
use super::command::command;
use super::devices::{Devices, HOST_BYTES};
use super::filter::Program as Filter;
use super::heap;
use super::helper::{self, Host};
use super::jail::{self, Control, Refusal, refused};
use super::last_message::{self, EXIT_ABANDONED, exit};
use super::launcher::{self, Launch};
use super::persistent;
use super::text;
use crate::channel;
use crate::syscall::checked;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox_protocol::control::{Command, ExitReport, Report, SlotId, TEXT_BYTES_MAX};
use sandbox_protocol::{AllegedReply, Job};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

pub(super) struct Zygote {
    control: Control,
    /// Signalfd, readable when a child ended or the pool sent a command.
    signals: OwnedFd,
    /// Children that have not ended, at most `children_max`.
    children: Vec<(Pid, SlotId)>,
    children_max: usize,
    /// True after the pool has closed its side of the socket. The pool then orders no more
    /// children.
    retired: bool,
    child_kind: ChildKind,
}

/// Kind of all children of one zygote.
enum ChildKind {
    /// Each child runs a job itself.
    Workers(child::Rules),
    /// Each child hosts a microVM.
    Helpers(Box<Host>),
    /// Each child starts a program for its job.
    Launchers(Launch),
}

impl Zygote {
    /// Isolates the process, prepares everything that all its children share, and reports to the
    /// pool that the zygote is ready.
    pub(super) fn boot(control: Control, warm_up: impl FnOnce()) -> Result<Zygote, Refusal> {
        jail::tie_to_server()?;
        let Ok(Some((Command::Start(start), descriptors))) = command(control, RecvFlags::empty())
        else {
            exit(EXIT_ABANDONED);
        };
        let devices = Devices::receive(control, &start, descriptors);
        let files: Vec<_> = devices
            .allowed
            .iter()
            .map(|allowed| allowed.file.as_fd())
            .collect();
        let filter = match (start.machine, start.program) {
            (true, _) => Filter::machine(),
            (false, true) => Filter::launcher(!files.is_empty()),
            (false, false) => Filter::zygote(),
        };
        // A helper's address space includes its guest's memory.
        let memory_bytes = if start.machine {
            HOST_BYTES + start.max_memory_bytes + start.max_work_memory_bytes
        } else {
            start.max_memory_bytes
        };
        let counted = start.program && !start.machine && jail::count_separately();
        let jailed = jail::enter(memory_bytes, &filter, &files)?;
        if !files.is_empty() && !start.machine && jailed.jail.landlock_abi == 0 {
            return Err("allowed_paths needs Landlock, which this kernel does not have".to_owned());
        }
        let signals = signals(control).map_err(refused("signalfd"))?;
        let child_kind = if start.machine {
            let host = devices.boot(&start)?;
            for text in host.guest.page_tables().as_bytes().chunks(TEXT_BYTES_MAX) {
                let text = String::from_utf8_lossy(text).into_owned();
                report(control, &Report::Tables(text), None);
            }
            ChildKind::Helpers(Box::new(host))
        } else if let Some(program) = devices.program {
            let mut launch = Launch::new(program, devices.words, &start);
            launch.bounds_threads = counted && child::limit_denies_fork();
            ChildKind::Launchers(launch)
        } else {
            heap::prepare_for_warm_up();
            warm_up();
            if start.hugepages {
                // On a host without huge pages, the code stays in small pages, as the heap does.
                let _small = text::enlarge();
            }
            heap::prepare_for_jobs();
            let mapped_bytes = jailed.statm.and_then(jail::mapped_bytes);
            ChildKind::Workers(child::Rules {
                mapped_bytes: mapped_bytes.unwrap_or(start.max_memory_bytes),
                filter: (!child::limit_denies_fork()).then(Filter::child),
                ephemeral: start.ephemeral,
            })
        };
        filter.install().map_err(refused("seccomp"))?;
        report(control, &Report::Ready(jailed.jail), None);
        Ok(Zygote {
            control,
            signals,
            children: Vec::with_capacity(start.children as usize),
            children_max: start.children as usize,
            retired: false,
            child_kind,
        })
    }

    /// Serves the pool until the pool has closed its socket and the last child has ended.
    pub(super) fn serve(mut self, work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply) -> ! {
        loop {
            let ended = self.reap();
            // Fork the next child before reporting the end of the previous one, so that the pool
            // wakes only once for both reports.
            while !self.is_full()
                && let Some((slot, socket)) = self.next_order()
            {
                self.fork(slot, socket, work);
            }
            for (slot, exit_report) in ended {
                report(self.control, &Report::Reaped(slot, exit_report), None);
            }
            if self.retired && self.children.is_empty() {
                exit(0);
            }
            self.wait();
        }
    }

    /// Blocks until a child ends or the pool sends a command. Several pending signals of the same
    /// kind are delivered as one, so the caller must handle all pending events after each call.
    fn wait(&self) {
        let mut signals = [0; 2 * size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.signals, &mut signals) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => last_message::fail(&refused("signalfd")(errno)),
        }
    }

    /// Returns whether no further child may be forked at the moment.
    fn is_full(&self) -> bool {
        self.retired || self.children_max <= self.children.len()
    }

    /// Returns the next child to fork, if one was ordered.
    fn next_order(&mut self) -> Option<(SlotId, OwnedFd)> {
        match command(self.control, RecvFlags::DONTWAIT) {
            Ok(Some((Command::Fork(slot), descriptors))) => match descriptors.into_iter().next() {
                Some(socket) => Some((slot, socket)),
                None => exit(EXIT_ABANDONED),
            },
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
        // SAFETY: this process has one thread (`serve` forbids `warm_up` to leave threads), so the
        // child's copy of every lock is free. Breaks if a codec's warm-up leaves a thread behind.
        match checked(unsafe { libc::fork() }) {
            Ok(0) => match &self.child_kind {
                ChildKind::Workers(rules) => child::run(socket, rules, work),
                ChildKind::Launchers(launch) if launch.ephemeral => launcher::run(socket, launch),
                ChildKind::Launchers(launch) => persistent::run(socket, launch),
                ChildKind::Helpers(host) => helper::run(socket, host, self.signals.as_fd()),
            },
            Err(errno) => report(
                self.control,
                &Report::Refused(slot, errno.raw_os_error()),
                None,
            ),
            Ok(pid) => {
                let pid = Pid::from_raw(pid).expect("fork returns a child's id, which is above 0");
                self.children.push((pid, slot));
                // No other code reaps this child, so `pid` still refers to the child, even if it
                // has ended.
                match pidfd_open(pid, PidfdFlags::empty()) {
                    Ok(pidfd) => report(self.control, &Report::Forked(slot), Some(pidfd)),
                    Err(errno) => last_message::fail(&refused("pidfd_open")(errno)),
                }
            }
        }
    }

    fn reap(&mut self) -> Vec<(SlotId, ExitReport)> {
        let mut ended = Vec::new();
        while let Some((pid, exit_report)) = wait() {
            if let Some(at) = self.children.iter().position(|(child, _)| *child == pid) {
                let (_, slot) = self.children.swap_remove(at);
                ended.push((slot, exit_report));
            }
        }
        ended
    }
}

/// Sends a report to the pool. Exits if the pool is gone.
fn report(control: Control, report: &Report, descriptor: Option<OwnedFd>) {
    let descriptors: Vec<_> = descriptor.iter().map(AsFd::as_fd).collect();
    let flags = SendFlags::empty();
    if channel::send(control, &report.to_bytes(), &descriptors, flags).is_err() {
        exit(EXIT_ABANDONED);
    }
}

/// Returns a signalfd, from which the zygote reads two signals: a child has ended, or a packet has
/// arrived on `control`. Blocks the usual delivery of these signals. The zygote waits only on this
/// descriptor, so its filter denies calls such as `poll`, in which a child could block forever.
fn signals(control: Control) -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call writes only to the set, in this frame.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in [libc::SIGCHLD, libc::SIGIO] {
        // SAFETY: `sigemptyset` above initialised the set, and the call writes only to it.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: `sigemptyset` above initialised the set.
    let set = unsafe { set.assume_init() };
    // SAFETY: the call reads the local variable `set`; a null pointer for the old mask is allowed.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    // SAFETY: the call reads the local variable `set`, and creates a new descriptor.
    let signals = checked(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) })?;
    // SAFETY: the call above created the descriptor, and no other code knows it.
    let signals = unsafe { OwnedFd::from_raw_fd(signals) };
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: the call takes numbers only.
    checked(unsafe { libc::fcntl(control.as_raw_fd(), libc::F_SETOWN, own) })?;
    fcntl_setfl(
        control,
        fcntl_getfl(control)? | OFlags::from_bits_retain(libc::O_ASYNC as u32),
    )?;
    Ok(signals)
}

/// Reaps one child, if one has ended.
fn wait() -> Option<(Pid, ExitReport)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes `status` and `usage` of this frame.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    let pid = Pid::from_raw(pid).filter(|pid| 0 < pid.as_raw_nonzero().get())?;
    // SAFETY: the structure consists of integers, zeroed above, and written by the call if it found
    // a child.
    let usage = unsafe { usage.assume_init() };
    let exit_report = ExitReport {
        status,
        cpu_us: child::cpu_us(&usage),
        memory_peak_bytes: child::memory_peak_bytes(&usage),
    };
    Some((pid, exit_report))
}
