//! The part of Linux that a guest has: memory, time, randomness, its job's descriptors, and files that were allowed by
//! name. Every other call fails with `ENOSYS` and is counted.
//!
//! A call is a row of [`CALLS`]. Addresses are alleged: [`Memory`](super::memory::Memory) checks each against the slot;
//! structures are copied once, then judged.

mod events;
mod files;
mod memory;
mod process;
mod records;
mod threads;

pub(super) use process::find_clock;
pub(crate) use threads::THREADS_MAX;

use super::layout::Layout;
use super::machine::Machine;
use super::space::Space;
use sandbox_protocol::{DETAIL_BYTES_MAX, JobLimits};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use threads::Threads;

/// User and group of a program.
pub(super) const NOBODY: u64 = 65_534;

/// Most calls without a row that are told apart.
const REFUSED_MAX: usize = 16;
/// Most descriptors of a guest.
const DESCRIPTORS_MAX: usize = 64;

/// What a call does to the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It returned, and the guest goes on.
    Go,
    /// The guest wants its job, to this address and no more than this many bytes.
    Wait {
        address: u64,
        bytes: u64,
    },
    /// The guest's reply to its job.
    Reply(Vec<u8>),
    /// A program that is kept has answered, by a call that is to return this.
    Answered(u64),
    /// It cannot come up, in its own words.
    Broken(Vec<u8>),
    Exited(i32),
    Died(String),
    /// It wrote more than its answer may have.
    TooLarge,
}

/// What a call returns: a number, an error number, or what it does instead of returning.
type Answer = Result<u64, Stop>;

enum Stop {
    Errno(i32),
    Next(Next),
    /// Another thread has its turn.
    Wait(threads::Wait),
}

/// A call that fails with this error.
fn fails<T>(errno: i32) -> Result<T, Stop> {
    Err(Stop::Errno(errno))
}

impl From<super::memory::BadAddress> for Stop {
    fn from(_: super::memory::BadAddress) -> Stop {
        Stop::Errno(libc::EFAULT)
    }
}

impl From<rustix::io::Errno> for Stop {
    fn from(errno: rustix::io::Errno) -> Stop {
        Stop::Errno(errno.raw_os_error())
    }
}

/// A file that programs may open by this name.
pub(crate) struct Allowed {
    pub(crate) name: Vec<u8>,
    pub(crate) file: OwnedFd,
}

/// What stands behind a descriptor of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Null,
    /// Reports of a program that cannot come up.
    Control,
    /// Jobs and replies.
    Job,
    /// The original from `begin` on.
    Original {
        begin: u64,
        at: u64,
    },
    Answer {
        at: u64,
    },
    /// Requests and answers of a program that is kept.
    Requests,
    Answers,
    /// Words for the log.
    Errors,
    /// A line to a service.
    Service,
    /// One of those allowed.
    File {
        index: usize,
        at: u64,
    },
    /// An eventfd.
    Event {
        count: u64,
    },
    /// An epoll.
    Poll,
}

/// The original and the answer of one job, and its line to a service.
pub(crate) struct Files {
    pub(crate) original: OwnedFd,
    pub(crate) answer: OwnedFd,
    pub(crate) service: Option<OwnedFd>,
}

/// All that the host knows of a guest beyond its machine. Cloned for each job from what it was when the guest was ready,
/// and dropped after it.
#[derive(Clone)]
pub(crate) struct Linux {
    space: Space,
    open: Vec<Option<Open>>,
    allowed: Rc<[Allowed]>,
    files: Option<Rc<Files>>,
    /// Hangs up when nobody wants an answer any more.
    server: Option<BorrowedFd<'static>>,
    answer_bytes_max: u64,
    /// How far the answer was written.
    answer_bytes: u64,
    /// Of a program that is kept.
    exchange: Option<records::Exchange>,
    /// A program has calls that a worker has not.
    runs_program: bool,
    threads: Threads,
    watched: Vec<events::Watched>,
    boot_bytes_max: u64,
    errors: Vec<u8>,
    refused: BTreeMap<u64, u32>,
    pub(crate) calls: u64,
}

