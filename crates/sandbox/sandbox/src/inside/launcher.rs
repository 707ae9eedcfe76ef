//! A launcher: a child that starts a program for its job, waits for its end, and sends the reply.
//!
//! ```text
//! launcher ── fork, limits, filter, execveat ─► program: 0 the original after its environment,
//!      │                                                 1 the output, 2 a pipe,
//!      │                                                 3 its stream to a service, if any
//!      └───── wait, usage, length of the output, the program's standard error ─► reply
//! ```
//!
//! The program ends with its launcher, so that killing the launcher kills the program.

use super::child::{self, cpu_us, memory_peak_bytes, probe_filter, set_idle_priority, set_timer};
use super::filter::Program as Filter;
use super::jail::set_limit;
use super::last_message::{self, EXIT_ABANDONED, exit};
use crate::contract::PROBE_FILTER;
use crate::syscall::checked;
use microvm::{Files, StartArguments};
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Signal, set_parent_process_death_signal};
use sandbox_protocol::control;
use sandbox_protocol::{AllegedReply, DETAIL_BYTES_MAX, Job, JobLimits, MESSAGE_BYTES_MAX, Status};
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;

/// Maximum number of threads of one program, the same as in a microVM. If the cells are processes,
/// the kernel limits only the total number of threads in all cells of a pool.
const THREADS_MAX: u64 = microvm::THREADS_MAX as u64;

/// Settings that all launchers of a zygote share. A launcher starts a program.
pub(super) struct Launch {
    pub(super) program: OwnedFd,
    pub(super) words: StartArguments,
    /// Maximum address space of a program in bytes, apart from the memory that the program
    /// allocates for a job.
    pub(super) max_memory_bytes: u64,
    /// Address space in bytes that a program may allocate for a job, in addition to
    /// `max_memory_bytes`.
    pub(super) max_work_memory_bytes: u64,
    /// True if the program is started again for each job.
    pub(super) ephemeral: bool,
    /// Maximum number of threads that the kernel counts: all threads of all programs, and one
    /// thread each of init, the zygote and the launchers. Applies only if `bounds_threads` is true.
    threads_max: u64,
    pub(super) bounds_threads: bool,
}

impl Launch {
    pub(super) fn new(program: OwnedFd, words: StartArguments, start: &control::Start) -> Launch {
        Launch {
            program,
            words,
            max_memory_bytes: start.max_memory_bytes,
            max_work_memory_bytes: start.max_work_memory_bytes,
            ephemeral: start.ephemeral,
            // The kernel also counts the init process, the zygote and one launcher per program.
            threads_max: 2 + start.children * (1 + THREADS_MAX),
            bounds_threads: false,
        }
    }

    pub(super) fn threads_max(&self) -> Option<u64> {
        Some(self.threads_max).filter(|_| self.bounds_threads)
    }
}

/// Arguments of a program's start, prepared before its process exists.
pub(super) struct Start {
    pub(super) program: i32,
    pub(super) arguments: Strings,
    pub(super) environment: Strings,
    pub(super) streams: [i32; 3],
    pub(super) service: Option<i32>,
    pub(super) filter: Filter,
    pub(super) memory_bytes_max: u64,
    /// Maximum number of threads as in [`Launch::threads_max`]; `None` if threads are not bounded.
    pub(super) threads_max: Option<u64>,
    /// Limits that the kernel enforces on a program that runs for one job; `None` for a persistent
    /// program.
    pub(super) once: Option<JobLimits>,
}

/// Serves one job from `socket` and exits.
pub(super) fn run(socket: OwnedFd, launch: &Launch) -> ! {
    let Ok(socket) = child::place(socket) else {
        exit(EXIT_ABANDONED);
    };
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let (job, files) = child::receive(socket.as_fd(), &mut bytes);
    last_message::to_job(job.id);
    if job.idle && set_idle_priority(true).is_err() {
        last_message::fail("sched_setscheduler");
    }
    let reply = match job.plan {
        PROBE_FILTER => probe_filter(&job),
        _ => match run_program(launch, &job, &files) {
            Ok(reply) => reply,
            Err(errno) => last_message::fail(&format!("cannot start the program: {errno}")),
        },
    };
    child::send_to_pool(socket.as_fd(), &reply.to_bytes());
    exit(0)
}

fn run_program(launch: &Launch, job: &Job<'_>, files: &Files) -> Result<AllegedReply, Errno> {
    let Files {
        original,
        answer,
        service,
    } = files;
    let environment_bytes = job.environment_bytes().ok_or(Errno::INVAL)?;
    let mut head = vec![0; environment_bytes as usize];
    let read = pread(original, &mut head, 0)?;
    let mut words = launch.words.clone();
    let strings = head[..read].split(|byte| *byte == 0);
    words.environment.extend(
        strings
            .filter(|string| !string.is_empty())
            .map(<[u8]>::to_vec),
    );
    seek(original, SeekFrom::Start(environment_bytes.into()))?;
    let (stderr_reader, stderr_writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let pid = start(&Start {
        program: launch.program.as_raw_fd(),
        arguments: Strings::new(words.arguments),
        environment: Strings::new(words.environment),
        streams: [
            original.as_raw_fd(),
            answer.as_raw_fd(),
            stderr_writer.as_raw_fd(),
        ],
        service: service.as_ref().map(AsRawFd::as_raw_fd),
        filter: Filter::of_program(launch.program.as_raw_fd()),
        memory_bytes_max: launch
            .max_memory_bytes
            .saturating_add(job.limits.memory_bytes_max),
        threads_max: launch.threads_max(),
        once: Some(job.limits),
    })?;
    drop(stderr_writer);
    let (status, usage) = wait(pid)?;
    let mut words = vec![0; DETAIL_BYTES_MAX];
    let len = match rustix::io::read(&stderr_reader, &mut words) {
        Ok(len) => len,
        Err(Errno::AGAIN) => 0,
        Err(errno) => return Err(errno),
    };
    let words = String::from_utf8_lossy(&words[..len]);
    let output_bytes = seek(answer, SeekFrom::Current(0))?;
    let reply = ended(job, status, output_bytes, words.trim());
    Ok(reply.with_usage(memory_peak_bytes(&usage), cpu_us(&usage)))
}

/// Builds the reply from the program's exit status.
fn ended(job: &Job<'_>, status: i32, output_bytes: u64, words: &str) -> AllegedReply {
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        let reply = AllegedReply::new(job.id, Status::Done, (0, 0), output_bytes);
        return reply.with_detail(words);
    }
    let (status, how) = describe_exit(status);
    let gap = if words.is_empty() { "" } else { ": " };
    AllegedReply::new(job.id, status, (0, 0), 0).with_detail(&format!("{how}{gap}{words}"))
}

