//! Takes a profile: samples for some seconds, unwinds each sample, and names the functions.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use host::{EVENTS_MAX, Mode, Record, Roots, Sampling, SamplingError};

use crate::profile::{Group, Profile, Stack};
use crate::spaces::{Known, Spaces};
use crate::stacks::{FRAMES_MAX, Stacks};

/// Maximum duration of a profile.
pub const SECONDS_MAX: u64 = 60;
/// Time between two looks at the ring buffers. A ring has room for ten samples, which at 99 Hz are
/// taken in 100 ms.
const READ_EVERY: Duration = Duration::from_millis(25);

/// Settings of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Process id of the server.
    pub server: u32,
    /// Duration, from 1 to [`SECONDS_MAX`] seconds.
    pub seconds: u64,
    /// Processes whose samples count.
    pub of: Of,
}

impl Request {
    /// Samples per second and CPU. The number is not a divisor of the frequencies at which programs
    /// do their periodic work, so that the samples do not keep step with that work.
    pub const FREQUENCY_HZ: u64 = 99;
}

/// Processes whose samples count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The server and its workers.
    All,
    /// The server.
    Server,
    /// The processes that the server started.
    Workers,
}

impl Of {
    /// All values with their names in queries and on the command line.
    pub const NAMES: [(&str, Of); 3] = [
        ("all", Of::All),
        ("server", Of::Server),
        ("workers", Of::Workers),
    ];

    /// Returns the value with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Of> {
        let found = Of::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, of)| *of)
    }

    /// Returns the name in queries and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Of::NAMES.iter().find(|(_, of)| *of == self);
        found.expect("every value has a name").0
    }

    fn has(self, group: Group) -> bool {
        match self {
            Of::All => true,
            Of::Server => group == Group::Server,
            Of::Workers => group == Group::Workers,
        }
    }
}

/// Reason why no profile was taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not allow this user to sample.
    #[error(
        "the kernel refuses to sample: {error} (kernel.perf_event_paranoid {})",
        level(*.paranoid)
    )]
    Refused {
        /// Value of `kernel.perf_event_paranoid`, if it can be read.
        paranoid: Option<i32>,
        /// Error of the kernel.
        error: io::Error,
    },
    /// The process does not exist.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// There are more threads than can be sampled.
    #[error(
        "{threads} threads on {cpus} CPUs need more descriptors than the limit of open files allows, \
         or more than the {} that a profile may use",
        EVENTS_MAX
    )]
    TooManyThreads {
        /// Threads of all processes.
        threads: usize,
        /// CPUs of the machine.
        cpus: usize,
    },
    /// The profile was cancelled.
    #[error("the profile was cancelled")]
    Cancelled,
    /// Another error of the host.
    #[error("the host cannot sample: {0}")]
    Host(io::Error),
}

/// Returns the end of a message about the value of `kernel.perf_event_paranoid`.
fn level(paranoid: Option<i32>) -> String {
    match paranoid {
        Some(level) => format!("is {level}"),
        None => "cannot be read".to_owned(),
    }
}

impl Error {
    /// Returns what the operator can do, if anything.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Refused {
                paranoid: Some(3..),
                ..
            } => Some(
                "sysctl -w kernel.perf_event_paranoid=2 lets users sample their own programs; \
                 the capability CAP_PERFMON does it for one program",
            ),
            Error::Refused { .. } => Some(
                "if the process belongs to another user, run the command as that user or as root; \
                 if a seccomp filter or a security module, such as that of a container, denies \
                 perf_event_open, allow that call",
            ),
            Error::TooManyThreads { .. } => Some("raise the limit of open files by ulimit -n"),
            Error::NoProcess(_) | Error::Cancelled | Error::Host(_) => None,
        }
    }

    fn new(error: SamplingError, roots: &Roots, server: u32) -> Error {
        match error {
            SamplingError::Refused(error) => Error::Refused {
                paranoid: paranoid(&roots.proc),
                error,
            },
            SamplingError::NoProcess => Error::NoProcess(server),
            SamplingError::TooManyEvents { threads, cpus } => {
                Error::TooManyThreads { threads, cpus }
            }
            SamplingError::Host(error) => Error::Host(error),
        }
    }
}

fn paranoid(proc: &Path) -> Option<i32> {
    let text = std::fs::read_to_string(proc.join("sys/kernel/perf_event_paranoid"));
    text.ok()?.trim().parse().ok()
}

/// Takes a profile. Blocks the thread for the whole time, or until `is_cancelled` becomes true.
/// `known` are executable files that the caller has in memory.
///
/// # Errors
/// When the kernel refuses, or the process does not exist.
///
/// # Panics
/// If the duration is out of range.
pub fn take(
    request: Request,
    known: &[Known],
    is_cancelled: &AtomicBool,
) -> Result<Profile, Error> {
    assert!((1..=SECONDS_MAX).contains(&request.seconds), "{request:?}");
    let roots = Roots::default();
    let sampling = Sampling::start(&roots, request.server, Request::FREQUENCY_HZ);
    let mut sampling = sampling.map_err(|err| Error::new(err, &roots, request.server))?;
    let (begin, start) = (SystemTime::now(), Instant::now());
    let mut recorder = Recorder {
        request,
        spaces: Spaces::new(&roots.proc, known, request.server),
        stacks: Stacks::new(FRAMES_MAX),
    };
    for process in sampling.processes() {
        recorder.spaces.load(*process);
    }
    let duration = Duration::from_secs(request.seconds);
    while start.elapsed() < duration {
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        thread::sleep(READ_EVERY.min(duration.saturating_sub(start.elapsed())));
        sampling
            .drain(|record| recorder.record(record))
            .map_err(Error::Host)?;
    }
    sampling.stop().map_err(Error::Host)?;
    let duration = start.elapsed();
    sampling
        .drain(|record| recorder.record(record))
        .map_err(Error::Host)?;
    let (places, stacks) = recorder.stacks.finish();
    let (images, places) = recorder.spaces.name(&places);
    let stacks = stacks.into_iter().map(|(group, frames, count)| Stack {
        group,
        frames: frames.iter().map(|index| *index as usize).collect(),
        count,
    });
    Ok(Profile {
        begin,
        duration,
        frequency_hz: Request::FREQUENCY_HZ,
        images,
        program: recorder.spaces.program(),
        places,
        stacks: stacks.collect(),
        lost: sampling.lost(),
        refused: sampling.refused(),
        has_kernel: sampling.mode() == Mode::UserAndKernel,
        issues: recorder.spaces.take_issues(),
    })
}

/// State of a profile in progress.
struct Recorder<'a> {
    request: Request,
    spaces: Spaces<'a>,
    stacks: Stacks,
}

impl Recorder<'_> {
    fn record(&mut self, record: Record) {
        match record {
            Record::Forked { parent, child } => self.spaces.fork(parent, child),
            Record::Mapped { process } | Record::Ended { process } => self.spaces.forget(process),
            Record::Sampled(sample) => {
                let group = match sample.process == self.request.server {
                    true => Group::Server,
                    false => Group::Workers,
                };
                if self.request.of.has(group) {
                    let stack = self.spaces.unwind(&sample);
                    self.stacks.count(group, &stack);
                }
            }
        }
    }
}
