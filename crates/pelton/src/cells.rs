//! `pelton cell`: the isolation this host gives, proven by running a cell.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Instant;

use crate::config::Config;
use crate::report::Error;
use crate::{house, print};

/// Empty jobs run to tell what a cell costs.
const RUNS: usize = 101;

/// Starts a cell, gives it empty jobs, and prints what stands around it and what one costs.
pub(crate) fn run(config: &Config) -> Result<u8, Vec<Error>> {
    let text = probe(config).map_err(|err| vec![err])?;
    print(|out| out.write_all(text.as_bytes()))
}

/// What stands around a cell, and what one costs, in lines.
fn probe(config: &Config) -> Result<String, Error> {
    let begun = Instant::now();
    let pool = house::pool(config, 1)?;
    let boot = begun.elapsed();
    let null =
        File::open("/dev/null").map_err(|err| Error::host(format!("open /dev/null: {err}")))?;
    let limits = job::JobLimits {
        answer_bytes_max: 4096,
        memory_bytes_max: 16 << 20,
        cpu_ms_max: 1_000,
    };
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begun = Instant::now();
        let task = cell::Task {
            original: null.as_fd(),
            plan: &[],
            size_px: None,
            limits,
            wall_ms_max: 1_000,
        };
        pool.run(task)
            .map_err(|failure| Error::host(failure.to_string()))?;
        times.push(begun.elapsed());
    }
    times.sort();
    let median = times[RUNS / 2].as_micros();
    let slowest = times[RUNS - 1].as_micros();
    let posture = pool.posture();
    let boot_ms = boot.as_millis();
    Ok(format!(
        "{posture}\nready after      {boot_ms} ms\nan empty job     {median} µs at the median of {RUNS}, {slowest} µs at most\n"
    ))
}
