//! State that the host keeps for a guest: descriptors, threads, and the bounds of the memory.
//!
//! The guest gets a subset of Linux: memory, time, randomness, the descriptors of its job, and the
//! files in a list of allowed names. Programs also get threads.

use super::names;
use super::{events, records, threads};
use crate::layout::Layout;
use crate::machine::Machine;
use crate::memory::BadAddress;
use crate::slices::Server;
use crate::space::Space;
use sandbox_protocol::{DETAIL_BYTES_MAX, JobLimits};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use threads::Threads;

/// Maximum number of different unimplemented system calls that are counted.
const REFUSED_MAX: usize = 16;
pub(super) const DESCRIPTORS_MAX: usize = 64;

/// Effect of a system call on the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The system call returned, and the guest continues.
    Go,
    /// The guest requests its job: the host must write the job to `address`, at most `bytes` bytes.
    Wait {
        address: u64,
        bytes: u64,
    },
    /// The guest replied to its job with these bytes.
    Reply(Vec<u8>),
    /// A persistent program has completed its answer. The system call that wrote the last piece
    /// must return this number.
    Answered(u64),
    /// The guest cannot start, or a persistent program violated the protocol of its requests and
    /// answers. The bytes state the reason.
    Broken(Vec<u8>),
    Exited(i32),
    Died(String),
    /// The guest wrote more than the maximum length of its answer.
    TooLarge,
}

/// Result of a system call: a number, or the reason why the call does not return a number.
pub(super) type CallResult = Result<u64, Stop>;

pub(super) enum Stop {
    Errno(i32),
    Next(Next),
    /// The thread that made the system call waits, and another thread may run.
    Wait(threads::Wait),
}

/// Returns the result of a system call that fails with `errno`.
pub(super) fn fails<T>(errno: i32) -> Result<T, Stop> {
    Err(Stop::Errno(errno))
}

impl From<BadAddress> for Stop {
    fn from(_: BadAddress) -> Stop {
        Stop::Errno(libc::EFAULT)
    }
}

impl From<rustix::io::Errno> for Stop {
    fn from(errno: rustix::io::Errno) -> Stop {
        Stop::Errno(errno.raw_os_error())
    }
}

/// A file that programs may open.
pub struct AllowedFile {
    /// Absolute path by which the program opens the file.
    pub name: Vec<u8>,
    /// The file, open for reading.
    pub file: OwnedFd,
}

/// Object behind a descriptor of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Null,
    /// Socket for the report of a program that cannot start.
    Control,
    Job,
    /// The job's original, open for reading from offset `begin` on.
    Original {
        begin: u64,
        at: u64,
    },
    CallResult {
        at: u64,
    },
    /// Standard input of a persistent program, from which it reads its requests. It writes its
    /// answers to `Answers`.
    Requests,
    Answers,
    /// Standard error, for the log.
    Errors,
    /// Stream to a service in the server, such as the program's store.
    Service,
    /// A file that the program may open by name.
    File {
        index: usize,
        at: u64,
    },
    /// An eventfd.
    Event {
        count: u64,
    },
    /// An epoll instance.
    Poll,
}

/// Files of one job: its original, its answer, and its stream to a service, if any.
pub struct Files {
    /// Original, read-only.
    pub original: OwnedFd,
    /// Memory file that receives the answer.
    pub answer: OwnedFd,
    /// Stream to a service in the server.
    pub service: Option<OwnedFd>,
}

/// Function that executes one system call with its six arguments.
pub(super) type Serve = fn(&mut Linux, &mut Machine, [u64; 6]) -> CallResult;

/// State that the host keeps for a guest, in addition to the CPU and the memory. The guest's
/// snapshot contains a copy of this state. A new machine starts with this copy, and a wipe (the
/// reset after a job) restores the copy.
#[derive(Clone)]
pub(crate) struct Linux {
    pub(super) space: Space,
    pub(super) open: Vec<Option<Open>>,
    pub(super) allowed: Rc<[AllowedFile]>,
    pub(super) files: Option<Rc<Files>>,
    pub(super) server: Option<Server>,
    pub(super) output_bytes_max: u64,
    /// Length of the answer: the highest offset at which a write to it ended.
    pub(super) output_bytes: u64,
    /// Request in progress and its answer, for a program that serves several requests.
    pub(super) exchange: Option<records::Exchange>,
    /// True if the guest runs a program of the operator, which may make more system calls than a
    /// worker.
    pub(super) runs_program: bool,
    pub(super) threads: Threads,
    pub(super) watched: Vec<events::Watched>,
    pub(super) boot_bytes_max: u64,
    pub(super) errors: Vec<u8>,
    pub(super) refused: BTreeMap<u64, u32>,
    pub(crate) calls: u64,
}

