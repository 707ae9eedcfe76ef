//! `pelton cell`: the isolation that this host offers, proven by running a cell.

use std::io::Write;
use std::path::Path;

use config::{Config, components};
use functions::StoreSession;
use report::{EXIT_FINDINGS, EXIT_OK, Error, print};
use sandbox::{Backend, Isolation, Reproducer, Service};

use crate::flags::Cell;
use crate::worker;

/// Prints the report that the flags select. `--probe` prints the isolation of a cell and the cost
/// of a job, `--pagetables` the page tables of a microVM, and `--replay` the outcome of a saved
/// job.
pub(crate) fn run(typed: &Cell, config: &Config) -> Result<u8, Vec<Error>> {
    if let Some(path) = &typed.replay {
        return replay(path, config);
    }
    let limits = components::cell_limits(config, 1);
    let text = if typed.pagetables {
        page_tables(limits)
    } else {
        sandbox::probe(worker::ELF, limits).map(|probe| probe.to_string() + "\n")
    };
    let text = text.map_err(|err| vec![components::cell_error(&err)])?;
    print(|out| out.write_all(text.as_bytes()))
}

/// Starts a microVM and returns its page tables. The other cells are processes, whose page tables
/// belong to the kernel.
fn page_tables(limits: sandbox::Limits) -> Result<String, sandbox::Error> {
    let limits = sandbox::Limits {
        backend: Backend::Kvm,
        min_isolation: Isolation::Filter,
        ..limits
    };
    Ok(sandbox::Pool::start(worker::ELF, limits)?.page_tables())
}

/// Runs a saved job again, in a cell with the backend in which it failed.
fn replay(path: &Path, config: &Config) -> Result<u8, Vec<Error>> {
    let unreadable = |err| Error::usage(format!("--replay {}: {err}", path.display()));
    let job = Reproducer::read(path).map_err(|err| vec![unreadable(err)])?;
    let pool = pool_for(&job, config).map_err(|err| vec![err])?;
    let runs = job.program.as_deref().unwrap_or("the worker");
    // The file of a saved job does not contain the program's state, so the program gets an empty
    // store.
    let entry = job.program.as_deref();
    let entry = entry.and_then(|name| config.programs.named(name));
    let state = entry.and_then(functions::empty);
    let mut session = state.as_deref().map(StoreSession::to);
    let service = session.as_mut().map(|asked| asked as &mut dyn Service);
    let (now, code) = match job.replay(&pool, service) {
        Ok(finished) => (
            format!(
                "successfully, with {} bytes of output",
                finished.output_bytes
            ),
            EXIT_OK,
        ),
        Err(failure) if job.is_same(&failure) => {
            ("in the same way as the saved job".to_owned(), EXIT_FINDINGS)
        }
        Err(failure) => (failure.to_string(), EXIT_FINDINGS),
    };
    print(|out| {
        writeln!(out, "program    {runs}, backend {}", job.backend)?;
        let bytes = job.original.len();
        writeln!(
            out,
            "original   {bytes} bytes, blake3 {}",
            job.original_blake3
        )?;
        writeln!(out, "ended      {}", job.ended)?;
        writeln!(out, "ends now   {now}")
    })?;
    Ok(code)
}

fn pool_for(job: &Reproducer, config: &Config) -> Result<sandbox::Pool, Error> {
    let backend = job.backend;
    if let Some(name) = &job.program {
        return functions::alone(config, name, backend, worker::ELF);
    }
    let limits = sandbox::Limits {
        backend,
        ..components::cell_limits(config, 1)
    };
    let started = sandbox::Pool::start(worker::ELF, limits);
    started.map_err(|err| components::cell_error(&err))
}
