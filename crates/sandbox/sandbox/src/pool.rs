//! Pool of sandboxes, which runs jobs for callers and returns the output or the failure of each
//! job.
//!
//! Callers and the supervisor share a [`Queue`] of slots. A slot is one child process that runs
//! jobs. The supervisor's thread owns the zygotes and refills the queue. A caller's thread owns a
//! slot from [`Pool::acquire`] until the thread drops the slot or gives it back.

use crate::channel;
use crate::error::{Error, ErrorKind, Failure, FailureKind};
use crate::limits::Limits;
use crate::memfd::{OutputFile, reopen};
use crate::place::{self, Cores};
use crate::posture::{Backend, Isolation, Posture};
use crate::procfs;
use crate::program::{Program, zygote_source};
use crate::queue::{Permit, Queue};
use crate::reproducer::{self, ReproducerFolder};
use crate::service::{Service, ServiceStream};
use crate::shared::{Shared, Wake};
use crate::slot::{self, Slot};
use crate::stats::{Counters, Stats};
use crate::supervisor::Supervisor;
use crate::verdict;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::rand::{GetRandomFlags, getrandom};
use sandbox_protocol::{AllegedReply, Expect, Job, JobLimits, MESSAGE_BYTES_MAX, Reply, Status};
use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest wait for the exit report of a dead child. The child's zygote usually sends the report
/// within a fraction of a millisecond.
const REAP_TIME_MAX: Duration = Duration::from_secs(2);

/// Maximum duration of an empty job in a microVM. If the job takes longer, [`Backend::Auto`]
/// chooses processes.
const AUTO_JOB_MAX: Duration = Duration::from_millis(1);

/// Description of a job by the pool's caller.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Original, as a file. The pool opens it again, read-only, for the worker.
    pub original: BorrowedFd<'a>,
    /// Plan of the job, at most [`sandbox_protocol::PLAN_BYTES_MAX`] bytes. Plans of fewer than two
    /// bytes are reserved for test jobs, which the cell runs without the worker's function.
    pub plan: &'a [u8],
    /// Expected width and height of the output, if it is a picture.
    pub size_px: Option<(u32, u32)>,
    /// Resource limits of the job; higher values are replaced by the pool's limits.
    pub limits: JobLimits,
    /// Maximum wall time of the job in milliseconds; a higher value is replaced by the pool's
    /// limit.
    pub wall_ms_max: u32,
    /// True if the job runs only while a core is otherwise idle. The time that the job waits for an
    /// idle core counts as wall time.
    pub idle: bool,
}

/// Output of a job, with its resource usage.
#[derive(Debug)]
pub struct Finished {
    /// File with the output, sealed so that no process can change it. The file is longer than the
    /// output: read only [`Finished::output_bytes`] bytes.
    pub body: File,
    /// Length of the output.
    pub output_bytes: u64,
    /// CPU time of the job, as the worker reports it.
    pub cpu_us: u64,
    /// Peak resident memory of the worker, as the worker reports it.
    pub memory_peak_bytes: u64,
    /// Time that the job waited for a ready child.
    pub acquire_us: u64,
    /// Remark of the worker, or the program's standard error: printable text of limited length.
    pub remark: String,
}

/// Pool of children that are ready for jobs, with the supervisor thread that adds new children.
pub struct Pool {
    shared: Arc<Shared>,
    supervisor: Option<JoinHandle<()>>,
    /// Value of the line `runs` in this pool's reproducers (files of failed jobs): `worker`, or
    /// `program NAME`.
    runs: String,
    /// Folder to which reproducers of failed jobs are saved; `None` if they are not saved.
    crashes: Option<ReproducerFolder>,
    job_ids: AtomicU64,
}

/// Permission to run one job in a slot (a cell of the pool).
type SlotPermit<'a> = Permit<'a, Slot, Wake>;

/// Chosen backend, and the reason why [`Backend::Auto`] chose processes over microVMs, if it did.
struct Choice {
    backend: Backend,
    fell_back: Option<String>,
}

impl Choice {
    fn process() -> Choice {
        let backend = Backend::Process;
        let fell_back = None;
        Choice { backend, fell_back }
    }