impl Linux {
    pub(crate) fn new(layout: &Layout, bytes_max: u64, allowed: Rc<[AllowedFile]>) -> Linux {
        Linux {
            space: Space::new(layout.heap_begin, layout.mappings_top, bytes_max),
            open: vec![Some(Open::Null); 3],
            allowed,
            files: None,
            server: None,
            output_bytes_max: 0,
            output_bytes: 0,
            exchange: None,
            runs_program: false,
            threads: Threads::new(),
            watched: Vec::new(),
            boot_bytes_max: bytes_max,
            errors: Vec::new(),
            refused: BTreeMap::new(),
            calls: 0,
        }
    }

    /// Sets up the descriptors of a worker: standard streams that discard all data, two sockets,
    /// the original and the answer.
    pub(crate) fn open_job(&mut self) {
        let original = Open::Original { begin: 0, at: 0 };
        self.open = vec![Some(Open::Null); 3];
        let more = [
            Open::Control,
            Open::Job,
            original,
            Open::CallResult { at: 0 },
        ];
        self.open.extend(more.map(Some));
    }

    /// Sets up the descriptors of an ephemeral program: the original from `begin` on, the answer,
    /// standard error, and the stream to a service if the job has one.
    pub(crate) fn open_streams(&mut self, begin: u64) {
        self.runs_program = true;
        // Other guests start before their first job, and `boot_bytes_max` limits the memory for the
        // start. An ephemeral program starts as part of its job, so the job's limit is raised by
        // this amount.
        self.space.allow_more(self.boot_bytes_max);
        let input = Open::Original { begin, at: 0 };
        self.open = vec![
            Some(input),
            Some(Open::CallResult { at: 0 }),
            Some(Open::Errors),
        ];
        let files = self.files.as_ref();
        let service = files.and_then(|files| files.service.as_ref());
        self.open.extend(service.map(|_| Some(Open::Service)));
    }

    /// Prepares the state for one job.
    pub(crate) fn begin(&mut self, files: Files, limits: &JobLimits, server: Server) {
        self.server = Some(server);
        self.files = Some(Rc::new(files));
        self.output_bytes_max = limits.output_bytes_max;
        self.output_bytes = 0;
        self.errors.clear();
        self.refused.clear();
        self.space.allow(limits.memory_bytes_max);
    }

    /// Reads the strings of a job's environment from the first `bytes` bytes of the job's original.
    pub(crate) fn environment(&self, bytes: u32) -> Result<Vec<Vec<u8>>, rustix::io::Errno> {
        let files = self.files.as_ref().expect("`begin` came first");
        let mut head = vec![0; bytes as usize];
        let read = rustix::io::pread(&files.original, &mut head, 0)?;
        let strings = head[..read].split(|byte| *byte == 0);
        Ok(strings
            .filter(|string| !string.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    /// Returns whether the guest has more than one thread.
    pub(crate) fn has_threads(&self) -> bool {
        self.threads.has_several()
    }

    pub(super) fn refuse(&mut self, number: u64) {
        if self.refused.len() < REFUSED_MAX || self.refused.contains_key(&number) {
            *self.refused.entry(number).or_default() += 1;
        }
    }

    pub(crate) fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    pub(crate) fn memory_peak_bytes(&self) -> u64 {
        self.space.peak_bytes()
    }

    /// Returns the memory that the program has not allocated yet.
    pub(crate) fn spare(&self) -> Range<u64> {
        self.space.spare()
    }

    /// Returns the number of calls that failed because they are not implemented.
    pub(crate) fn refused_calls(&self) -> u64 {
        self.refused.values().map(|count| u64::from(*count)).sum()
    }

    /// Describes a program that failed: its standard error, and the unimplemented calls that it
    /// made.
    pub(crate) fn last_message(&self) -> String {
        let mut words = String::from_utf8_lossy(&self.errors).trim().to_owned();
        if !self.refused.is_empty() {
            let gap = if words.is_empty() { "" } else { "; " };
            words.push_str(gap);
            words.push_str("unsupported system calls:");
            for (number, count) in &self.refused {
                let name = names::name(*number);
                match name {
                    Some(name) => write!(words, " {name}"),
                    None => write!(words, " {number}"),
                }
                .expect("writing to a string cannot fail");
                if 1 < *count {
                    write!(words, " ({count} times)").expect("as above");
                }
            }
        }
        words
    }

    /// Appends `bytes` to the copy of the program's standard error that is kept for the log. The
    /// copy holds at most `DETAIL_BYTES_MAX` bytes.
    pub(super) fn log_stderr(&mut self, bytes: &[u8]) {
        let room = DETAIL_BYTES_MAX - self.errors.len();
        self.errors.extend(bytes.iter().take(room));
    }
}
