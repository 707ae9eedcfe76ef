//! CPU samples of a process and all its descendants, taken by the kernel's perf events.
//!
//! ```text
//! process tree ─► one event per thread and CPU ─► one ring buffer per CPU ─► drain, by time
//! ```
//!
//! The events are inherited: processes and threads that start later are sampled too. A sample
//! contains the registers and the top of the stack, from which the caller unwinds the stack, so the
//! sampled programs need no frame pointers. The sampled processes do nothing for it, and their
//! seccomp filters do not apply: only the caller makes system calls. Source: perf_event_open(2).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::Path;

use host_checks::Cpus;
use perf_event::data::parse::Parser;
use perf_event::data::{Exit, Fork, Lost, Mmap2, RecordMetadata, Sample, Visitor};
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use rustix::ioctl::{IntegerSetter, Opcode, ioctl, opcode};
use rustix::time::{ClockId, clock_gettime};

use crate::files::{self, Roots};

/// Maximum number of events, each of which needs a descriptor: threads × CPUs.
pub const EVENTS_MAX: usize = 8_192;
/// Bytes of the stack that a sample contains. Functions of the video encoders have frames of
/// several KiB. The length of a record is a number of 16 bits.
const STACK_BYTES: u32 = 48 << 10;
/// Size of the ring buffer of a CPU. With the kernel's default of `perf_event_mlock_kb`, a user
/// without privileges may have 512 KiB and one page per CPU.
const RING_BYTES: usize = 512 << 10;
/// `PERF_EVENT_IOC_SET_OUTPUT` of `linux/perf_event.h`: an event writes to another one's ring.
const SET_OUTPUT: Opcode = opcode::none(b'$', 5);
/// Bits of `perf_event_header.misc` that hold the mode of the CPU, and two of their values.
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;
const MODE_USER: u16 = 2;
/// `PROT_EXEC` in the records of mappings.
const EXECUTABLE: u32 = 4;

/// Bits of `sample_regs_user` (`asm/perf_regs.h`): RBP, RSP and RIP.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
/// Bits of `sample_regs_user` (`asm/perf_regs.h`): X29, X30, SP and PC.
#[cfg(target_arch = "aarch64")]
const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// Running collection of samples. The events end when this value is dropped.
pub struct Sampling {
    rings: Vec<Sampler>,
    /// Events that write to the ring of another event.
    counters: Vec<Counter>,
    processes: Vec<u32>,
    refused: usize,
    mode: Mode,
    /// Records that were read, but may be younger than unread ones of another CPU.
    pending: Vec<(u64, Record)>,
    lost: u64,
}

/// Kind of code that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Programs and the kernel on their behalf.
    UserAndKernel,
    /// Only programs, because the kernel refuses more to this user.
    User,
}

/// Record of the kernel.
#[derive(Debug)]
pub enum Record {
    /// A process forked.
    Forked {
        /// Process that forked.
        parent: u32,
        /// New process.
        child: u32,
    },
    /// A process mapped a file with executable code.
    Mapped {
        /// The process.
        process: u32,
    },
    /// A process ended.
    Ended {
        /// The process.
        process: u32,
    },
    /// A thread used the CPU.
    Sampled(CpuSample),
}

/// State of a thread at the time of a sample.
#[derive(Debug)]
pub struct CpuSample {
    /// Process of the thread.
    pub process: u32,
    /// True if the thread was in the kernel. The registers are those of the program then.
    pub is_kernel: bool,
    /// Registers of the program, if it has any.
    pub registers: Option<Registers>,
    /// Top of the stack, beginning at the stack pointer.
    pub stack: Vec<u8>,
}

/// Registers that unwinding needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// Link register, which x86-64 does not have.
    pub lr: u64,
}

/// Reason why no samples can be taken.
#[derive(Debug)]
pub enum SamplingError {
    /// The kernel does not allow this user to sample, or not this process.
    Refused(io::Error),
    /// The process does not exist, or has ended.
    NoProcess,
    /// More events than [`EVENTS_MAX`], or than descriptors are allowed.
    TooManyEvents {
        /// Threads of all processes.
        threads: usize,
        /// CPUs of the machine.
        cpus: usize,
    },
    /// Another error of the kernel.
    Host(io::Error),
}

