//! A child: one job, one reply, and the end.

use super::EXIT_ABANDONED;
use super::filter::Program;
use super::jail::{close_from, refused, set_limit, set_soft_limit};
use super::last_words::{self, exit};
use crate::channel;
use crate::probe::{PROBE_ANSWER, PROBE_FILTER};
use crate::spawn::CONTROL_FD;
use crate::syscall::checked;
use crate::vm::guest::Files;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{DupFlags, Errno, dup3};
use rustix::net::RecvFlags;
use rustix::process::{Resource, setpgid};
use sandbox_protocol::control::{Report, Rested};
use sandbox_protocol::{AllegedReply, Job, JobLimits, MESSAGE_BYTES_MAX, Status};
use std::fs::File;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Where a child has its socket to the pool.
pub(super) const JOB_FD: i32 = CONTROL_FD + 1;

/// What all children of a zygote have in common.
pub(super) struct Rules {
    /// What the zygote maps, which a child has before its job takes anything.
    pub(super) mapped_bytes: u64,
    /// Where a limit does not deny `fork`.
    pub(super) filter: Option<Program>,
    /// One job, and death.
    pub(super) ephemeral: bool,
}

/// Serves `socket` for the one job it brings, or for one after another where nothing is wiped.
pub(super) fn run(
    socket: OwnedFd,
    rules: &Rules,
    work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply,
) -> ! {
    let socket = match settle(socket, rules.filter.as_ref()) {
        Ok(socket) => socket,
        // The pool learns of it by the end of this process.
        Err(_) => exit(EXIT_ABANDONED),
    };
    loop {
        if !rules.ephemeral {
            // Its CPU time is told when it ends.
            let rested = Report::Rested(Rested::default());
            if set_timer(0).is_err() || rustix::io::write(&*socket, &rested.to_bytes()).is_err() {
                exit(EXIT_ABANDONED);
            }
        }
        one(&socket, rules, work);
        if rules.ephemeral {
            exit(0);
        }
    }
}

/// One job, from its arrival to its reply.
fn one(socket: &OwnedFd, rules: &Rules, work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply) {
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let (job, files) = receive(socket.as_fd(), &mut bytes);
    last_words::to_job(job.id);
    if let Err(errno) = limit(&job.limits, rules) {
        last_words::fail(&refused("setrlimit")(errno));
    }
    if (job.idle || !rules.ephemeral)
        && let Err(errno) = give_way(job.idle)
    {
        last_words::fail(&refused("sched_setscheduler")(errno));
    }
    let answer = File::from(files.answer);
    let reply = match job.plan {
        PROBE_ANSWER => probe_answer(&job, &answer),
        PROBE_FILTER => probe_filter(&job),
        _ => work(&job, &File::from(files.original), &answer),
    };
    let usage = usage();
    let reply = reply.with_usage(memory_peak_bytes(&usage), cpu_us(&usage));
    say(socket.as_fd(), &reply.to_bytes());
}

/// Waits for a job. A server that is gone, or talks nonsense, leaves this process nothing to do.
pub(super) fn receive<'a>(
    socket: BorrowedFd<'_>,
    bytes: &'a mut [u8; MESSAGE_BYTES_MAX],
) -> (Job<'a>, Files) {
    let received = channel::receive(socket, bytes, RecvFlags::empty());
    let Ok((len @ 1.., descriptors)) = received else {
        exit(EXIT_ABANDONED);
    };
    let Ok(job) = Job::from_bytes(&bytes[..len]) else {
        exit(EXIT_ABANDONED);
    };
    let mut descriptors = descriptors.into_iter();
    let (Some(original), Some(answer)) = (descriptors.next(), descriptors.next()) else {
        exit(EXIT_ABANDONED);
    };
    let files = Files {
        original,
        answer,
        service: descriptors.next(),
    };
    (job, files)
}

/// Sends a reply or a report to the pool.
pub(super) fn say(socket: BorrowedFd<'_>, bytes: &[u8]) {
    if rustix::io::write(socket, bytes).is_err() {
        exit(EXIT_ABANDONED);
    }
}

/// Leaves the child with three streams and its socket, and takes `fork` away.
fn settle(socket: OwnedFd, filter: Option<&Program>) -> Result<ManuallyDrop<OwnedFd>, Errno> {
    let place = place(socket)?;
    close_from(JOB_FD + 1)?;
    match filter {
        Some(filter) => filter.install()?,
        None => set_limit(Resource::Nproc, 0)?,
    }
    Ok(place)
}

