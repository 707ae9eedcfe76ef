//! Child of a zygote: runs one job, replies, and exits. A child that is not ephemeral runs jobs one
//! after another.

use super::filter::Program;
use super::jail::{close_from, refused, set_limit, set_soft_limit};
use super::last_message::{self, EXIT_ABANDONED, exit};
use crate::channel;
use crate::contract::{CONTROL_FD, JOB_FD, PROBE_ANSWER, PROBE_FILTER};
use crate::syscall::checked;
use microvm::Files;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{DupFlags, Errno, dup3};
use rustix::net::RecvFlags;
use rustix::process::{Resource, setpgid};
use sandbox_protocol::control::{ChildReady, Report};
use sandbox_protocol::{AllegedReply, Job, JobLimits, MESSAGE_BYTES_MAX, Status};
use std::fs::File;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Settings that all children of a zygote share.
pub(super) struct Rules {
    /// Address space that the zygote has mapped, in bytes. A child inherits it before its job
    /// allocates anything.
    pub(super) mapped_bytes: u64,
    /// Filter that denies `fork`. `None` if a limit on the number of processes already denies
    /// `fork`.
    pub(super) filter: Option<Program>,
    /// True if a child exits after one job.
    pub(super) ephemeral: bool,
}

/// Serves jobs that arrive on `socket`. An ephemeral child serves one job and exits; other children
/// serve one job after another.
pub(super) fn run(
    socket: OwnedFd,
    rules: &Rules,
    work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply,
) -> ! {
    let socket = match finish_setup(socket, rules.filter.as_ref()) {
        Ok(socket) => socket,
        // The pool detects the failure when this process ends.
        Err(_) => exit(EXIT_ABANDONED),
    };
    loop {
        if !rules.ephemeral {
            // The report contains no CPU time, because the exit report of this process contains the
            // CPU time of all its jobs.
            let child_ready = Report::ChildReady(ChildReady::default());
            if set_timer(0).is_err()
                || rustix::io::write(&*socket, &child_ready.to_bytes()).is_err()
            {
                exit(EXIT_ABANDONED);
            }
        }
        serve_job(&socket, rules, work);
        if rules.ephemeral {
            exit(0);
        }
    }
}

/// Receives one job, runs it and sends its reply.
fn serve_job(
    socket: &OwnedFd,
    rules: &Rules,
    work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply,
) {
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let (job, files) = receive(socket.as_fd(), &mut bytes);
    last_message::to_job(job.id);
    if let Err(errno) = limit(&job.limits, rules) {
        last_message::fail(&refused("setrlimit")(errno));
    }
    if (job.idle || !rules.ephemeral)
        && let Err(errno) = set_idle_priority(job.idle)
    {
        last_message::fail(&refused("sched_setscheduler")(errno));
    }
    let answer = File::from(files.answer);
    let reply = match job.plan {
        PROBE_ANSWER => probe_answer(&job, &answer),
        PROBE_FILTER => probe_filter(&job),
        _ => work(&job, &File::from(files.original), &answer),
    };
    let usage = usage();
    let reply = reply.with_usage(memory_peak_bytes(&usage), cpu_us(&usage));
    send_to_pool(socket.as_fd(), &reply.to_bytes());
}

/// Waits for a job. Exits if the server is gone or sent an invalid message.
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
pub(super) fn send_to_pool(socket: BorrowedFd<'_>, bytes: &[u8]) {
    if rustix::io::write(socket, bytes).is_err() {
        exit(EXIT_ABANDONED);
    }
}

/// Closes the child's descriptors except the three standard streams and its socket, and denies the
/// child `fork`.
fn finish_setup(socket: OwnedFd, filter: Option<&Program>) -> Result<ManuallyDrop<OwnedFd>, Errno> {
    let place = place(socket)?;
    close_from(JOB_FD + 1)?;
    match filter {
        Some(filter) => filter.install()?,
        None => set_limit(Resource::Nproc, 0)?,
    }
    Ok(place)
}