impl Sampling {
    /// Starts to sample `root` and all its descendants, `frequency_hz` times per second and CPU.
    ///
    /// # Errors
    /// When the kernel refuses, or when there are too many threads.
    pub fn start(roots: &Roots, root: u32, frequency_hz: u64) -> Result<Sampling, SamplingError> {
        let cpus = online(roots)?;
        let processes = tree(&roots.proc, root).map_err(SamplingError::Host)?;
        let threads: Vec<(u32, u32)> = processes
            .iter()
            .flat_map(|process| threads(&roots.proc, *process))
            .collect();
        let too_many = SamplingError::TooManyEvents {
            threads: threads.len(),
            cpus: cpus.len(),
        };
        if EVENTS_MAX < threads.len() * cpus.len() {
            return Err(too_many);
        }
        let mut sampling = Sampling {
            rings: Vec::with_capacity(cpus.len()),
            counters: Vec::with_capacity(threads.len() * cpus.len()),
            processes,
            refused: 0,
            mode: Mode::UserAndKernel,
            pending: Vec::new(),
            lost: 0,
        };
        let mut refused = Vec::new();
        for cpu in cpus {
            let mut ring = None;
            for (process, thread) in &threads {
                let opened = sampling.open(*thread, cpu, frequency_hz, &mut ring);
                match opened.map_err(|err| (err.raw_os_error(), err)) {
                    Ok(()) => {}
                    // The thread has ended meanwhile.
                    Err((Some(libc::ESRCH), _)) => {}
                    Err((Some(libc::EMFILE | libc::ENFILE), _)) => return Err(too_many),
                    Err((Some(libc::EACCES | libc::EPERM), err)) if *process == root => {
                        return Err(SamplingError::Refused(err));
                    }
                    Err((Some(libc::EACCES | libc::EPERM), _)) => refused.push(*process),
                    Err((_, err)) => return Err(SamplingError::Host(err)),
                }
            }
            sampling.rings.extend(ring);
        }
        refused.sort_unstable();
        refused.dedup();
        sampling.refused = refused.len();
        match sampling.rings.is_empty() {
            true => Err(SamplingError::NoProcess),
            false => Ok(sampling),
        }
    }

    /// Opens the event of one thread on one CPU. The first event of a CPU gets the ring buffer, and
    /// the others write to it.
    fn open(
        &mut self,
        thread: u32,
        cpu: usize,
        frequency_hz: u64,
        ring: &mut Option<Sampler>,
    ) -> io::Result<()> {
        let counter = match event(thread, cpu, frequency_hz, self.mode).build() {
            Err(err)
                if self.mode == Mode::UserAndKernel
                    && matches!(err.raw_os_error(), Some(libc::EACCES | libc::EPERM)) =>
            {
                let counter = event(thread, cpu, frequency_hz, Mode::User).build()?;
                self.mode = Mode::User;
                counter
            }
            built => built?,
        };
        match ring {
            None => *ring = Some(counter.sampled(RING_BYTES)?),
            Some(ring) => {
                redirect(&counter, ring)?;
                self.counters.push(counter);
            }
        }
        Ok(())
    }

    /// Returns the processes that existed when the samples started.
    #[must_use]
    pub fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// Returns the number of processes that the kernel refused to sample.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Returns the kind of code that is sampled.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the number of records that the kernel dropped because a ring buffer was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Ends the samples. [`Sampling::drain`] returns what remains.
    ///
    /// # Errors
    /// When the kernel does not stop an event, which is a bug.
    pub fn stop(&mut self) -> io::Result<()> {
        for ring in &mut self.rings {
            ring.disable()?;
        }
        for counter in &mut self.counters {
            counter.disable()?;
        }
        Ok(())
    }

