//! The program: parses the command line, resolves the configuration, and runs one command.
//!
//! ```text
//! arguments ─ flags::parse ─► Command ─ flags::resolve ─► Resolved ─► command ─► exit code
//! ```

#![forbid(unsafe_code)]
// `eprintln!` and `println!` are denied: they panic if the line cannot be written, and block while
// the reader of the output does not read.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cells;
mod certificates;
mod check;
mod doctor;
mod flags;
mod life;
mod reload;
mod run;
mod serve;
mod shared_store;
mod store;
mod tune;
mod wiring;
mod worker;

use std::env;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use config::{Resolved, components, folders};
use flags::{Command, Parsed, QuarantineCommand};
use reactor::{CountingAllocator, Jemalloc};
use report::{EXIT_OK, Error, log, panics, print};
use server::mount::Mounts;
use upkeep::{convert, prefetch, profile, purge, quarantine, scan, sign, user};

/// Counts the allocations of each core, so that tests can check that a cache hit allocates nothing.
#[global_allocator]
static ALLOCATOR: CountingAllocator<Jemalloc> = CountingAllocator(Jemalloc);

fn main() -> ExitCode {
    panics::abort_on_panic();
    let code = match run() {
        Ok(code) => ExitCode::from(code),
        Err(errors) => report::fail(&errors),
    };
    log::finish();
    code
}

// tidy: long because it is the list of all commands.
fn run() -> Result<u8, Vec<Error>> {
    let command = match flags::parse(env::args_os()).map_err(|err| vec![err])? {
        Parsed::Command(command) => command,
        Parsed::Text(text) => return print(|out| out.write_all(text.as_bytes())),
    };
    let variables = env::vars_os().collect();
    match command {
        Command::Serve(typed) => {
            let settings = flags::with_root(typed.settings.clone(), typed.root);
            let settings = flags::with_store(settings, typed.store);
            serve::run(settings.clone(), &flags::resolve(settings, variables)?)
        }
        Command::Convert(typed) => {
            let resolved = flags::resolve(typed.settings.clone(), variables)?;
            let job = typed.job().map_err(|err| vec![err])?;
            let jobs = components::concurrency(&resolved.config).map_err(|err| vec![err])?;
            let pool = wiring::pool(&resolved.config, jobs.min(job.conversions.len()));
            convert::run(&job, &resolved.config, &pool.map_err(|err| vec![err])?)
        }
        Command::Prefetch(typed) => {
            let settings = flags::with_root(typed.settings.clone(), Some(typed.root));
            prefetch(&flags::resolve(settings, variables)?, typed.quick)
        }
        Command::Purge(typed) => {
            let config = flags::resolve(typed.settings.clone(), variables)?.config;
            let (url, key_file) = (typed.url.as_deref(), typed.key_file.as_deref());
            purge::run(&config, typed.selection(), url, key_file)
        }
        Command::Scan(typed) => {
            let settings = flags::with_root(typed.settings.clone(), Some(typed.root));
            let resolved = flags::resolve(settings, variables)?;
            scan::run(&resolved, &typed.only, typed.full)
        }
        Command::Run(typed) => {
            let settings = flags::with_backend(typed.settings.clone(), typed.backend.clone());
            run::run(&typed, &flags::resolve(settings, variables)?.config)
        }
        Command::User(typed) => {
            let settings = typed.does.settings().clone();
            user::run(typed.does.action(), &flags::resolve(settings, variables)?)
        }
        Command::Quarantine(typed) => {
            let settings = typed.does.settings().clone();
            let config = flags::resolve(settings, variables)?.config;
            match &typed.does {
                QuarantineCommand::List(_) => quarantine::list(&config),
                QuarantineCommand::Lift(typed) => quarantine::lift(&config, &typed.original),
            }
        }
        Command::Sign(typed) => {
            let settings = flags::with_key(typed.settings.clone(), typed.key.clone());
            sign::run(
                &typed.request(),
                &flags::resolve(settings, variables)?.config,
            )
        }
        Command::Check(typed) => check(&flags::resolve(typed.settings.clone(), variables)?),
        Command::Cell(typed) => {
            let settings = typed.settings.clone();
            cells::run(&typed, &flags::resolve(settings, variables)?.config)
        }
        Command::Doctor(typed) => {
            let settings = typed.settings.clone();
            doctor::run(&typed, &flags::resolve(settings, variables)?.config)
        }
        Command::Profile(typed) => {
            let config = flags::resolve(typed.settings.clone(), variables)?.config;
            profile::run(&typed.request(), &config, &[worker::known()])
        }
        Command::Tune(typed) => tune::run(&typed.does, variables),
        Command::Help(_) => unreachable!("`flags::parse` returns help as text"),
        Command::Store(typed) if typed.asks_for_version() => {
            print(|out| writeln!(out, "{}", ::store::version()))
        }
        Command::Store(typed) => store::run(&typed.words).map_err(|err| vec![err]),
    }
}

/// Runs `pelton prefetch` with a service that has no mounts and no counters of cores, because it
/// serves no requests.
fn prefetch(resolved: &Resolved, quick: bool) -> Result<u8, Vec<Error>> {
    let config = &resolved.config;
    report::notes(&resolved.notes);
    log::start(config.log_level.0);
    log::begin().map_err(|err| vec![err])?;
    folders::require_readable(&config.root).map_err(|err| vec![err])?;
    let pool = wiring::conversions(config).map_err(|err| vec![err])?;
    // The command does not use the store with the shared index. `pelton serve` adds the variants to
    // the shared index when it next starts.
    let service = wiring::service(config, pool, Arc::new([]), Mounts::default(), None);
    let service = service.map_err(|err| vec![err])?;
    prefetch::run(config, &service, quick)
}

fn check(resolved: &Resolved) -> Result<u8, Vec<Error>> {
    print(|out| config::write_table(resolved, out))?;
    report::notes(resolved.notes.iter().filter(|note| !note.is_finding()));
    match check::findings(resolved) {
        findings if findings.is_empty() => Ok(EXIT_OK),
        findings => Err(findings),
    }
}