/// Moves the socket to [`JOB_FD`], and closes this process's copy of the zygote's socket.
pub(super) fn place(socket: OwnedFd) -> Result<ManuallyDrop<OwnedFd>, Errno> {
    let place = if socket.as_raw_fd() == JOB_FD {
        ManuallyDrop::new(socket)
    } else {
        // SAFETY: if JOB_FD is open, it is a copy of a descriptor of the zygote. This process was
        // forked from the zygote and runs no zygote code any more, so no other owner uses or closes
        // the copy. `dup3` replaces it, and `ManuallyDrop` never closes the result. Breaks if a
        // child returns to code of the zygote.
        let mut place = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(JOB_FD) });
        dup3(socket, &mut place, DupFlags::CLOEXEC)?;
        place
    };
    // This process becomes the leader of a process group, in which all its descendants stay.
    setpgid(None, None)?;
    // SAFETY: the number is the pool's socket to the zygote, which no code of this process uses.
    unsafe { rustix::io::close(CONTROL_FD) };
    Ok(place)
}

/// Returns whether a limit of 0 processes makes `fork` fail, which is true for every user except
/// the host's root. A forked child tries it. A seccomp filter would deny `fork` too, but the kernel
/// would compile the filter for each child, which would double the cost of a child.
pub(super) fn limit_denies_fork() -> bool {
    const DENIED: i32 = 0;
    const ALLOWED: i32 = 1;
    // SAFETY: this process has one thread, so the child's copy of every lock is free.
    match unsafe { libc::fork() } {
        -1 => false,
        0 => {
            let limited = set_limit(Resource::Nproc, 0);
            // SAFETY: the child has one thread too, so every lock is free. A grandchild exits at
            // once.
            match unsafe { libc::fork() } {
                -1 if limited.is_ok() => exit(DENIED),
                _ => exit(ALLOWED),
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: the call writes only `status`, a local variable. It waits for the child just
            // forked.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == DENIED
        }
    }
}

/// Sets the scheduling policy of this process. If `idle` is true, the kernel runs this process only
/// on cores that are otherwise idle (SCHED_IDLE, sched(7)). Otherwise the process gets the usual
/// policy.
pub(super) fn set_idle_priority(idle: bool) -> Result<(), Errno> {
    let parameter = libc::sched_param { sched_priority: 0 };
    let policy = if idle {
        libc::SCHED_IDLE
    } else {
        libc::SCHED_OTHER
    };
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the call reads `parameter`, a structure of this frame, and affects this process only.
    let result = unsafe { libc::syscall(call, 0, policy, &raw const parameter) };
    checked(result).map(|_| ())
}

/// Applies the job's limits. A timer limits the CPU time in milliseconds, but a signal handler
/// could disable the timer. If the child runs only one job, RLIMIT_CPU therefore also limits the
/// CPU time, in whole seconds.
fn limit(limits: &JobLimits, rules: &Rules) -> Result<(), Errno> {
    let memory = rules.mapped_bytes.saturating_add(limits.memory_bytes_max);
    if rules.ephemeral {
        set_limit(Resource::As, memory)?;
        set_limit(Resource::Fsize, limits.output_bytes_max)?;
        set_limit(Resource::Cpu, u64::from(limits.cpu_ms_max / 1_000) + 1)?;
    } else {
        // Soft limits, because the next job must be able to raise them again. RLIMIT_CPU is not
        // set, because it would limit the CPU time of all jobs of this child together.
        set_soft_limit(Resource::As, memory)?;
        set_soft_limit(Resource::Fsize, limits.output_bytes_max)?;
    }
    set_timer(limits.cpu_ms_max)
}

/// Sets a timer that ends this process after `cpu_ms` of CPU time. If `cpu_ms` is 0, stops the
/// timer.
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
    // SAFETY: the call reads the local variable `timer`; a null pointer for the old timer is
    // allowed.
    let result =
        unsafe { libc::syscall(libc::SYS_setitimer, libc::ITIMER_PROF, &raw const timer, 0) };
    checked(result).map(|_| ())
}

/// Makes a system call for which the filter must kill this process. If this function returns, the
/// filter has failed.
pub(super) fn probe_filter(job: &Job<'_>) -> AllegedReply {
    let opened = open("/", OFlags::PATH, Mode::empty());
    let detail = format!(
        "the seccomp filter must kill the process for a call of `open`, but did not: {:?}",
        opened.err()
    );
    AllegedReply::new(job.id, Status::Unsupported, (0, 0), 0).with_detail(&detail)
}

/// Answers with the job's seed, which proves that descriptors and messages work.
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
    // SAFETY: the call writes only a local structure, and cannot fail for RUSAGE_SELF.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: the structure consists of integers, zeroed above.
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