    /// Reads the ring buffers, and passes the records to `handle` in order of time. A ring has room
    /// for about ten samples of a CPU: records are lost unless this function is called ten times
    /// per second at 99 Hz.
    ///
    /// # Errors
    /// When the kernel wrote a record that cannot be parsed.
    pub fn drain(&mut self, mut handle: impl FnMut(Record)) -> io::Result<()> {
        // A record that is written while the rings are read may be older than one that was read
        // from another ring, so records after this moment wait for the next call.
        let now = clock_gettime(ClockId::Monotonic);
        let now = u64::try_from(now.tv_sec).expect("the monotonic clock begins at zero")
            * 1_000_000_000
            + u64::try_from(now.tv_nsec).expect("a fraction of a second is not negative");
        for ring in &mut self.rings {
            let config = ring.config().clone();
            while let Some(record) = ring.next_record() {
                let bytes = with_header(&record);
                let mut parser = Parser::new(bytes.as_slice(), config.clone());
                match parser.parse_record(Reader).map_err(io::Error::other)? {
                    Read::Record(time, record) => self.pending.push((time, record)),
                    Read::Lost(count) => self.lost += count,
                    Read::Other => {}
                }
            }
        }
        self.pending.sort_by_key(|(time, _)| *time);
        let ready = self.pending.partition_point(|(time, _)| *time <= now);
        self.pending
            .drain(..ready)
            .for_each(|(_, record)| handle(record));
        Ok(())
    }
}

/// Returns the settings of the event of one thread on one CPU.
fn event(thread: u32, cpu: usize, frequency_hz: u64, mode: Mode) -> Builder<'static> {
    let thread = i32::try_from(thread).expect("ids of threads are at most 2^22");
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder
        .observe_pid(thread)
        .one_cpu(cpu)
        .inherit(true)
        .enabled(true)
        .exclude_kernel(mode == Mode::User)
        .sample_frequency(frequency_hz)
        .sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME)
        .sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER)
        .sample_regs_user(REGISTERS)
        .sample_stack_user(STACK_BYTES)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        .mmap(true)
        .mmap2(true)
        .task(true);
    builder
}

/// Makes an event write to the ring buffer of another event of the same CPU.
fn redirect(counter: &Counter, ring: &Sampler) -> io::Result<()> {
    let target = usize::try_from(ring.as_raw_fd()).expect("an open descriptor is not negative");
    // SAFETY: PERF_EVENT_IOC_SET_OUTPUT takes a descriptor by value and writes no memory of this
    // process.
    let setter = unsafe { IntegerSetter::<SET_OUTPUT>::new_usize(target) };
    // SAFETY: `counter` owns the descriptor, which stays open during this call.
    let descriptor = unsafe { BorrowedFd::borrow_raw(counter.as_raw_fd()) };
    // SAFETY: the opcode is one of perf events, and `counter` is one. The kernel keeps the ring
    // buffer until the last event that writes to it is closed.
    unsafe { ioctl(descriptor, setter) }?;
    Ok(())
}

