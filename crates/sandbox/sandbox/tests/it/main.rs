//! Tests of a pool whose worker attacks the sandbox: each attack must fail, a later job must not
//! find the secrets of an earlier job, and the job after an attack must succeed.
//!
//! The worker is `tests/attacker`. Tests that need another user or fewer isolation mechanisms run
//! this program again, as a child with fewer rights (`host`).

mod attacks;
mod crashes;
#[cfg(feature = "fault")]
mod fault;
mod host;
mod hostile;
mod kvm;
mod life;
mod limits;
mod panics;
mod places;
mod poison;
mod programs;
mod readme;
mod services;
mod threads;

use sandbox::{Failure, Finished, Limits, Pool, Task};
use sandbox_protocol::JobLimits;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

const ATTACKER_PATH: &str = env!("CARGO_BIN_EXE_attacker");

/// ELF file of the attacking worker. If this program runs as a child whose user cannot read the
/// file, it reads the ELF file from its standard input.
static ATTACKER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    std::fs::read(ATTACKER_PATH).unwrap_or_else(|_| {
        let mut elf = Vec::new();
        let read = std::io::stdin().read_to_end(&mut elf);
        read.expect("standard input is readable");
        elf
    })
});

const JOB_LIMITS: JobLimits = JobLimits {
    output_bytes_max: 1 << 20,
    memory_bytes_max: 256 << 20,
    cpu_ms_max: 2_000,
};

fn pool() -> Pool {
    start(Limits::default())
}

fn start(limits: Limits) -> Pool {
    Pool::start(&ATTACKER, limits).expect("the attacker boots")
}

/// Runs an attack and returns its answer.
fn run(pool: &Pool, plan: &str) -> Result<String, Failure> {
    // On a busy machine, a job that needs a millisecond of CPU time may take seconds.
    run_in(pool, plan, JOB_LIMITS, 60_000).map(|finished| text(&finished))
}

fn run_in(
    pool: &Pool,
    plan: &str,
    limits: JobLimits,
    wall_ms_max: u32,
) -> Result<Finished, Failure> {
    let original = original();
    pool.run(Task {
        original: original.as_fd(),
        plan: plan.as_bytes(),
        size_px: None,
        limits,
        wall_ms_max,
        idle: false,
    })
}

fn original() -> File {
    let memory = rustix::fs::memfd_create("original", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.expect("memory for eight bytes"));
    file.write_all(b"original").expect("memory for eight bytes");
    file
}

fn text(finished: &Finished) -> String {
    let mut bytes = vec![0; finished.output_bytes as usize];
    let read = finished.body.read_exact_at(&mut bytes, 0);
    read.expect("the body is as long as it says");
    String::from_utf8(bytes).expect("attackers answer in text")
}

/// Checks that the pool still runs an honest job.
fn assert_works(pool: &Pool) {
    let answer = run(pool, "echo");
    assert_eq!(answer.as_deref(), Ok("original"));
}
