//! Boot of a program: from its entry in the configuration to a pool of cells (sandboxed processes
//! or microVMs) that has passed the warm-up.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cgi::Response;
use config::{Config, Entry, components};
use report::Error;
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox::{
    Backend, Failure, FailureKind, Limits, Pool, Program, ReproducerFolder, Service, Task,
};
use sandbox_protocol::JobLimits;
use store::Embedded;

use super::state::{self, StoreSession};

/// Identity and version of a file, to detect that it was replaced or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    changed_ns: (i64, i64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Stamp> {
        fs::metadata(path).map(|metadata| Stamp::read(&metadata))
    }

    fn read(metadata: &Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            changed_ns: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Inputs of a program's boot, except for the contents of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bootable {
    pub(super) entry: Entry,
    pub(super) limits: Limits,
    pub(super) queue_max: u32,
    pub(super) crashes: Option<ReproducerFolder>,
}

/// Cells of a booted program, and the identity and version (the stamp) of the file that they run.
pub(super) struct Booted {
    pub(super) pool: Pool,
    pub(super) stamp: Stamp,
}

impl Bootable {
    pub(super) fn new(entry: &Entry, config: &Config, backend: Backend) -> Result<Bootable, Error> {
        let crashes = components::crashes(config)?;
        let millis = |time: config::Timeout| time.0.as_millis() as u32;
        let common = components::cell_limits(config, entry.concurrency.get() as usize);
        let limits = Limits {
            // Spare cells run jobs while other cells are wiped. The cells of a persistent program
            // are never wiped, so the program needs no spare cells. These cells are also not
            // replaced after a number of jobs, because the program would lose its state.
            spare: if entry.ephemeral { common.spare } else { 0 },
            jobs_per_zygote: if entry.ephemeral {
                common.jobs_per_zygote
            } else {
                u32::MAX
            },
            max_boot_time_ms: millis(entry.max_boot_time),
            max_request_time_ms: millis(entry.max_request_time),
            max_memory_bytes: entry.max_memory.0,
            max_work_memory_bytes: entry.max_work_memory.0,
            max_output_bytes: entry.max_output.0,
            hugepages: entry.hugepages,
            request_hugepages: entry.request_hugepages,
            ephemeral: entry.ephemeral,
            backend,
            ..common
        };
        Ok(Bootable {
            entry: entry.clone(),
            limits,
            queue_max: config.limits.program_queue_max,
            crashes,
        })
    }

    /// Reads the program's file, starts the cells and runs the warm-up. `worker` is the ELF image
    /// that loads the program.
    pub(super) fn boot(&self, worker: &'static [u8]) -> Result<Booted, Error> {
        let name = &self.entry.name;
        let deadline = Instant::now() + self.entry.max_boot_time.0;
        let Booted { pool, stamp } = self.start(worker)?;
        let pool = pool.keep_reproducers(self.crashes.clone());
        if self.entry.verbose_pagetables {
            for line in pool.page_tables().lines() {
                tracing::info!(program = name, "{line}");
            }
        }
        tracing::info!(program = name, around = %pool.posture().line(), "cells");
        for _ in 0..self.entry.warmup {
            self.warm(&pool, deadline)?;
        }
        Ok(Booted { pool, stamp })
    }

    /// Reads the program's file and starts the cells, without the warm-up.
    pub(super) fn start(&self, worker: &'static [u8]) -> Result<Booted, Error> {
        let (program, stamp) = read(&self.entry)?;
        let pool = Pool::start_program(worker, &program, self.limits);
        let pool = pool.map_err(|err| match err.kind {
            sandbox::ErrorKind::Host => components::cell_error(&err),
            _ => unfit(&self.entry, &err),
        })?;
        Ok(Booted { pool, stamp })
    }