    fn kvm() -> Choice {
        let backend = Backend::Kvm;
        let fell_back = None;
        Choice { backend, fell_back }
    }
}

/// Events that end the wait for a reply.
struct WaitLimits<'a> {
    deadline: Instant,
    cancel: Option<BorrowedFd<'a>>,
}

impl WaitLimits<'_> {
    fn is_cancelled(&self) -> bool {
        let now = Instant::now();
        self.cancel.is_some_and(|cancel| {
            let watched = &mut [PollFd::from_borrowed_fd(cancel, PollFlags::IN)];
            // A descriptor that cannot be polled cannot cancel the job; the deadline still applies.
            slot::wait(watched, now).unwrap_or(false)
        })
    }
}

impl Pool {
    /// Starts the worker `elf` and waits until it is ready for jobs. The executable should be
    /// static, since an isolated process cannot open the files of libraries.
    ///
    /// # Errors
    /// [`ErrorKind`](crate::ErrorKind) says who is at fault: the limits, the host, or the worker.
    pub fn start(elf: &[u8], limits: Limits) -> Result<Pool, Error> {
        match limits.backend {
            Backend::Process => Pool::begin(elf, None, limits, Choice::process()),
            Backend::Kvm => Pool::begin(elf, None, limits, Choice::kvm()),
            Backend::Auto => match Pool::start_if_fast(elf, limits) {
                Ok(pool) => Ok(pool),
                Err(error) if limits.min_isolation == Isolation::MicroVm => Err(error),
                Err(error) => {
                    let fell_back = Some(error.action);
                    let backend = Backend::Process;
                    Pool::begin(elf, None, limits, Choice { backend, fell_back })
                }
            },
        }
    }

    /// Starts a pool in which each job is a run of `program`. The executable `worker` starts the
    /// program in a cell. The original of a job contains the environment variables of the run,
    /// followed by the standard input. If [`Limits::ephemeral`] is false, the program starts once
    /// per cell, and receives each job as a record on its standard input
    /// ([`sandbox_protocol::request_head`]). [`Backend::Auto`] means processes here: only
    /// [`Pool::start`] measures whether microVMs are fast on this host.
    ///
    /// # Errors
    /// As [`Pool::start`]. If the program's file cannot run in a cell, the error says that the
    /// program is at fault.
    pub fn start_program(worker: &[u8], program: &Program, limits: Limits) -> Result<Pool, Error> {
        let choice = match limits.backend {
            Backend::Process | Backend::Auto => Choice::process(),
            Backend::Kvm => Choice::kvm(),
        };
        Pool::begin(worker, Some(program), limits, choice)
    }

    /// Starts a pool of microVMs. Fails if the host cannot run microVMs, or if an empty job takes
    /// longer than [`AUTO_JOB_MAX`] and the minimum isolation allows processes.
    fn start_if_fast(elf: &[u8], limits: Limits) -> Result<Pool, Error> {
        let pool = Pool::begin(elf, None, limits, Choice::kvm())?;
        let job = crate::probe::empty_job(&pool)?;
        if AUTO_JOB_MAX < job && limits.min_isolation != Isolation::MicroVm {
            let action = format!(
                "an empty job takes {} µs in a microVM on this host, \
                 which is too slow for the backend auto",
                job.as_micros()
            );
            return Err(Error::new(ErrorKind::Host, action));
        }
        Ok(pool)
    }