impl Linux {
    pub(crate) fn new(layout: &Layout, bytes_max: u64, allowed: Rc<[Allowed]>) -> Linux {
        Linux {
            space: Space::new(layout.heap_begin, layout.mappings_top, bytes_max),
            open: vec![Some(Open::Null); 3],
            allowed,
            files: None,
            server: None,
            answer_bytes_max: 0,
            answer_bytes: 0,
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

    /// Descriptors of a worker: two sockets' numbers, then original and answer.
    pub(crate) fn speak_job(&mut self) {
        let original = Open::Original { begin: 0, at: 0 };
        self.open = vec![Some(Open::Null); 3];
        let more = [Open::Control, Open::Job, original, Open::Answer { at: 0 }];
        self.open.extend(more.map(Some));
    }

    /// Descriptors of any program: the original from `begin` on, the answer, the log, and what its job has beside.
    pub(crate) fn speak_streams(&mut self, begin: u64) {
        self.runs_program = true;
        // It has not begun, so what it may take before its job is left, too.
        self.space.allow_more(self.boot_bytes_max);
        let input = Open::Original { begin, at: 0 };
        self.open = vec![
            Some(input),
            Some(Open::Answer { at: 0 }),
            Some(Open::Errors),
        ];
        let files = self.files.as_ref();
        let service = files.and_then(|files| files.service.as_ref());
        self.open.extend(service.map(|_| Some(Open::Service)));
    }

    /// Begins a job.
    pub(crate) fn begin(&mut self, files: Files, limits: &JobLimits, server: BorrowedFd<'static>) {
        self.server = Some(server);
        self.files = Some(Rc::new(files));
        self.answer_bytes_max = limits.answer_bytes_max;
        self.answer_bytes = 0;
        self.errors.clear();
        self.refused.clear();
        self.space.allow(limits.memory_bytes_max);
    }

    /// The strings of a job's environment, at the head of its original.
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

    /// Serves the machine's present call.
    pub(crate) fn serve(&mut self, machine: &mut Machine) -> Result<Next, String> {
        let (number, arguments) = machine.call();
        self.calls += 1;
        let more: &[_] = if self.runs_program {
            PROGRAM_CALLS
        } else {
            &[]
        };
        let mut rows = more.iter().chain(CALLS);
        let row = rows.find(|(known, _)| *known as u64 == number);
        let answer = match row {
            Some((_, serve)) => serve(self, machine, arguments),
            None => {
                self.refuse(number);
                fails(libc::ENOSYS)
            }
        };
        let result = match answer {
            Ok(value) => value as i64,
            Err(Stop::Errno(errno)) => -i64::from(errno),
            Err(Stop::Next(next)) => return Ok(next),
            Err(Stop::Wait(wait)) => return self.wait(machine, wait),
        };
        machine.answer(result)?;
        Ok(Next::Go)
    }

    /// Whether it has more than one thread.
    pub(crate) fn has_threads(&self) -> bool {
        self.threads.are_several()
    }

    fn refuse(&mut self, number: u64) {
        if self.refused.len() < REFUSED_MAX || self.refused.contains_key(&number) {
            *self.refused.entry(number).or_default() += 1;
        }
    }

    pub(crate) fn answer_bytes(&self) -> u64 {
        self.answer_bytes
    }

    pub(crate) fn memory_peak_bytes(&self) -> u64 {
        self.space.peak_bytes()
    }

    /// Memory that the program might have had and did not ask for.
    pub(crate) fn spare(&self) -> Range<u64> {
        self.space.spare()
    }

    /// Calls that failed because there is no such call here.
    pub(crate) fn refused_calls(&self) -> u64 {
        self.refused.values().map(|count| u64::from(*count)).sum()
    }

    /// What to say of a program that failed: its own words, and the calls it did not get.
    pub(crate) fn last_words(&self) -> String {
        let mut words = String::from_utf8_lossy(&self.errors).trim().to_owned();
        if !self.refused.is_empty() {
            let gap = if words.is_empty() { "" } else { "; " };
            words.push_str(gap);
            words.push_str("calls that a guest does not have:");
            for (number, count) in &self.refused {
                let name = process::name(*number);
                match name {
                    Some(name) => write!(words, " {name}"),
                    None => write!(words, " {number}"),
                }
                .expect("writing to a string does not fail");
                if 1 < *count {
                    write!(words, " ({count} times)").expect("as above");
                }
            }
        }
        words
    }

    /// Keeps the first words for the log.
    fn hear(&mut self, bytes: &[u8]) {
        let room = DETAIL_BYTES_MAX - self.errors.len();
        self.errors.extend(bytes.iter().take(room));
    }
}

/// Calls of programs: threads, sleep, and events between threads. A worker has one thread, which never waits.
const PROGRAM_CALLS: &[(libc::c_long, Serve)] = &[
    (libc::SYS_clone, threads::clone),
    (libc::SYS_nanosleep, threads::nanosleep),
    (libc::SYS_clock_nanosleep, threads::clock_nanosleep),
    (libc::SYS_eventfd2, events::eventfd),
    (libc::SYS_epoll_create1, events::epoll_create),
    (libc::SYS_epoll_ctl, events::epoll_ctl),
    (libc::SYS_epoll_wait, events::epoll_wait),
    (libc::SYS_epoll_pwait, events::epoll_wait),
    // libc falls back to `clone`, whose flags are no pointer.
    (libc::SYS_clone3, |_, _, _| fails(libc::ENOSYS)),
    // Names of mappings, which Go's runtime gives where it can.
    (libc::SYS_prctl, |_, _, _| fails(libc::EINVAL)),
];

type Serve = fn(&mut Linux, &mut Machine, [u64; 6]) -> Answer;

/// Every call there is.
const CALLS: &[(libc::c_long, Serve)] = &[
    // Descriptors: those of the job, and files by name.
    (libc::SYS_read, files::read),
    (libc::SYS_pread64, files::pread),
    (libc::SYS_readv, files::readv),
    (libc::SYS_write, files::write),
    (libc::SYS_pwrite64, files::pwrite),
    (libc::SYS_writev, files::writev),
    (libc::SYS_lseek, files::lseek),
    (libc::SYS_close, files::close),
    (libc::SYS_fstat, files::fstat),
    (libc::SYS_newfstatat, files::newfstatat),
    (libc::SYS_open, files::open),
    (libc::SYS_openat, files::openat),
    (libc::SYS_readlink, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_readlinkat, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_access, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_faccessat, |_, _, _| fails(libc::ENOENT)),
    (libc::SYS_fcntl, files::fcntl),
    (libc::SYS_ioctl, |_, _, _| fails(libc::ENOTTY)),
    (libc::SYS_poll, files::poll),
    // Memory.
    (libc::SYS_brk, memory::brk),
    (libc::SYS_mmap, memory::mmap),
    (libc::SYS_munmap, memory::munmap),
    (libc::SYS_mremap, |_, _, _| fails(libc::ENOMEM)),
    (libc::SYS_mprotect, memory::mprotect),
    (libc::SYS_madvise, memory::madvise),
    // Time and chance.
    (libc::SYS_clock_gettime, process::clock_gettime),
    (libc::SYS_clock_getres, process::clock_getres),
    (libc::SYS_gettimeofday, process::gettimeofday),
    (libc::SYS_getrandom, process::getrandom),
    // What the start of C and Rust programs asks for, and one thread needs.
    (libc::SYS_arch_prctl, process::arch_prctl),
    (libc::SYS_set_tid_address, threads::set_tid_address),
    (libc::SYS_set_robust_list, |_, _, _| Ok(0)),
    (libc::SYS_rt_sigaction, process::rt_sigaction),
    (libc::SYS_rt_sigprocmask, process::rt_sigprocmask),
    (libc::SYS_sigaltstack, process::sigaltstack),
    (libc::SYS_futex, threads::futex),
    (libc::SYS_prlimit64, process::prlimit),
    (libc::SYS_sched_getaffinity, process::sched_getaffinity),
    (libc::SYS_sched_yield, threads::sched_yield),
    (libc::SYS_sysinfo, process::sysinfo),
    (libc::SYS_uname, process::uname),
    (libc::SYS_getpid, |_, _, _| Ok(1)),
    (libc::SYS_gettid, threads::gettid),
    (libc::SYS_getppid, |_, _, _| Ok(0)),
    (libc::SYS_getuid, |_, _, _| Ok(NOBODY)),
    (libc::SYS_geteuid, |_, _, _| Ok(NOBODY)),
    (libc::SYS_getgid, |_, _, _| Ok(NOBODY)),
    (libc::SYS_getegid, |_, _, _| Ok(NOBODY)),
    // Asked for by newer libraries, which do without; counting them would say nothing.
    (libc::SYS_rseq, |_, _, _| fails(libc::ENOSYS)),
    (libc::SYS_statx, |_, _, _| fails(libc::ENOSYS)),
    // The end.
    (libc::SYS_exit, threads::exit),
    (libc::SYS_exit_group, process::exit),
    (libc::SYS_kill, process::kill),
    (libc::SYS_tkill, process::tkill),
    (libc::SYS_tgkill, process::tgkill),
];
