//! Snapshot of a program that is ready for a job, and the microVMs that start from this snapshot.
//!
//! A worker is booted and warms up. When it requests its first job, its snapshot (the template) is
//! taken. A persistent program is booted in the same way; its snapshot is taken when it requests
//! its first record. The snapshot of an ephemeral program is taken before the program's first
//! instruction, because the environment of the program is part of the job.

use super::calls::{self, AllowedFile, Files, Linux, Next, locate_clock};
use super::cpu::State;
use super::layout::{Layout, LayoutSeed};
use super::machine::{Exit, Machine};
use super::memory::{Memory, Template};
use super::slices::{self, Server};
use super::stack;
use crate::elf::Image;
use kvm_ioctls::Kvm;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sandbox_protocol::{AllegedReply, Job, Status};
use std::rc::Rc;

use super::stack::StartArguments;

/// Protocol between a program and its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobProtocol {
    /// The program requests jobs, as a worker does.
    Jobs,
    /// The program's input and output belong to one job: the program starts anew for each job.
    Streams,
    /// The program's input is a sequence of requests, and its output a sequence of answers.
    Records,
}

/// Inputs from which a guest is booted.
pub struct Plan<'a> {
    /// Content of the program's file.
    pub elf: &'a [u8],
    /// Protocol that the program expects.
    pub protocol: JobProtocol,
    /// Arguments and environment of the program.
    pub words: StartArguments,
    /// Files that the program may open.
    pub allowed: Rc<[AllowedFile]>,
    /// Maximum number of bytes that the guest may allocate before its first job.
    pub boot_bytes_max: u64,
    /// Maximum number of bytes that one job may allocate.
    pub work_bytes_max: u64,
    /// True if code is laid out in huge pages.
    pub hugepages: bool,
    /// True if memory that jobs allocate is in huge pages.
    pub work_hugepages: bool,
}

/// Snapshot of a program that waits for its job.
pub struct Guest {
    image: Image,
    layout: Layout,
    words: StartArguments,
    template: Template,
    state: State,
    linux: Linux,
    protocol: JobProtocol,
    /// Address and size of the buffer into which the job is to be written.
    wait: (u64, u64),
    hugepages: bool,
    work_hugepages: bool,
}

impl Guest {
    /// Boots the program in a temporary machine.
    ///
    /// # Errors
    /// Message for the operator: the host refused a machine, or the program does not start.
    pub fn boot(kvm: &Kvm, plan: Plan<'_>) -> Result<Guest, String> {
        locate_clock();
        let image = Image::parse(plan.elf).map_err(|unfit| unfit.to_string())?;
        let bytes = plan.boot_bytes_max + plan.work_bytes_max;
        let layout = Layout::new(&image, bytes, seed()?)?;
        let memory = Memory::blank(&layout, plan.hugepages)
            .map_err(|errno| format!("cannot reserve {} bytes: {errno}", layout.bytes))?;
        let mut machine = Machine::new(kvm, memory)?;
        load(&mut machine.memory, &image, plan.elf, layout.bias)?;
        let entry = image.entry + layout.bias;
        let mut linux = Linux::new(&layout, plan.boot_bytes_max, plan.allowed);
        let (stack, wait) = match plan.protocol {
            JobProtocol::Streams => {
                machine.prepare(&layout, entry, layout.stack_top)?;
                (layout.stack_top, (0, 0))
            }
            JobProtocol::Jobs | JobProtocol::Records => {
                let stack = push(&mut machine, &image, &layout, &plan.words)?;
                machine.prepare(&layout, entry, stack)?;
                match plan.protocol {
                    JobProtocol::Records => linux.open_records(),
                    _ => linux.open_job(),
                }
                let wait = run_until_wait(&mut machine, &mut linux)?;
                (machine.stack_pointer(), wait)
            }
        };
        let state = machine.save()?;
        let template = machine.memory.freeze(&layout, stack);
        let template = template.map_err(|errno| {
            format!("cannot create the memory template of the microVMs: {errno}")
        })?;
        Ok(Guest {
            image,
            layout,
            words: plan.words,
            template,
            state,
            linux,
            protocol: plan.protocol,
            wait,
            hugepages: plan.hugepages,
            work_hugepages: plan.work_hugepages,
        })
    }

