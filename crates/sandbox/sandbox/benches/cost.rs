//! Benchmark of a cell (a sandboxed process or microVM). It measures the time from sending a job
//! until its answer arrives, and the CPU time of all processes involved.
//!
//! `cargo bench` runs each job 1,000 times; without `--bench`, as in a test, each job runs 10
//! times. On a host that also runs other programs, compare the CPU time: the other programs
//! lengthen the wall time. `cargo bench -- touch` runs only the jobs with `touch` in their name.

use sandbox::{Limits, Pool, Task};
use sandbox_protocol::JobLimits;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Jobs to measure: the name of each in the output, and its plan for the attacker, which is the
/// worker of these tests. The sandbox itself answers the job with the empty plan, without the
/// attacker.
const JOBS: [(&str, &str); 6] = [
    ("nothing", ""),
    ("echo 1 KB", "echo"),
    ("touch 1 MiB", "touch 1048576"),
    ("touch 4 MiB", "touch 4194304"),
    ("touch 16 MiB", "touch 16777216"),
    ("spin 10 ms", "spin 10000"),
];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let rounds = match arguments.iter().any(|argument| argument == "--bench") {
        true => 1_000,
        false => 10,
    };
    let only = arguments.iter().find(|argument| !argument.starts_with('-'));
    let elf = fs::read(env!("CARGO_BIN_EXE_attacker")).expect("cargo has built the attacker");
    let limits = Limits {
        // The zygote is never replaced: the cost of a replacement would be added to one row of the
        // output.
        jobs_per_zygote: u32::MAX,
        ..Limits::default()
    };
    let pool = Pool::start(&elf, limits).expect("the attacker boots");
    println!("{:12} {:>28} {:>44}", "", "wall µs", "CPU µs per job");
    println!(
        "{:12} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "job", "p50", "p99", "acquire", "child", "zygote", "server", "all"
    );
    for (name, plan) in JOBS {
        if only.is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        measure(&pool, name, plan, rounds);
    }
}

fn measure(pool: &Pool, name: &str, plan: &str, rounds: usize) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let original = File::open(path).expect("this crate has a manifest");
    wait_until_ready(pool);
    let before = (pool.stats(), zygote_us(), server_us());
    let mut walls = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begin = Instant::now();
        let task = Task {
            original: original.as_fd(),
            plan: plan.as_bytes(),
            size_px: None,
            limits: JobLimits {
                output_bytes_max: 16 << 20,
                memory_bytes_max: 1 << 30,
                cpu_ms_max: 1_000,
            },
            wall_ms_max: 8_000,
            idle: false,
        };
        pool.run(task).expect("an honest job succeeds");
        walls.push(begin.elapsed());
    }
    wait_until_ready(pool);
    let after = (pool.stats(), zygote_us(), server_us());
    walls.sort_unstable();
    let each = |sum: u64| sum / rounds as u64;
    let child = each(after.0.cpu_us - before.0.cpu_us);
    let zygote = each(after.1 - before.1);
    let server = each(after.2 - before.2);
    println!(
        "{name:12} {:>8} {:>8} {:>10} {child:>10} {zygote:>10} {server:>10} {:>10}",
        walls[rounds / 2].as_micros(),
        walls[rounds * 99 / 100].as_micros(),
        each(after.0.acquire_us - before.0.acquire_us),
        child + zygote + server,
    );
}

/// Waits until every child is ready, so that the cleanup after one job is not measured as part of
/// the next job.
fn wait_until_ready(pool: &Pool) {
    let all = u64::from(pool.limits().concurrency + pool.limits().spare);
    while pool.stats().ready < all {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn server_us() -> u64 {
    (thread_ns("/proc/self/task") + 500) / 1_000
}

/// Returns the CPU time of the zygote and of its init process. The CPU time of the zygote's
/// children is not included.
fn zygote_us() -> u64 {
    let mut sum = 0;
    let Ok(text) = fs::read_to_string(format!("/proc/self/task/{}/children", supervisor())) else {
        return 0;
    };
    for first in text.split_whitespace() {
        sum += thread_ns(&format!("/proc/{first}/task"));
        let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"));
        for child in children
            .expect("the task still runs")
            .split_whitespace()
            .take(1)
        {
            sum += thread_ns(&format!("/proc/{child}/task"));
        }
    }
    sum / 1_000
}

/// Returns the id of the supervisor's thread, which started the zygote.
fn supervisor() -> String {
    for task in fs::read_dir("/proc/self/task").expect("procfs") {
        let path = task.expect("procfs").path();
        let name = fs::read_to_string(path.join("comm")).expect("procfs");
        if name.trim() == "cell supervisor" {
            return path
                .file_name()
                .expect("the path ends in the thread's id")
                .to_string_lossy()
                .into_owned();
        }
    }
    panic!("no thread is called `cell supervisor`");
}

/// Returns the CPU time, in nanoseconds, of all threads in `tasks`, the `/proc/…/task` folder of a
/// process.
fn thread_ns(tasks: &str) -> u64 {
    let mut sum = 0;
    for task in fs::read_dir(tasks).expect("the task still runs") {
        let path = task.expect("the task still runs").path().join("schedstat");
        let text = fs::read_to_string(path).expect("the kernel provides schedstat");
        let first = text.split(' ').next().expect("three numbers");
        sum += first.parse::<u64>().expect("nanoseconds");
    }
    sum
}
