//! `worker`, the program that runs inside a sandbox.
//!
//! Without arguments the program is a zygote (a process that is forked for each job), which only a
//! pool of sandboxes can start. `worker once PLAN_HEX [--repeat N]` runs one job without a sandbox,
//! from stdin to stdout, and prints the CPU time of each run on stderr. `worker follow PLAN_HEX
//! ORIGINAL` runs the job once for each byte that it reads from stdin, and writes each output
//! preceded by its length. The benchmarks (`cargo xtask lab`) compare `once` and `follow` with jobs
//! in sandboxes.

#![forbid(unsafe_code)]

use image_plan::Plan;
use rustix::time::{ClockId, clock_gettime};
use std::io::{Cursor, Read, Write};
use std::process::ExitCode;

#[global_allocator]
static HEAP: sandbox::inside::Heap = sandbox::inside::Heap;

/// Exit code if the job failed.
const EXIT_FINDINGS: u8 = 1;
/// Exit code for an invalid command line.
const EXIT_USAGE: u8 = 2;
/// Exit code if a stream cannot be read or written.
const EXIT_HOST: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => sandbox::inside::serve(worker::warm_up, worker::run_job),
        ["once", plan] => once(plan, "1"),
        ["once", plan, "--repeat", times] => once(plan, times),
        ["follow", plan, original] => follow(plan, original),
        _ => usage("unknown command"),
    }
}

/// Bytes of the output, and remarks on defects of the original.
type JobOutput = (Vec<u8>, Vec<String>);

/// Function that executes a plan on an original; fails with an error message.
type Executor = Box<dyn Fn(&[u8]) -> Result<JobOutput, String>>;

/// Runs one job `times` times and writes the output of the last run. All runs give the same output.
fn once(plan: &str, times: &str) -> ExitCode {
    let Ok(plan) = hex::decode(plan) else {
        return usage("PLAN_HEX is not hexadecimal");
    };
    let executor: Executor = match Plan::from_bytes(&plan) {
        Ok(plan) => Box::new(move |original| {
            let converted = worker::convert(&plan, original).map_err(|error| error.to_string())?;
            Ok((converted.bytes, converted.remarks))
        }),
        Err(_) => match audio_plan::Plan::from_bytes(&plan) {
            Ok(plan) => Box::new(move |original| {
                let converted = audio::transcode(&plan, Cursor::new(original), Vec::new());
                let converted = converted.map_err(|error| error.to_string())?;
                Ok((converted.sink, converted.remarks))
            }),
            Err(_) => return usage("PLAN_HEX is not a plan that this build can read"),
        },
    };
    let Ok(times @ 1..) = times.parse::<u32>() else {
        return usage("N must be a positive number");
    };
    let mut original = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut original) {
        eprintln!("worker: cannot read the original: {error}");
        return ExitCode::from(EXIT_HOST);
    }
    worker::warm_up();
    let run = || {
        let start_us = cpu_us();
        let output = executor(&original);
        eprintln!("{}", cpu_us() - start_us);
        output
    };
    let mut output = run();
    for _ in 1..times {
        output = run();
    }
    let (bytes, remarks) = match output {
        Ok(output) => output,
        Err(error) => {
            eprintln!("worker: {error}");
            return ExitCode::from(EXIT_FINDINGS);
        }
    };
    for remark in &remarks {
        eprintln!("worker: {remark}");
    }
    if let Err(error) = std::io::stdout().write_all(&bytes) {
        eprintln!("worker: cannot write the output: {error}");
        return ExitCode::from(EXIT_HOST);
    }
    ExitCode::SUCCESS
}

/// Runs one job in this process for each byte of stdin, until stdin is closed. Reads the original
/// again for each job, as a sandbox does.
fn follow(plan: &str, original: &str) -> ExitCode {
    let Ok(Ok(plan)) = hex::decode(plan).map(|bytes| Plan::from_bytes(&bytes)) else {
        return usage("PLAN_HEX is not a plan that this build can read");
    };
    worker::warm_up();
    let mut output_stream = std::io::stdout().lock();
    for asked in std::io::stdin().lock().bytes() {
        let job_result = asked.and_then(|_| std::fs::read(original));
        let job_result = job_result.and_then(|bytes| {
            let output = worker::convert(&plan, &bytes).map_err(std::io::Error::other)?;
            output_stream.write_all(&(output.bytes.len() as u64).to_le_bytes())?;
            output_stream.write_all(&output.bytes)?;
            output_stream.flush()
        });
        if let Err(error) = job_result {
            eprintln!("worker: {original}: {error}");
            return ExitCode::from(EXIT_HOST);
        }
    }
    ExitCode::SUCCESS
}

fn usage(cause: &str) -> ExitCode {
    eprintln!("worker: {cause}");
    eprintln!("hint:   worker once PLAN_HEX [--repeat N] < original > output");
    eprintln!(
        "hint:   worker follow PLAN_HEX ORIGINAL (stdin: a byte per job; stdout: lengths and outputs)"
    );
    ExitCode::from(EXIT_USAGE)
}

/// Returns the CPU time of this process in microseconds.
fn cpu_us() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