    /// Starts a machine from the snapshot. If `server` hangs up while the guest's threads all wait,
    /// this process ends.
    ///
    /// # Errors
    /// Message for the operator: the host refused memory or a machine.
    pub fn start(&self, kvm: &Kvm, server: Server) -> Result<Running<'_>, String> {
        let memory = Memory::of(&self.template, self.hugepages, self.work_hugepages)
            .map_err(|errno| format!("cannot map the memory template of the microVMs: {errno}"))?;
        let mut machine = Machine::new(kvm, memory)?;
        machine.restore(&self.state)?;
        Ok(Running {
            guest: self,
            machine,
            linux: self.linux.clone(),
            server,
            wait: self.wait,
            replied: 0,
        })
    }

    /// Returns the guest's page tables as text, one line per range of pages with equal size and
    /// rights.
    #[must_use]
    pub fn page_tables(&self) -> String {
        self.layout.list()
    }
}

/// A machine that runs jobs.
pub struct Running<'a> {
    guest: &'a Guest,
    machine: Machine,
    linux: Linux,
    server: Server,
    wait: (u64, u64),
    /// Length of the last reply in bytes. The guest stopped in the system call that sent this
    /// reply. If the guest continues without a wipe, the call returns this number.
    replied: u64,
}

/// Average number of wipes per planted canary, a random word that a wipe must remove. Only a sample
/// of the wipes is checked, because a canary costs a page fault or the clearing of a large page.
const CANARY_EVERY: u64 = 64;

/// Result of a wipe, the reset of a machine to its snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WipeResult {
    /// Size of the pages that the job was the first to write, and that the wipe therefore freed.
    /// Pages that had content before the job are not counted, because the wipe restores them.
    pub dirty_bytes: u64,
    /// True if a canary survived the wipe.
    pub leaked: bool,
}

/// Outcome of a job.
pub struct JobOutcome {
    /// Reply of the worker, or a reply that describes the end of a program. An `Err` holds the
    /// bytes of an invalid reply.
    pub reply: Result<AllegedReply, Vec<u8>>,
    /// True if the machine may be used again.
    pub is_reusable: bool,
}

