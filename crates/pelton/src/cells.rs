//! `pelton cell`: the isolation this host gives, proven by running a cell.

use std::io::Write;

use cell::{Backend, Isolation};

use crate::config::Config;
use crate::flags::Cell;
use crate::report::Error;
use crate::{house, print, worker};

/// Starts a cell and prints what was asked for: what stands around it and what a job costs, or its page tables.
pub(crate) fn run(typed: &Cell, config: &Config) -> Result<u8, Vec<Error>> {
    let limits = house::cell_limits(config, 1);
    let told = if typed.pagetables {
        page_tables(limits)
    } else {
        cell::probe(worker::ELF, limits).map(|probe| probe.to_string() + "\n")
    };
    let told = told.map_err(|err| vec![house::cell_error(&err)])?;
    print(|out| out.write_all(told.as_bytes()))
}

/// Only a microVM has tables of ours.
fn page_tables(limits: cell::Limits) -> Result<String, cell::Error> {
    let limits = cell::Limits {
        backend: Backend::Kvm,
        min_isolation: Isolation::Filter,
        ..limits
    };
    Ok(cell::Pool::start(worker::ELF, limits)?.page_tables())
}