    fn begin(
        worker: &[u8],
        program: Option<&Program>,
        limits: Limits,
        choice: Choice,
    ) -> Result<Pool, Error> {
        if let Some(field) = limits.fault() {
            let action = format!("the limit {field} is out of range");
            return Err(Error::new(ErrorKind::Limits, action));
        }
        let machine = choice.backend == Backend::Kvm;
        let zygote_source = zygote_source(worker, program, machine, &limits)?;
        let wake = Wake::new().map_err(|errno| Error::host("cannot create an eventfd", errno))?;
        let reuses_children = machine || !limits.ephemeral;
        // Only root can raise a child's priority again. If the server is not root, a deprioritized
        // child is killed after its job. A persistent program would then lose its state, so it is
        // not deprioritized.
        let can_restore_priority = rustix::process::geteuid().is_root();
        let may_deprioritize = program.is_some() && (limits.ephemeral || can_restore_priority);
        let deprioritize_after = Duration::from_millis(u64::from(limits.deprioritize_after_ms));
        // No core is chosen for jobs of programs: a process that a launcher starts would inherit
        // the launcher's affinity to one core.
        let cores = match program {
            None => Cores::own(),
            Some(_) => Cores::any(),
        };
        let shared = Arc::new(Shared {
            limits,
            reuses_children,
            deprioritize_after: Some(deprioritize_after)
                .filter(|time| may_deprioritize && !time.is_zero()),
            runs_program: program.is_some(),
            backend: choice.backend,
            fell_back: choice.fell_back,
            counters: Counters::default(),
            all_cores: *cores.all(),
            queue: Queue::new(limits.children(), limits.concurrency, cores, wake),
        });
        let (started, first) = mpsc::sync_channel(1);
        let supervisor = Supervisor::new(Arc::clone(&shared), zygote_source, started);
        // A worker is killed when the thread that started it ends, so the supervisor's thread
        // starts all workers.
        let supervisor = std::thread::Builder::new()
            .name(String::from("cell supervisor"))
            .spawn(move || supervisor.run())
            .map_err(|source| Error::host("cannot start the supervisor's thread", source))?;
        let pool = Pool {
            shared,
            supervisor: Some(supervisor),
            runs: program.map_or("worker".to_owned(), |program| {
                format!("program {}", program.name)
            }),
            crashes: None,
            job_ids: AtomicU64::new(1),
        };
        first
            .recv()
            .expect("the supervisor reports its first zygote")?;
        Ok(pool)
    }

    /// Runs one job in a child and blocks until the job has ended. Any number of threads may call
    /// this function; at most [`Limits::concurrency`] jobs run at a time, and further jobs wait.
    ///
    /// # Errors
    /// [`Failure`], whose kind says who is at fault.
    ///
    /// # Panics
    /// If the plan is longer than [`sandbox_protocol::PLAN_BYTES_MAX`].
    pub fn run(&self, task: Task<'_>) -> Result<Finished, Failure> {
        self.run_with(task, None)
    }

    /// Runs one job like [`Pool::run`], and passes the output's file to `on_start` as soon as the
    /// job was sent to a worker. The worker may change the content of this file until the job is
    /// done, so it is not yet trustworthy.
    ///
    /// # Errors
    /// As [`Pool::run`].
    ///
    /// # Panics
    /// As [`Pool::run`].
    pub fn run_watched(
        &self,
        task: Task<'_>,
        on_start: &mut dyn FnMut(File),
    ) -> Result<Finished, Failure> {
        self.save_if_failed(&task, self.attempt(task, None, Some(on_start), None))
    }

    /// Runs one job like [`Pool::run`], but kills the job when the descriptor `cancel` becomes
    /// readable. The job then fails with [`FailureKind::Cancelled`].
    ///
    /// # Errors
    /// As [`Pool::run`].
    ///
    /// # Panics
    /// As [`Pool::run`].
    pub fn run_unless(&self, task: Task<'_>, cancel: BorrowedFd<'_>) -> Result<Finished, Failure> {
        self.save_if_failed(&task, self.attempt(task, None, None, Some(cancel)))
    }

    /// Runs one job like [`Pool::run`]. The calling thread provides a service that the program
    /// reaches at [`SERVICE_FD`](crate::SERVICE_FD). Workers and persistent programs do not use a
    /// service.
    ///
    /// # Errors
    /// As [`Pool::run`].
    ///
    /// # Panics
    /// As [`Pool::run`].
    pub fn run_with(
        &self,
        task: Task<'_>,
        service: Option<&mut dyn Service>,
    ) -> Result<Finished, Failure> {
        self.save_if_failed(&task, self.attempt(task, service, None, None))
    }