impl Running<'_> {
    /// Runs one job until its reply.
    ///
    /// # Errors
    /// Message for the operator, if the machine itself failed.
    pub fn run(&mut self, job: &Job<'_>, files: Files) -> Result<JobOutcome, String> {
        self.linux.begin(files, &job.limits, self.server);
        match self.guest.protocol {
            JobProtocol::Jobs => self.deliver(&job.to_bytes())?,
            JobProtocol::Records => {
                if let Err(why) = self.ask(job)? {
                    return Ok(self.failed(job, &why));
                }
            }
            JobProtocol::Streams => {
                if let Err(why) = self.launch(job)? {
                    return Ok(self.failed(job, &why));
                }
            }
        }
        let next = until(&mut self.machine, &mut self.linux)?;
        Ok(match next {
            Next::Reply(bytes) => {
                self.replied = bytes.len() as u64;
                JobOutcome {
                    reply: AllegedReply::from_bytes(&bytes).map_err(|_| bytes),
                    is_reusable: true,
                }
            }
            Next::Answered(bytes) => {
                self.replied = bytes;
                self.done(job)
            }
            Next::Exited(0) if self.guest.protocol == JobProtocol::Streams => self.done(job),
            Next::Exited(code) => self.failed(job, &format!("exit code {code}")),
            Next::Died(how) => self.failed(job, &how),
            Next::TooLarge => {
                let reply = AllegedReply::new(job.id, Status::TooLarge, (0, 0), 0);
                JobOutcome {
                    reply: Ok(reply.with_detail("the output exceeded its size limit")),
                    // A program that exchanges records cannot be used again: it would write the
                    // rest of this answer, and the host would take the rest for the next answer.
                    is_reusable: self.guest.protocol != JobProtocol::Records,
                }
            }
            Next::Wait { .. } => self.failed(
                job,
                "the worker requested a job before it replied to the current one",
            ),
            Next::Broken(words) => self.failed(job, &String::from_utf8_lossy(&words)),
            Next::Go => unreachable!("`until` goes on"),
        })
    }

    fn done(&self, job: &Job<'_>) -> JobOutcome {
        let bytes = self.linux.output_bytes();
        let reply = AllegedReply::new(job.id, Status::Done, (0, 0), bytes);
        JobOutcome {
            reply: Ok(reply.with_detail(&self.linux.last_message())),
            is_reusable: true,
        }
    }

    fn failed(&self, job: &Job<'_>, how: &str) -> JobOutcome {
        let words = self.linux.last_message();
        let gap = if words.is_empty() { "" } else { ": " };
        let reply = AllegedReply::new(job.id, Status::Failed, (0, 0), 0);
        JobOutcome {
            reply: Ok(reply.with_detail(&format!("{how}{gap}{words}"))),
            is_reusable: false,
        }
    }

    /// Returns the peak number of bytes that the guest had allocated.
    #[must_use]
    pub fn memory_peak_bytes(&self) -> u64 {
        self.linux.memory_peak_bytes()
    }

    /// Returns the number of system calls that failed because they are not implemented.
    #[must_use]
    pub fn refused_calls(&self) -> u64 {
        self.linux.refused_calls()
    }

    /// Passes the job to a worker that waits for a job.
    fn deliver(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (address, room) = self.wait;
        let place = self
            .machine
            .memory
            .slice_mut(address, room.min(bytes.len() as u64));
        let place = place.map_err(|_| {
            "the memory into which the program wants to receive its job is not mapped".to_owned()
        })?;
        place.copy_from_slice(&bytes[..place.len()]);
        let bytes = place.len();
        self.machine.answer(bytes as i64)
    }

    /// Passes the job's request to a program that waits for a request. An error of the inner
    /// `Result` concerns only this job, not the machine.
    fn ask(&mut self, job: &Job<'_>) -> Result<Result<(), String>, String> {
        let asked = job.environment_bytes().ok_or(Errno::INVAL);
        if let Err(errno) = asked.and_then(|bytes| self.linux.ask(bytes)) {
            return Ok(Err(format!(
                "cannot pass the request to the program: {errno}"
            )));
        }
        let result = self.linux.hand_over(&mut self.machine, self.wait);
        self.machine.answer(result).map(Ok)
    }

    /// Starts a program with the environment of its job. An error of the inner `Result` concerns
    /// only this job, not the machine.
    fn launch(&mut self, job: &Job<'_>) -> Result<Result<(), String>, String> {
        let Some(environment_bytes) = job.environment_bytes() else {
            return Ok(Err(
                "the job does not state the size of its environment".to_owned()
            ));
        };
        self.linux.open_streams(u64::from(environment_bytes));
        let environment = match self.linux.environment(environment_bytes) {
            Ok(environment) => environment,
            Err(errno) => {
                return Ok(Err(format!(
                    "cannot read the environment of the job: {errno}"
                )));
            }
        };
        let mut words = self.guest.words.clone();
        words.environment.extend(environment);
        let (image, layout) = (&self.guest.image, &self.guest.layout);
        let stack = push(&mut self.machine, image, layout, &words)?;
        self.machine.start_at(image.entry + layout.bias, stack)?;
        Ok(Ok(()))
    }

    /// Restores the machine to the snapshot. In a random sample of wipes, a canary checks that the
    /// wipe removed the job's memory.
    ///
    /// # Errors
    /// Message for the operator. The machine must not be used again.
    pub fn wipe(&mut self) -> Result<WipeResult, String> {
        let used = self.machine.memory.used_bytes(&self.linux.spare());
        let dirty_bytes = used.map_err(|errno| format!("count pages: {errno}"))?;
        let seed = draw()?;
        let canary = seed
            .is_multiple_of(CANARY_EVERY)
            .then(|| self.machine.memory.plant(seed / CANARY_EVERY));
        self.machine.restore(&self.guest.state)?;
        self.linux = self.guest.linux.clone();
        self.wait = self.guest.wait;
        let leaked = canary.is_some_and(|canary| self.machine.memory.holds(&canary));
        Ok(WipeResult {
            dirty_bytes,
            leaked,
        })
    }

    /// Continues without a wipe: the program keeps its memory and runs until it requests its next
    /// job.
    ///
    /// # Errors
    /// Message for the operator, if the program ended instead. The machine must not be used again.
    pub fn keep(&mut self) -> Result<(), String> {
        self.machine.answer(self.replied as i64)?;
        self.wait = run_until_wait(&mut self.machine, &mut self.linux)?;
        Ok(())
    }
}

