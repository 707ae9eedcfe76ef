//! `pelton cell`: the isolation this host gives, proven by running a cell.

use std::io::Write;

use crate::config::Config;
use crate::report::Error;
use crate::{house, print, worker};

/// Starts a cell, has it answer and die, and prints what stands around it and what a job costs.
pub(crate) fn run(config: &Config) -> Result<u8, Vec<Error>> {
    let limits = house::cell_limits(config, 1);
    let probe = cell::probe(worker::ELF, limits).map_err(|err| vec![house::cell_error(&err)])?;
    print(|out| writeln!(out, "{probe}"))
}
