//! Counts the lines of a file in a sandbox. The program has two roles. With a path as its argument,
//! it is the server, which starts the same program again as its worker. Without a path, it is the
//! worker.

use sandbox::{Limits, Pool, Task};
use sandbox_protocol::{AllegedReply, Job, JobLimits, Status};
use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::args_os().nth(1) else {
        sandbox::inside::serve(|| {}, count_lines);
    };
    let worker = std::fs::read("/proc/self/exe")?;
    let pool = Pool::start(&worker, Limits::default())?;
    let original = File::open(path)?;
    let finished = pool.run(Task {
        original: original.as_fd(),
        plan: b"lines",
        size_px: None,
        limits: JobLimits {
            output_bytes_max: 4_096,
            memory_bytes_max: 64 << 20,
            cpu_ms_max: 1_000,
        },
        wall_ms_max: 10_000,
        idle: false,
    })?;
    let mut answer = String::new();
    let mut body = finished.body.take(finished.output_bytes);
    body.read_to_string(&mut answer)?;
    println!("{answer} lines");
    Ok(())
}

/// Counts the lines of the original. This function runs in the sandbox, where it can only read the
/// original, write the answer and allocate memory.
fn count_lines(job: &Job<'_>, mut original: &File, mut answer: &File) -> AllegedReply {
    let mut count = || {
        let mut bytes = Vec::new();
        original.read_to_end(&mut bytes)?;
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let text = lines.to_string();
        answer.write_all(text.as_bytes())?;
        Ok::<_, std::io::Error>(text.len() as u64)
    };
    match count() {
        Ok(bytes) => AllegedReply::new(job.id, Status::Done, (0, 0), bytes),
        Err(error) => {
            AllegedReply::new(job.id, Status::Failed, (0, 0), 0).with_detail(&error.to_string())
        }
    }
}