/// Runs until the guest requests a job. Returns the address and size of the guest's buffer for the
/// job.
fn run_until_wait(machine: &mut Machine, linux: &mut Linux) -> Result<(u64, u64), String> {
    match until(machine, linux)? {
        Next::Wait { address, bytes } => Ok((address, bytes)),
        Next::Broken(report) => Err(sandbox_protocol::control::broken_reason(&report)),
        Next::Exited(code) => Err(format!(
            "the program ended before it requested a job, exit code {code} {}",
            linux.last_message()
        )),
        Next::Died(how) => Err(format!(
            "the program {how}, before it requested a job {}",
            linux.last_message()
        )),
        Next::Reply(_) | Next::Answered(_) | Next::TooLarge | Next::Go => {
            Err("the program replied before it requested a job".to_owned())
        }
    }
}

/// Runs until the guest requests a job, replies to one, or cannot continue.
fn until(machine: &mut Machine, linux: &mut Linux) -> Result<Next, String> {
    if linux.has_threads() {
        slices::begin();
    }
    let next = loop {
        let next = match machine.run()? {
            Exit::Died(how) => Next::Died(how),
            Exit::Interrupted => linux.slice_over(machine)?,
            Exit::Call => calls::serve(linux, machine)?,
        };
        if next != Next::Go {
            break next;
        }
    };
    if linux.has_threads() {
        slices::end();
    }
    Ok(next)
}

fn load(memory: &mut Memory, image: &Image, elf: &[u8], bias: u64) -> Result<(), String> {
    for segment in &image.segments {
        let bytes = &elf[segment.file.clone()];
        let place = memory.image_mut(segment.memory.start + bias, bytes.len() as u64);
        let place =
            place.map_err(|_| "a segment of the program lies outside its memory".to_owned())?;
        place.copy_from_slice(bytes);
    }
    Ok(())
}

/// Writes a program's initial stack, and returns the stack pointer.
fn push(
    machine: &mut Machine,
    image: &Image,
    layout: &Layout,
    words: &StartArguments,
) -> Result<u64, String> {
    let mut random = [0; 16];
    getrandom(&mut random, GetRandomFlags::empty())
        .map_err(|errno| format!("getrandom: {errno}"))?;
    let bytes = stack::build(words, image, layout.bias, layout.stack_top, random);
    let stack = layout.stack_top - bytes.len() as u64;
    let place = machine.memory.slice_mut(stack, bytes.len() as u64);
    let place =
        place.map_err(|_| "the arguments and environment do not fit on the stack".to_owned())?;
    place.copy_from_slice(&bytes);
    Ok(stack)
}

fn seed() -> Result<LayoutSeed, String> {
    let number = draw()?;
    Ok(LayoutSeed {
        bias: number as u16,
        heap: (number >> 16) as u16,
        stack: (number >> 32) as u16,
    })
}

fn draw() -> Result<u64, String> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|errno| format!("getrandom: {errno}"))?;
    Ok(u64::from_le_bytes(bytes))
}