/// Returns the bytes of a record with its header, as the parser expects them.
fn with_header(record: &perf_event::Record<'_>) -> Vec<u8> {
    let size = size_of::<u64>() + record.len();
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&record.ty().to_ne_bytes());
    bytes.extend_from_slice(&record.misc().to_ne_bytes());
    let size = u16::try_from(size).expect("the kernel stores the size of a record in 16 bits");
    bytes.extend_from_slice(&size.to_ne_bytes());
    for part in record.data() {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Parsed record of the kernel.
enum Read {
    /// Record with its time in nanoseconds.
    Record(u64, Record),
    /// Number of records that the kernel dropped.
    Lost(u64),
    /// Record that is of no use here.
    Other,
}

/// Reads the records that [`Sampling::drain`] passes on.
struct Reader;

impl<'a> Visitor<'a> for Reader {
    type Output = Read;

    fn visit_unimplemented(self, _metadata: RecordMetadata) -> Read {
        Read::Other
    }

    fn visit_lost(self, record: Lost, _metadata: RecordMetadata) -> Read {
        Read::Lost(record.lost)
    }

    fn visit_fork(self, record: Fork, _metadata: RecordMetadata) -> Read {
        match record.pid == record.ppid {
            // A new thread.
            true => Read::Other,
            false => Read::Record(
                record.time,
                Record::Forked {
                    parent: record.ppid,
                    child: record.pid,
                },
            ),
        }
    }

    fn visit_exit(self, record: Exit, _metadata: RecordMetadata) -> Read {
        match record.pid == record.tid {
            true => Read::Record(
                record.time,
                Record::Ended {
                    process: record.pid,
                },
            ),
            // A thread that is not the first of its process.
            false => Read::Other,
        }
    }

    fn visit_mmap2(self, record: Mmap2<'a>, metadata: RecordMetadata) -> Read {
        match metadata.sample_id().time() {
            Some(time) if record.prot & EXECUTABLE != 0 => Read::Record(
                time,
                Record::Mapped {
                    process: record.pid,
                },
            ),
            _ => Read::Other,
        }
    }

    fn visit_sample(self, sample: Sample<'a>, metadata: RecordMetadata) -> Read {
        let mode = metadata.misc() & MODE_MASK;
        let (Some(time), Some(process)) = (sample.time(), sample.pid()) else {
            return Read::Other;
        };
        // The other modes are those of guests of a hypervisor and of the hypervisor.
        if mode != MODE_KERNEL && mode != MODE_USER {
            return Read::Other;
        }
        let sampled = CpuSample {
            process,
            is_kernel: mode == MODE_KERNEL,
            registers: sample.regs_user().and_then(|it| registers(&it.regs)),
            stack: sample.stack_user().unwrap_or_default().to_vec(),
        };
        Read::Record(time, Record::Sampled(sampled))
    }
}

/// Returns the registers of a sample, which are in the order of the bits of [`REGISTERS`].
#[cfg(target_arch = "x86_64")]
fn registers(values: &[u64]) -> Option<Registers> {
    let [fp, sp, ip] = *values else { return None };
    // Without a program, such as in a thread of the kernel, there are no registers.
    (ip != 0).then_some(Registers { ip, sp, fp, lr: 0 })
}

/// Returns the registers of a sample, which are in the order of the bits of [`REGISTERS`].
#[cfg(target_arch = "aarch64")]
fn registers(values: &[u64]) -> Option<Registers> {
    let [fp, lr, sp, ip] = *values else {
        return None;
    };
    (ip != 0).then_some(Registers { ip, sp, fp, lr })
}

/// Returns the CPUs that are online.
fn online(roots: &Roots) -> Result<Vec<usize>, SamplingError> {
    let path = roots.sys.join("devices/system/cpu/online");
    let text = fs::read_to_string(&path).map_err(SamplingError::Host)?;
    let cpus = Cpus::parse_list(text.trim()).ok_or_else(|| {
        SamplingError::Host(io::Error::other(format!(
            "{}: not a list of CPUs",
            path.display()
        )))
    })?;
    Ok(cpus.iter().map(|cpu| cpu as usize).collect())
}

/// Returns a process and all its descendants, parents before their children.
fn tree(proc: &Path, root: u32) -> io::Result<Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir(proc)? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that ended meanwhile has no parent any more.
        if let Some(parent) = parent(&proc.join(name).join("stat")) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(process) = found.get(next) {
        if let Some(below) = children.remove(process) {
            found.extend(below);
        }
        next += 1;
    }
    Ok(found)
}

/// Reads the parent of a process from its file `stat`: the second field after the name, which is
/// in parentheses and may itself contain any character.
fn parent(stat: &Path) -> Option<u32> {
    let text = files::read(stat).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the threads of a process, each with the process. A process that has ended has none.
fn threads(proc: &Path, process: u32) -> Vec<(u32, u32)> {
    let folder = proc.join(process.to_string()).join("task");
    let threads = files::numbers(&folder, "").unwrap_or_default();
    threads.into_iter().map(|it| (process, it)).collect()
}
