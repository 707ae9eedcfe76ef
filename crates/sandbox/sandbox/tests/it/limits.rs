//! Tests of the limits on time, memory and the queue: each test exceeds a limit and checks the
//! failure.

use crate::{JOB_LIMITS, assert_works, pool, run_in, start, text};
use sandbox::{FailureKind, Limits, Pool};
use sandbox_protocol::JobLimits;
use std::time::{Duration, Instant};

/// Runs an attack with limits of 100 ms of CPU time and `wall_ms_max` ms of wall time. Returns the
/// kind of the failure.
fn check(pool: &Pool, attack: &str, wall_ms_max: u32) -> FailureKind {
    let limits = JobLimits {
        cpu_ms_max: 100,
        ..JOB_LIMITS
    };
    let failed = run_in(pool, attack, limits, wall_ms_max).expect_err("an attack");
    assert_works(pool);
    failed.kind
}

#[test]
fn p3_cpu_time_ends_a_loop() {
    let pool = pool();
    assert_eq!(check(&pool, "loop", 8_000), FailureKind::TimedOut);
    let cpu = Duration::from_micros(pool.stats().cpu_us);
    assert!(cpu < Duration::from_millis(150), "{cpu:?}");
    assert_eq!(pool.stats().kills_cpu, 1);
}

#[test]
fn p3_a_loop_that_ignores_the_timers_signal_ends_within_the_next_second() {
    let pool = pool();
    assert_eq!(check(&pool, "loop-deaf", 8_000), FailureKind::TimedOut);
    assert_eq!(pool.stats().kills_cpu, 1);
}

#[test]
fn p3_wall_time_ends_what_takes_no_cpu() {
    let pool = pool();
    assert_eq!(check(&pool, "read-forever", 100), FailureKind::TimedOut);
    assert_eq!(check(&pool, "hang-up", 50), FailureKind::TimedOut);
    assert_eq!(pool.stats().kills_wall, 2);
}

#[test]
fn p4_memory_beyond_the_limit_is_too_large_however_it_is_asked_for() {
    let pool = pool();
    let kind = |attack| {
        let failed = run_in(&pool, attack, JOB_LIMITS, 8_000).expect_err("an attack");
        assert_works(&pool);
        failed.kind
    };
    assert_eq!(kind("allocate 10000000000"), FailureKind::TooLarge);
    assert_eq!(kind("allocate-slowly"), FailureKind::TooLarge);
    // `malloc` in C code returns null, which the C code must handle: the attacker replies that the
    // call failed.
    assert_eq!(kind("allocate-in-c 10000000000"), FailureKind::Unsupported);
}

#[test]
fn p4_a_task_cannot_raise_the_pools_limits() {
    let limits = Limits {
        max_work_memory_bytes: 64 << 20,
        max_request_time_ms: 50,
        max_output_bytes: 4,
        ..Limits::default()
    };
    let pool = start(limits);
    let greedy = |attack| {
        let limits = JobLimits {
            output_bytes_max: 1 << 40,
            memory_bytes_max: 1 << 40,
            cpu_ms_max: 1 << 30,
        };
        let failed = run_in(&pool, attack, limits, 1 << 30).expect_err("an attack");
        failed.kind
    };
    assert_eq!(greedy("allocate 100000000"), FailureKind::TooLarge);
    assert_eq!(greedy("read-forever"), FailureKind::TimedOut);
    assert_eq!(greedy("echo"), FailureKind::TooLarge);
}

#[test]
fn p2_a_job_that_finds_no_cell_in_time_is_the_hosts_failure() {
    let limits = Limits {
        concurrency: 1,
        spare: 0,
        max_queue_time_ms: 20,
        ..Limits::default()
    };
    let pool = start(limits);
    std::thread::scope(|scope| {
        scope.spawn(|| run_in(&pool, "read-forever", JOB_LIMITS, 1_000));
        let deadline = Instant::now() + Duration::from_secs(10);
        while pool.stats().running == 0 {
            assert!(Instant::now() < deadline, "the first job never ran");
            std::thread::yield_now();
        }
        let failed = run_in(&pool, "echo", JOB_LIMITS, 1_000).expect_err("no cell is free");
        assert_eq!(
            failed.to_string(),
            "cell: host: no sandbox became free within 20 ms"
        );
    });
    assert_eq!(pool.stats().queue_timeouts, 1);
}

#[test]
fn a_jobs_heap_and_code_are_in_huge_pages() {
    let pool = pool();
    if pool.posture().hugepages != sandbox::HugePages::On {
        return;
    }
    let faults = |plan| {
        let finished = run_in(&pool, plan, JOB_LIMITS, 8_000).expect("an honest job");
        text(&finished).parse::<u32>().expect("a number of faults")
    };
    let heap = [faults("touch 4194304"), faults("touch 16777216")];
    let code = faults("walk");
    // With small pages, the two jobs that write to memory would cause 1,024 and 4,096 page faults.
    // The job that reads the code would cause 96 page faults, each of which maps sixteen pages.
    assert!(heap[0] < 64 && heap[1] < 64 && code < 64, "{heap:?} {code}");
}

#[test]
fn p12_a_pool_works_without_huge_pages() {
    let limits = Limits {
        hugepages: false,
        ..Limits::default()
    };
    let pool = start(limits);
    assert_eq!(pool.posture().hugepages, sandbox::HugePages::Off);
    assert_works(&pool);
}