/// Puts the socket where a child has it, and closes the zygote's own.
pub(super) fn place(socket: OwnedFd) -> Result<ManuallyDrop<OwnedFd>, Errno> {
    let place = if socket.as_raw_fd() == JOB_FD {
        ManuallyDrop::new(socket)
    } else {
        // SAFETY: the number may belong to a descriptor that the zygote still holds. This process is its copy, runs
        // nothing of it again, and replaces that descriptor. Never closed: the process ends first.
        let mut place = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(JOB_FD) });
        dup3(socket, &mut place, DupFlags::CLOEXEC)?;
        place
    };
    // Its own group, in which all that it starts stays: it has one weight.
    setpgid(None, None)?;
    // SAFETY: the pool's socket to the zygote, which no code of this process uses.
    unsafe { rustix::io::close(CONTROL_FD) };
    Ok(place)
}

/// Whether a limit of no processes holds, which it does for every user but the host's root: tried by a child that then
/// forks. A filter for each child would do the same, but its instructions are compiled for each, which takes as long as
/// all else that a child costs.
pub(super) fn limit_denies_fork() -> bool {
    const DENIED: i32 = 0;
    const ALLOWED: i32 = 1;
    // SAFETY: this process has one thread, so the child's copy of every lock is free.
    match unsafe { libc::fork() } {
        -1 => false,
        0 => {
            let limited = set_limit(Resource::Nproc, 0);
            // SAFETY: as above. A grandchild ends at once.
            match unsafe { libc::fork() } {
                -1 if limited.is_ok() => exit(DENIED),
                _ => exit(ALLOWED),
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: writes a number of this frame, for the child just forked.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == DENIED
        }
    }
}

/// Lets the kernel run this process only on cores that have nothing else to do (SCHED_IDLE, sched(7)), or as any other.
pub(super) fn give_way(idle: bool) -> Result<(), Errno> {
    let parameter = libc::sched_param { sched_priority: 0 };
    let policy = if idle {
        libc::SCHED_IDLE
    } else {
        libc::SCHED_OTHER
    };
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: reads a structure of this frame, for this process.
    let result = unsafe { libc::syscall(call, 0, policy, &raw const parameter) };
    checked(result).map(|_| ())
}

/// Holds the job to its limits. CPU time has two: a timer of milliseconds, and a limit of seconds that no handler stops.
fn limit(limits: &JobLimits, rules: &Rules) -> Result<(), Errno> {
    let memory = rules.mapped_bytes.saturating_add(limits.memory_bytes_max);
    if rules.ephemeral {
        set_limit(Resource::As, memory)?;
        set_limit(Resource::Fsize, limits.answer_bytes_max)?;
        set_limit(Resource::Cpu, u64::from(limits.cpu_ms_max / 1_000) + 1)?;
    } else {
        // The next job may have more, and CPU time is that of all jobs.
        set_soft_limit(Resource::As, memory)?;
        set_soft_limit(Resource::Fsize, limits.answer_bytes_max)?;
    }
    set_timer(limits.cpu_ms_max)
}

/// Ends this process after so much CPU time; never, if it is 0.
pub(super) fn set_timer(cpu_ms: u32) -> Result<(), Errno> {
    let timer = libc::itimerval {
        it_interval: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        it_value: libc::timeval {
            tv_sec: i64::from(cpu_ms / 1_000),
            tv_usec: i64::from(cpu_ms % 1_000) * 1_000,
        },
    };
    // SAFETY: reads a structure of this frame; the timer before is not asked for.
    let result =
        unsafe { libc::syscall(libc::SYS_setitimer, libc::ITIMER_PROF, &raw const timer, 0) };
    checked(result).map(|_| ())
}

/// Tries what the filter must kill it for. To get as far as a reply is the failure.
pub(super) fn probe_filter(job: &Job<'_>) -> AllegedReply {
    let opened = open("/", OFlags::PATH, Mode::empty());
    let detail = format!("the filter let `open` pass: {:?}", opened.err());
    AllegedReply::new(job.id, Status::Unsupported, (0, 0), 0).with_detail(&detail)
}

/// Answers with the job's seed, which shows that descriptors and messages work.
pub(super) fn probe_answer(job: &Job<'_>, answer: &File) -> AllegedReply {
    match answer.write_all_at(&job.seed, 0) {
        Ok(()) => AllegedReply::new(job.id, Status::Done, (0, 0), job.seed.len() as u64),
        Err(error) => {
            AllegedReply::new(job.id, Status::Failed, (0, 0), 0).with_detail(&error.to_string())
        }
    }
}

pub(super) fn usage() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes the structure it is given; RUSAGE_SELF cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: a structure of integers, zeroed above.
    unsafe { usage.assume_init() }
}

pub(super) fn cpu_us(usage: &libc::rusage) -> u64 {
    let time = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let micros = time(usage.ru_utime) + time(usage.ru_stime);
    u64::try_from(micros).expect("times are not negative")
}

pub(super) fn memory_peak_bytes(usage: &libc::rusage) -> u64 {
    u64::try_from(usage.ru_maxrss).expect("sizes are not negative") * 1_024
}