    /// Sends one synthetic request, and accepts any well-formed response. The state that the
    /// program stores during this request is dropped.
    fn warm(&self, pool: &Pool, deadline: Instant) -> Result<(), Error> {
        let state = state::empty(&self.entry);
        let request = cgi::Request {
            method: "GET",
            script: &self.entry.route,
            path: &self.entry.route,
            query: None,
            fields: &[],
            content_type: None,
            body_bytes: 0,
            peer: "127.0.0.1",
            secure: false,
        };
        let variables = request.variables().expect("a route is a plain path");
        let queue_time = Duration::from_millis(self.limits.max_queue_time_ms.into());
        let (answered, wall_ms, left_ms) = loop {
            let begin = Instant::now();
            let left = deadline.saturating_duration_since(begin);
            // A limit of 0 would mean unlimited CPU time.
            let left_ms = (left.as_millis() as u32).max(1);
            let wall_ms = self.limits.max_request_time_ms.min(left_ms);
            let answered = run(pool, state.as_deref(), &variables, &Bytes::new(), wall_ms);
            // The first cells may still be starting, so the warm-up waits longer for a cell than
            // requests of clients do.
            let waited = queue_time <= begin.elapsed() && Instant::now() < deadline;
            match &answered {
                Err(failure) if failure.kind == FailureKind::Host && waited => {}
                _ => break (answered, wall_ms, left_ms),
            }
        };
        let why = match answered {
            Ok(output) => match Response::parse(&output.bytes, &cgi::Limits::default()) {
                Ok(_) => return Ok(()),
                Err(malformed) => format!("malformed head of the response: {malformed:?}"),
            },
            Err(failure) if failure.kind == FailureKind::TimedOut && wall_ms == left_ms => format!(
                "the program was not ready within max_boot_time, {} ms",
                self.limits.max_boot_time_ms
            ),
            Err(failure) => failure.detail,
        };
        let what = format!("programs.{}: warm-up failed: {why}", self.entry.name);
        Err(Error::usage(what)
            .because(
                "before a program serves clients, it must respond to a GET request for its route; \
                 the request has no body",
            )
            .hint("set warmup = 0 to start the program without a warm-up"))
    }
}

/// Reads the file of an entry's program. Returns the program, and the identity and version of its
/// file (the stamp).
fn read(entry: &Entry) -> Result<(Program, Stamp), Error> {
    let (name, path) = (&entry.name, &entry.path);
    let unreadable = |err: io::Error| {
        Error::usage(format!(
            "programs.{name}: cannot read {}: {err}",
            path.display()
        ))
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let stamp = Stamp::read(&file.metadata().map_err(unreadable)?);
    let mut elf = Vec::new();
    file.read_to_end(&mut elf).map_err(unreadable)?;
    let mut environment = entry.environment.0.clone();
    if 0 < entry.max_state.0 {
        environment.push(state::variable());
    }
    let program = Program {
        name: name.clone(),
        elf,
        arguments: entry.main_arguments.0.clone(),
        environment,
        allowed_paths: entry.allowed_paths.0.iter().map(PathBuf::from).collect(),
    };
    Ok((program, stamp))
}

fn unfit(entry: &Entry, err: &sandbox::Error) -> Error {
    let name = format!("{}: ", entry.name);
    let why = err.action.strip_prefix(&name).unwrap_or(&err.action);
    Error::usage(format!("programs.{name}{why}"))
}

/// Checks a program as far as possible without running it.
pub(super) fn check(entry: &Entry) -> Result<(), Error> {
    let (program, _) = read(entry)?;
    program.check().map_err(|err| unfit(entry, &err))
}

/// Output of one run of a program.
pub(super) struct Output {
    /// Standard output.
    pub(super) bytes: Bytes,
    /// Standard error: printable text, truncated.
    pub(super) remark: String,
}

/// Runs the program of `pool` once, with its persistent `state`, if any. `body` and the output are
/// copied once each.
pub(super) fn run(
    pool: &Pool,
    state: Option<&Embedded>,
    variables: &[u8],
    body: &[u8],
    wall_ms: u32,
) -> Result<Output, Failure> {
    let host = |err: io::Error| Failure {
        kind: FailureKind::Host,
        detail: format!("cannot pass the request to the cell: {err}"),
    };
    let memory = memfd_create("input", MemfdFlags::CLOEXEC).map_err(|err| host(err.into()))?;
    let mut input = File::from(memory);
    input.write_all(variables).map_err(host)?;
    input.write_all(body).map_err(host)?;
    let limits = pool.limits();
    let task = Task {
        original: input.as_fd(),
        plan: &(variables.len() as u32).to_le_bytes(),
        size_px: None,
        limits: JobLimits {
            output_bytes_max: limits.max_output_bytes,
            memory_bytes_max: limits.max_work_memory_bytes,
            cpu_ms_max: wall_ms,
        },
        wall_ms_max: wall_ms,
        idle: false,
    };
    let mut session = state.map(StoreSession::to);
    let service = session.as_mut().map(|asked| asked as &mut dyn Service);
    let finished = pool.run_with(task, service)?;
    let mut bytes = vec![0; finished.output_bytes as usize];
    finished.body.read_exact_at(&mut bytes, 0).map_err(host)?;
    Ok(Output {
        bytes: bytes.into(),
        remark: finished.remark,
    })
}