    /// Saves a reproducer of the job if the job failed, its cell is at fault, and the pool saves
    /// reproducers.
    fn save_if_failed(
        &self,
        task: &Task<'_>,
        ended: Result<Finished, Failure>,
    ) -> Result<Finished, Failure> {
        match (ended, &self.crashes) {
            (Err(failure), Some(crashes)) if reproducer::is_cell_fault(failure.kind) => {
                Err(crashes.keep(&self.runs, self.shared.backend, task, failure))
            }
            (ended, _) => ended,
        }
    }

    /// Returns this pool, set to save reproducers in the folder `crashes`: files of jobs that
    /// crash, violate the protocol, time out or fail to encode. Of several failed jobs with the
    /// same plan and the same original, only the first is saved.
    #[must_use]
    pub fn keep_reproducers(mut self, crashes: Option<ReproducerFolder>) -> Pool {
        self.crashes = crashes;
        self
    }

    fn attempt(
        &self,
        task: Task<'_>,
        service: Option<&mut dyn Service>,
        on_start: Option<&mut dyn FnMut(File)>,
        cancel: Option<BorrowedFd<'_>>,
    ) -> Result<Finished, Failure> {
        let limits = self.lowered(task.limits);
        let answer = OutputFile::new(limits.output_bytes_max)
            .map_err(|errno| Failure::host("cannot create the memory file of the reply", errno))?;
        let mut seed = [0; 16];
        getrandom(&mut seed, GetRandomFlags::empty())
            .map_err(|errno| Failure::host("cannot generate a random seed", errno))?;
        let job = Job {
            id: self.job_ids.fetch_add(1, Ordering::Relaxed),
            limits,
            seed,
            idle: task.idle,
            plan: task.plan,
        };
        let original = reopen(task.original)
            .map_err(|errno| Failure::host("cannot open the original for the worker", errno))?;
        let cpu_max = Duration::from_millis(u64::from(limits.cpu_ms_max));
        let line = service.map(|service| ServiceStream::new(service, cpu_max));
        let line = line
            .transpose()
            .map_err(|errno| Failure::host("cannot create a socket pair", errno))?;
        let (mut line, end) = line.unzip();
        let mut descriptors = vec![original.as_fd(), answer.as_fd()];
        descriptors.extend(end.as_ref().map(AsFd::as_fd));
        let (mut slot, permit, acquired) =
            self.send_job(&job.to_bytes(), &descriptors, task.idle)?;
        drop(end);
        if let Some(on_start) = on_start
            && let Ok(file) = reopen(answer.as_fd())
        {
            on_start(File::from(file));
        }
        let wall_ms = task.wall_ms_max.min(self.shared.limits.max_request_time_ms);
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(u64::from(wall_ms));
        let expect = Expect {
            id: job.id,
            size_px: task.size_px,
            output_bytes_max: limits.output_bytes_max,
            may_be_empty: self.shared.runs_program,
        };
        let until = WaitLimits { deadline, cancel };
        let outcome = self.reply(&mut slot, line.as_mut(), &until, &limits, &expect);
        let counters = &self.shared.counters;
        counters.wall_us.add(begin.elapsed().as_micros() as u64);
        self.release(slot, outcome.is_ok());
        drop(permit);
        let reply = outcome?;
        counters.memory_peak_bytes.reach(reply.memory_peak_bytes);
        if let Some(failure) = verdict::refusal(&reply) {
            return Err(failure);
        }
        let finished = self.finish(reply, answer, acquired)?;
        counters.finished.add(1);
        counters.output_bytes.add(finished.output_bytes);
        Ok(finished)
    }

    /// Returns the isolation mechanisms in force, as the current zygote reports them.
    #[must_use]
    pub fn posture(&self) -> Posture {
        let state = self.shared.queue.lock();
        let posture = state.zygote.posture.as_ref();
        posture
            .expect("`start` returned, so a zygote was ready")
            .clone()
    }

    /// Returns the page tables of a microVM's guest as text, with one line per range of pages with
    /// equal size and access rights. The text is empty if the cells are processes.
    #[must_use]
    pub fn page_tables(&self) -> String {
        self.shared.queue.lock().zygote.page_tables.clone()
    }

