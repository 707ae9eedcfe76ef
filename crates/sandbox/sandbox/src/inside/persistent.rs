//! Launcher of a persistent program: starts the program once, and sends it one request after
//! another.
//!
//! ```text
//! launcher ── requests ──► program: 0, a pipe
//!      ▲ ◄─── outputs ──────────── 1, a pipe
//!      └───── messages ─────────── 2, a pipe
//! ```
//!
//! Requests and outputs are the records of [`sandbox_protocol::request_head`] and
//! [`sandbox_protocol::OutputRecord`]. The launcher sends no more requests to a program that writes
//! an output without a request, because this output could be taken for the output of a later
//! request. The program ends with its launcher.

use super::child;
use super::filter::Program as Filter;
use super::last_message::{self, EXIT_ABANDONED, EXIT_FAILED, exit};
use super::launcher::{Launch, Start, Strings, describe_exit, start, wait};
use crate::contract::PROBE_FILTER;
use crate::slot::timespec;
use microvm::Files;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, SeekFrom, fcntl_setfl, seek};
use rustix::io::{Errno, pread, pwrite};
use rustix::pipe::{PipeFlags, pipe_with};
use sandbox_protocol::control::{ChildReady, Report};
use sandbox_protocol::{
    AllegedReply, DETAIL_BYTES_MAX, Job, OutputRecord, REQUEST_HEAD_BYTES, Status,
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Time for which a launcher stays after its program has ended before the first request. So a
/// program that cannot run is started at most once per second.
const LINGER: Duration = Duration::from_secs(1);
/// Interval at which a program's CPU time is checked. No other limit ends a program whose threads
/// together exceed the CPU time of one request.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum number of bytes per read from a pipe or write to a pipe.
const PIECE_BYTES: usize = 64 << 10;

/// A running persistent program, with the launcher's ends of its pipes.
struct PersistentProgram {
    pid: i32,
    requests: OwnedFd,
    answers: OwnedFd,
    words: OwnedFd,
    /// True once the program has answered a request.
    answered: bool,
}

/// Starts the program and serves `socket` until the socket closes or the program cannot be used
/// again.
pub(super) fn run(socket: OwnedFd, launch: &Launch) -> ! {
    let Ok(socket) = child::place(socket) else {
        exit(EXIT_ABANDONED);
    };
    let mut persistent = match PersistentProgram::start(launch) {
        Ok(persistent) => persistent,
        Err(errno) => {
            let why = format!("cannot start the program: {errno}");
            child::send_to_pool(socket.as_fd(), &Report::Broken(why).to_bytes());
            exit(EXIT_FAILED);
        }
    };
    let mut reported_us = 0;
    loop {
        let now_us = persistent.cpu_us().unwrap_or(reported_us);
        let child_ready = ChildReady {
            cpu_us: now_us - reported_us,
            ..ChildReady::default()
        };
        reported_us = now_us;
        child::send_to_pool(socket.as_fd(), &Report::ChildReady(child_ready).to_bytes());
        if !persistent.waits(socket.as_fd())
            && (persistent.answered || !readable(socket.as_fd(), LINGER))
        {
            exit(EXIT_FAILED);
        }
        if !persistent.serve(socket.as_fd()) {
            exit(0);
        }
    }
}

/// Returns whether `descriptor` can be read from, or is at its end, within `time`.
fn readable(descriptor: BorrowedFd<'_>, time: Duration) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    poll(&mut watched, Some(&timespec(time))).is_ok_and(|ready| 0 < ready)
}

impl PersistentProgram {
    fn start(launch: &Launch) -> Result<PersistentProgram, Errno> {
        let (requested, requests) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answers, answered) = pipe_with(PipeFlags::CLOEXEC)?;
        let (words, stderr_writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Of the pipes for requests and outputs, only the launcher's ends are non-blocking, so that
        // the program can block in reads and writes.
        fcntl_setfl(&requests, OFlags::NONBLOCK)?;
        fcntl_setfl(&answers, OFlags::NONBLOCK)?;
        let pid = start(&Start {
            program: launch.program.as_raw_fd(),
            arguments: Strings::new(launch.words.arguments.clone()),
            environment: Strings::new(launch.words.environment.clone()),
            streams: [&requested, &answered, &stderr_writer].map(AsRawFd::as_raw_fd),
            // The stream to a service belongs to one job. This program starts before its first job,
            // so it gets no stream.
            service: None,
            filter: Filter::of_program(launch.program.as_raw_fd()),
            memory_bytes_max: launch
                .max_memory_bytes
                .saturating_add(launch.max_work_memory_bytes),
            threads_max: launch.threads_max(),
            once: None,
        })?;
        Ok(PersistentProgram {
            pid,
            requests,
            answers,
            words,
            answered: false,
        })
    }

    /// Waits for a job. Returns false if the program ended, or wrote an output without a request.
    fn waits(&self, socket: BorrowedFd<'_>) -> bool {
        let mut watched = [
            PollFd::from_borrowed_fd(socket, PollFlags::IN),
            PollFd::new(&self.answers, PollFlags::IN),
        ];
        while poll(&mut watched, None) == Err(Errno::INTR) {}
        watched[1].revents().is_empty()
    }

    /// Runs one job. Returns false if the program cannot be used again.
    fn serve(&mut self, socket: BorrowedFd<'_>) -> bool {
        let mut bytes = [0; sandbox_protocol::MESSAGE_BYTES_MAX];
        let (job, files) = child::receive(socket, &mut bytes);
        last_message::to_job(job.id);
        if job.plan == PROBE_FILTER {
            child::send_to_pool(socket, &child::probe_filter(&job).to_bytes());
            return false;
        }
        // If the CPU clock cannot be read, the job fails, since nothing could end a program that
        // uses too much CPU time.
        let begin_us = self.cpu_us().map_err(ExchangeError::from);
        let exchanged = begin_us.and_then(|begin_us| {
            let bytes = self.exchange(&job, &files, begin_us)?;
            Ok((bytes, self.cpu_us()? - begin_us))
        });
        let (reply, is_reusable) = match exchanged {
            Ok((bytes, spent_us)) => {
                self.answered = true;
                let reply = AllegedReply::new(job.id, Status::Done, (0, 0), bytes);
                let reply = reply.with_detail(&self.last_message());
                (reply.with_usage(0, spent_us), true)
            }
            // The reply to a failed job contains no resource usage.
            Err(end) => (self.failure_reply(&job, end), false),
        };
        child::send_to_pool(socket, &reply.to_bytes());
        is_reusable
    }

    /// Sends the request and receives the output. Returns the output's length.
    fn exchange(&self, job: &Job<'_>, files: &Files, begin_us: u64) -> Result<u64, ExchangeError> {
        let mut request = Request::new(job, files)?;
        let mut answer = OutputRecord::default();
        let mut piece = vec![0; PIECE_BYTES];
        let cpu_us_max = begin_us + u64::from(job.limits.cpu_ms_max) * 1_000;
        loop {
            if answer.is_whole() {
                return match request.is_sent() {
                    true => Ok(answer.body_bytes()),
                    false => Err(ExchangeError::ProtocolViolation(
                        "the program replied before it had read the whole request",
                    )),
                };
            }
            if cpu_us_max < self.cpu_us()? {
                return Err(ExchangeError::OutOfTime);
            }
            let mut watched = [
                PollFd::new(&self.answers, PollFlags::IN),
                PollFd::new(&self.requests, PollFlags::OUT),
            ];
            let count = if request.is_sent() { 1 } else { 2 };
            match poll(&mut watched[..count], Some(&timespec(CHECK_INTERVAL))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if !watched[0].revents().is_empty() {
                self.take(&mut answer, &mut piece, job, files)?;
            }
            if !watched[1].revents().is_empty() {
                request.send(&self.requests, &mut piece)?;
            }
        }
    }

    /// Receives the part of the output that can be read without waiting.
    fn take(
        &self,
        answer: &mut OutputRecord,
        piece: &mut [u8],
        job: &Job<'_>,
        files: &Files,
    ) -> Result<(), ExchangeError> {
        let len = match rustix::io::read(&self.answers, &mut *piece) {
            Ok(0) => return Err(ExchangeError::Over),
            Ok(len) => len,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let at = answer.body_bytes();
        let body = answer.take(&piece[..len]);
        let body = body.map_err(|sandbox_protocol::Excess| {
            ExchangeError::ProtocolViolation(
                "the program wrote more bytes than the length that it announced",
            )
        })?;
        let announced = answer.announced_bytes();
        if announced.is_some_and(|bytes| job.limits.output_bytes_max < bytes) {
            return Err(ExchangeError::TooLarge);
        }
        let mut done = 0;
        while done < body.len() {
            done += pwrite(&files.answer, &body[done..], at + done as u64)?;
        }
        Ok(())
    }

    fn cpu_us(&self) -> Result<u64, Errno> {
        // `clock` is the clock id that clock_getcpuclockid(3) computes from a process id.
        const SCHEDULED: i32 = 2;
        let clock = !self.pid << 3 | SCHEDULED;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call writes only the local variable `time`.
        crate::syscall::checked(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
        Ok(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000)
    }

    /// Returns the text that the program wrote to its standard error since the last call, cut to
    /// [`DETAIL_BYTES_MAX`] bytes. The rest of the text is dropped.
    fn last_message(&self) -> String {
        let mut stderr_bytes = vec![0; PIECE_BYTES];
        let len = rustix::io::read(&self.words, &mut stderr_bytes).unwrap_or(0);
        let words = &stderr_bytes[..len.min(DETAIL_BYTES_MAX)];
        String::from_utf8_lossy(words).trim().to_owned()
    }

    /// Builds the reply to a job that the program did not answer.
    fn failure_reply(&self, job: &Job<'_>, end: ExchangeError) -> AllegedReply {
        let (status, how) = match end {
            ExchangeError::Over => match wait(self.pid) {
                Ok((status, _)) => describe_exit(status),
                Err(errno) => (Status::Failed, format!("wait: {errno}")),
            },
            ExchangeError::ProtocolViolation(how) => (Status::Failed, how.to_owned()),
            ExchangeError::TooLarge => (
                Status::TooLarge,
                "the output exceeded its size limit".to_owned(),
            ),
            ExchangeError::OutOfTime => {
                (Status::TimedOut, "the job exceeded its CPU time".to_owned())
            }
            ExchangeError::Host(errno) => (
                Status::Failed,
                format!("cannot exchange records with the program: {errno}"),
            ),
        };
        let words = self.last_message();
        let gap = if words.is_empty() { "" } else { ": " };
        AllegedReply::new(job.id, status, (0, 0), 0).with_detail(&format!("{how}{gap}{words}"))
    }
}

/// Reason why a program did not answer.
enum ExchangeError {
    /// The program closed its standard output, most likely because the program ended.
    Over,
    ProtocolViolation(&'static str),
    TooLarge,
    OutOfTime,
    Host(Errno),
}

impl From<Errno> for ExchangeError {
    fn from(errno: Errno) -> ExchangeError {
        ExchangeError::Host(errno)
    }
}

/// A request that is being sent.
struct Request<'a> {
    head: [u8; REQUEST_HEAD_BYTES],
    original: &'a OwnedFd,
    original_bytes: u64,
    /// Number of bytes of head and original that were sent so far.
    sent: u64,
}

impl<'a> Request<'a> {
    fn new(job: &Job<'_>, files: &'a Files) -> Result<Request<'a>, Errno> {
        let environment_bytes = job.environment_bytes().ok_or(Errno::INVAL)?;
        let original_bytes = seek(&files.original, SeekFrom::End(0))?;
        let body_bytes = original_bytes.checked_sub(environment_bytes.into());
        let body_bytes = body_bytes.and_then(|bytes| u32::try_from(bytes).ok());
        Ok(Request {
            head: sandbox_protocol::request_head(environment_bytes, body_bytes.ok_or(Errno::FBIG)?),
            original: &files.original,
            original_bytes,
            sent: 0,
        })
    }

    fn is_sent(&self) -> bool {
        self.sent == REQUEST_HEAD_BYTES as u64 + self.original_bytes
    }

    /// Sends as much of the request as the pipe accepts. A pipe that the program closed accepts
    /// nothing, which is not an error of this function.
    fn send(&mut self, pipe: &OwnedFd, piece: &mut [u8]) -> Result<(), Errno> {
        let written = match self.sent.checked_sub(REQUEST_HEAD_BYTES as u64) {
            None => rustix::io::write(pipe, &self.head[self.sent as usize..]),
            Some(at) => {
                let len = pread(self.original, &mut *piece, at)?;
                if len == 0 {
                    return Err(Errno::IO);
                }
                rustix::io::write(pipe, &piece[..len])
            }
        };
        match written {
            Ok(bytes) => self.sent += bytes as u64,
            Err(Errno::AGAIN | Errno::INTR) => {}
            // A closed pipe is not an error yet: the remaining output of the program is received
            // first.
            Err(Errno::PIPE) => std::thread::yield_now(),
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}
