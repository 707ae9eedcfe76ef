//! `pelton run`: runs a static program in a cell (sandboxed process). The command passes its
//! standard input to the program, and writes the program's output to its own standard output.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use config::{Config, components};
use report::{Error, print};
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox::{Backend, FailureKind, Finished, Limits, Pool, Program, Task};
use sandbox_protocol::JobLimits;

use crate::flags::Run;
use crate::worker;

/// Runs the program once and copies its output to stdout, and the text of its stderr to stderr.
pub(crate) fn run(typed: &Run, config: &Config) -> Result<u8, Vec<Error>> {
    let finished = job(typed, config).map_err(|err| vec![err])?;
    if !finished.remark.is_empty() {
        report::line(&finished.remark);
    }
    let mut response = (&finished.body).take(finished.output_bytes);
    print(|out| io::copy(&mut response, out).map(drop))
}

fn job(typed: &Run, config: &Config) -> Result<Finished, Error> {
    let program = program(typed)?;
    let limits = limits(config)?;
    let input = input(config.cell.max_work_memory.0)?;
    let pool = Pool::start_program(worker::ELF, &program, limits);
    let pool = pool.map_err(|err| match err.kind {
        sandbox::ErrorKind::Worker => Error::finding(err.to_string()),
        _ => components::cell_error(&err),
    })?;
    let task = Task {
        original: input.as_fd(),
        // Size of the request's environment variables in bytes. The size is zero: this run has no
        // request, and the program gets only the variables of the command line.
        plan: &0_u32.to_le_bytes(),
        size_px: None,
        limits: JobLimits {
            output_bytes_max: limits.max_output_bytes,
            memory_bytes_max: limits.max_work_memory_bytes,
            cpu_ms_max: limits.max_request_time_ms,
        },
        wall_ms_max: limits.max_request_time_ms,
        idle: false,
    };
    pool.run(task).map_err(|failure| {
        let what = format!("run {}: {}", typed.program.display(), failure.detail);
        match failure.kind {
            FailureKind::TooLarge => {
                Error::finding(what).hint("raise --cell-max-output or --cell-max-work-memory")
            }
            FailureKind::TimedOut => Error::finding(what).hint("raise --cell-max-request-time"),
            FailureKind::Host => Error::host(what),
            _ => Error::finding(what),
        }
    })
}

fn program(typed: &Run) -> Result<Program, Error> {
    let path = &typed.program;
    let unreadable =
        |err: io::Error| Error::usage(format!("cannot read {}: {err}", path.display()));
    if let Some(word) = typed.env.iter().find(|word| !word.contains('=')) {
        return Err(Error::usage(format!(
            "--env: expected NAME=VALUE, found {word:?}"
        )));
    }
    Ok(Program {
        name: name(path),
        elf: fs::read(path).map_err(unreadable)?,
        arguments: typed.arguments.clone(),
        environment: typed.env.clone(),
        allowed_paths: typed.allow.clone(),
    })
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns the limits of a pool with a single cell. If the configured backend is `auto`, starts a
/// pool of workers to find out which backend it selects on this host.
fn limits(config: &Config) -> Result<Limits, Error> {
    let limits = Limits {
        spare: 0,
        // The cell runs only one job, so no later job can need its state.
        ephemeral: true,
        ..components::cell_limits(config, 1)
    };
    if limits.backend != Backend::Auto {
        return Ok(limits);
    }
    let workers = Pool::start(worker::ELF, limits).map_err(|err| components::cell_error(&err))?;
    let backend = workers.posture().backend;
    Ok(Limits { backend, ..limits })
}

/// Copies standard input into an anonymous file, because a cell gets its input as a file.
fn input(bytes_max: u64) -> Result<File, Error> {
    let failed = |err: io::Error| Error::host(format!("cannot read standard input: {err}"));
    let memory = memfd_create("input", MemfdFlags::CLOEXEC).map_err(|err| failed(err.into()))?;
    let mut file = File::from(memory);
    let stdin = io::stdin().lock();
    let copied = io::copy(&mut stdin.take(bytes_max + 1), &mut file).map_err(failed)?;
    file.flush().map_err(failed)?;
    if bytes_max < copied {
        let what = format!("standard input has more than {bytes_max} bytes");
        return Err(Error::usage(what).hint("raise --cell-max-work-memory"));
    }
    Ok(file)
}