    /// Returns the pool's counters since its start.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let state = self.shared.queue.lock();
        let (ready, running) = (state.ready().len() as u64, u64::from(state.running()));
        let pidfds = state.ready().iter().map(|slot| Arc::clone(&slot.pidfd));
        let kept: Vec<_> = pidfds.filter(|_| self.shared.keeps_processes()).collect();
        drop(state);
        let counters = &self.shared.counters;
        for pidfd in kept {
            let peak = procfs::memory_peak_bytes(&pidfd);
            counters.memory_peak_bytes.reach(peak);
        }
        counters.read(ready, running)
    }

    /// Returns the limits with which the pool was started.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    fn lowered(&self, asked: JobLimits) -> JobLimits {
        let limits = &self.shared.limits;
        JobLimits {
            output_bytes_max: asked.output_bytes_max.min(limits.max_output_bytes),
            memory_bytes_max: asked.memory_bytes_max.min(limits.max_work_memory_bytes),
            cpu_ms_max: asked.cpu_ms_max.min(limits.max_request_time_ms),
        }
    }

    /// Sends the job to a ready child. Returns the child, the permit to run the job, and the time
    /// that the job waited for the child.
    fn send_job(
        &self,
        job: &[u8],
        descriptors: &[BorrowedFd<'_>],
        idle: bool,
    ) -> Result<(Slot, SlotPermit<'_>, Duration), Failure> {
        let begin = Instant::now();
        loop {
            let (slot, permit) = self.acquire(begin, idle)?;
            // The waiting time ends here, before the job is sent. Once the job is sent, the child
            // may run on this thread's core for a whole time slice, which would count as waiting
            // time.
            let acquired = begin.elapsed();
            let placed = slot.process.zip(permit.core);
            let placed = placed.filter(|(child, core)| place::wake_on(*child, *core));
            let sent = channel::send(slot.socket.as_fd(), job, descriptors, SendFlags::DONTWAIT);
            if let Some((child, _)) = placed {
                place::release(child, &self.shared.all_cores);
            }
            match sent {
                Ok(()) => {
                    let counters = &self.shared.counters;
                    counters.runs.add(1);
                    counters.acquire_us.add(acquired.as_micros() as u64);
                    return Ok((slot, permit, acquired));
                }
                // The child died while it waited in the queue: try the next one.
                Err(Errno::PIPE | Errno::CONNRESET) => {}
                Err(errno) => return Err(Failure::host("cannot send the job", errno)),
            }
        }
    }

    fn acquire(&self, begin: Instant, idle: bool) -> Result<(Slot, SlotPermit<'_>), Failure> {
        let longest = self.shared.limits.max_queue_time_ms;
        let left = Duration::from_millis(u64::from(longest)).saturating_sub(begin.elapsed());
        let queue = &self.shared.queue;
        queue.acquire(left, idle).ok_or_else(|| {
            self.shared.counters.queue_timeouts.add(1);
            let detail = match &queue.lock().zygote.trouble {
                Some(trouble) => format!("no worker: {trouble}"),
                None => format!("no cell became free within {longest} ms"),
            };
            Failure::new(FailureKind::Host, detail)
        })
    }

    /// Waits for the child's reply and verifies that it fits the job.
    fn reply(
        &self,
        slot: &mut Slot,
        mut line: Option<&mut ServiceStream<'_>>,
        until: &WaitLimits<'_>,
        limits: &JobLimits,
        expect: &Expect,
    ) -> Result<Reply, Failure> {
        let host = |errno| Failure::host("cannot wait for the worker", errno);
        let deadline = until.deadline;
        let mut wait = |slot: &Slot, deadline| match (&mut line, until.cancel) {
            (Some(line), _) => line.wait_readable(slot, deadline),
            (None, None) => slot.wait_readable(deadline),
            (None, Some(cancel)) => slot.wait_readable_or(cancel, deadline),
        };
        let mut used = None;
        while let Some(time) = self.shared.deprioritize_after
            && slot.reduced_weight.is_none()
        {
            let next_check = Instant::now() + time;
            if deadline <= next_check || wait(slot, next_check).map_err(host)? {
                break;
            }
            // The limit is CPU time, not wall time. On a busy host, a limit on wall time would
            // deprioritize jobs that get little CPU time already.
            let now = slot.cpu();
            if used.is_some_and(|used| used + time <= now) {
                slot.deprioritize();
                break;
            }
            used.get_or_insert(now);
        }
        if !wait(slot, deadline).map_err(host)? {
            return Err(self.time_out(slot));
        }
        if until.is_cancelled() {
            slot.end_at_once();
            self.shared.counters.cancelled.add(1);
            let detail = "the caller cancelled the job";
            return Err(Failure::new(FailureKind::Cancelled, detail));
        }
        // The buffer has room for the longest job message. Replies are shorter: after its header, a
        // reply has at most DETAIL_BYTES_MAX bytes, while the plan after the header of a job may be
        // longer.
        let mut bytes = [0; MESSAGE_BYTES_MAX];
        let flags = RecvFlags::DONTWAIT;
        let len = match channel::receive(slot.socket.as_fd(), &mut bytes, flags) {
            Ok((len, _)) => len,
            Err(Errno::AGAIN | Errno::CONNRESET) => 0,
            Err(Errno::MSGSIZE) => {
                return Err(self.violation("the worker sent a packet that is too long"));
            }
            Err(errno) => return Err(Failure::host("cannot receive the reply", errno)),
        };
        if len == 0 {
            // The child closed its socket, so it ends by itself. If it were killed here, its exit
            // status would not show why it ended.
            if !slot.wait_exited(deadline).map_err(host)? {
                return Err(self.time_out(slot));
            }
            let exit_outcome = slot.end.wait(REAP_TIME_MAX);
            return Err(verdict::death(exit_outcome, limits, &self.shared.counters));
        }
        let alleged = AllegedReply::from_bytes(&bytes[..len]).map_err(|malformed| {
            self.violation(&format!("the worker sent a malformed reply: {malformed:?}"))
        })?;
        alleged
            .verify(expect)
            .map_err(|violation| self.violation(&format!("{violation:?}")))
    }

    /// Releases a child after its job. A single-use child is killed. A reusable child is killed if
    /// its reply was invalid, or if its priority cannot be restored. Otherwise the supervisor gets
    /// the child, and queues it again when the child reports that it is ready.
    fn release(&self, mut slot: Slot, is_reply_valid: bool) {
        if !self.shared.reuses_children || !is_reply_valid || !slot.restore_weight() {
            slot.kill();
            return;
        }
        self.shared.queue.give_back(slot);
    }

    fn time_out(&self, slot: &mut Slot) -> Failure {
        // The child needs CPU time to exit, so its usual priority is restored first, if that is
        // possible.
        slot.restore_weight();
        slot.end_at_once();
        // The caller holds the job's permit until the job's memory is free, not just until the kill
        // signal is sent.
        slot.end.wait(REAP_TIME_MAX);
        self.shared.counters.kills_wall.add(1);
        Failure::new(FailureKind::TimedOut, "the job exceeded its wall time")
    }

    fn finish(
        &self,
        reply: Reply,
        answer: OutputFile,
        acquired: Duration,
    ) -> Result<Finished, Failure> {
        assert_eq!(
            reply.status,
            Status::Done,
            "`refusal` has handled every other status"
        );
        let body = match answer.seal() {
            Ok(body) => body,
            Err(Errno::BUSY) => {
                return Err(self.violation("the worker still has the reply mapped for writing"));
            }
            Err(errno) => return Err(Failure::host("cannot seal the reply", errno)),
        };
        Ok(Finished {
            body,
            output_bytes: reply.output_bytes,
            cpu_us: reply.cpu_us,
            memory_peak_bytes: reply.memory_peak_bytes,
            acquire_us: acquired.as_micros() as u64,
            remark: reply.detail,
        })
    }

    fn violation(&self, detail: &str) -> Failure {
        self.shared.counters.violations.add(1);
        Failure::new(FailureKind::ProtocolViolation, detail)
    }
}

impl Drop for Pool {
    /// Kills every child. None of them runs a job, because each job borrows the pool.
    fn drop(&mut self) {
        self.shared.queue.stop();
        if let Some(supervisor) = self.supervisor.take() {
            supervisor
                .join()
                .expect("the supervisor's thread does not panic");
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}