/// Describes the exit status of a program that ended without an output.
pub(super) fn describe_exit(status: i32) -> (Status, String) {
    if !libc::WIFSIGNALED(status) {
        let code = libc::WEXITSTATUS(status);
        return (Status::Failed, format!("exit code {code}"));
    }
    match libc::WTERMSIG(status) {
        libc::SIGPROF | libc::SIGXCPU => {
            (Status::TimedOut, "the job exceeded its CPU time".to_owned())
        }
        libc::SIGXFSZ => (
            Status::TooLarge,
            "the output exceeded its size limit".to_owned(),
        ),
        signal => (Status::Failed, format!("died by signal {signal}")),
    }
}

/// Starts the program in a new process, and returns its id.
pub(super) fn start(start: &Start) -> Result<i32, Errno> {
    // SAFETY: this process has one thread, so the child's copy of every lock is free.
    match checked(unsafe { libc::fork() })? {
        0 => become_program(start),
        pid => Ok(pid),
    }
}

/// Sets limits, streams and filter in the new process, then executes the program. Never returns.
fn become_program(start: &Start) -> ! {
    const NOT_STARTED: i32 = 127;
    match prepare(start) {
        Ok(()) => {}
        Err(errno) => {
            let text = format!("cannot prepare the program: {errno}");
            // SAFETY: the descriptor is the pipe from which the launcher reads the program's
            // standard error. It is open in this forked copy of the launcher.
            let stderr_writer = unsafe { std::os::fd::BorrowedFd::borrow_raw(start.streams[2]) };
            let _written = rustix::io::write(stderr_writer, text.as_bytes());
            exit(NOT_STARTED);
        }
    }
    // SAFETY: both lists end in a null pointer and point to strings that `start` holds.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            start.program,
            c"".as_ptr(),
            start.arguments.pointers.as_ptr(),
            start.environment.pointers.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    let error = std::io::Error::last_os_error();
    // The standard error has been replaced by the pipe, so the launcher reads this message.
    eprintln!("{error}");
    exit(NOT_STARTED)
}

fn prepare(start: &Start) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The loop replaces descriptors 0 to 3, and must copy a descriptor before it replaces it. The
    // service's stream has a number of at least 4, since the original was received before it and
    // took a number of at least 3.
    for (from, to) in start.streams.iter().chain(&start.service).zip(0..) {
        // SAFETY: the call replaces the standard streams and the number of the service's stream,
        // which this process does not use for anything else. It sets no CLOEXEC, so that the
        // program inherits the descriptors.
        checked(unsafe { libc::syscall(libc::SYS_dup3, *from, to, 0) })?;
    }
    if let Some(limits) = &start.once {
        set_limit(Resource::Fsize, limits.output_bytes_max)?;
        set_limit(Resource::Cpu, u64::from(limits.cpu_ms_max / 1_000) + 1)?;
        // The timer also limits the program, since an interval timer survives `execve`.
        set_timer(limits.cpu_ms_max)?;
    }
    start.filter.install()?;
    if let Some(threads_max) = start.threads_max {
        set_limit(Resource::Nproc, threads_max)?;
    }
    // This limit is set last, because this process may already use more memory than the limit
    // allows, and could then map no more. The program itself starts in a new address space, which
    // `execveat` creates.
    set_limit(Resource::As, start.memory_bytes_max)
}

pub(super) fn wait(pid: i32) -> Result<(i32, libc::rusage), Errno> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the call writes `status` and `usage` of this frame, for the child just forked.
        let waited = checked(unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) });
        match waited {
            // SAFETY: the structure consists of integers, zeroed above and written by the call.
            Ok(_) => return Ok((status, unsafe { usage.assume_init() })),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Strings with a list of pointers to them, in the form that `execve` requires: each string ends in
/// a zero byte, and the list ends in a null pointer.
pub(super) struct Strings {
    pointers: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

impl Strings {
    pub(super) fn new(words: Vec<Vec<u8>>) -> Strings {
        // A program would not see anything after a zero byte.
        let strings = words.into_iter().map(|mut word| {
            let end = word.iter().position(|byte| *byte == 0);
            word.truncate(end.unwrap_or(word.len()));
            CString::new(word).expect("the word was cut at its first zero byte")
        });
        let strings: Vec<CString> = strings.collect();
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(ptr::null());
        Strings {
            pointers,
            _strings: strings,
        }
    }
}
