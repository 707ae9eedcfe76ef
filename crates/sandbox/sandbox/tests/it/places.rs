//! Tests of the cores on which jobs start.

use crate::host::{Without, alone};
use crate::life::{descendants, until};
use crate::{JOB_LIMITS, pool, run_in, start, text};
use sandbox::Limits;
use std::sync::Barrier;

#[test]
fn jobs_at_one_time_begin_on_cores_of_their_own() {
    const PAIRS: usize = 40;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let pool = start(Limits {
        concurrency: 2,
        ..Limits::default()
    });
    let together = Barrier::new(2);
    let begin = || -> Vec<String> {
        let begin = |_| {
            together.wait();
            let finished = run_in(&pool, "core 20000", JOB_LIMITS, 60_000);
            text(&finished.expect("an honest job"))
        };
        (0..PAIRS).map(begin).collect()
    };
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(begin);
        let other = begin();
        (one.join().expect("it asks as the other does"), other)
    });
    let apart = one.iter().zip(&other).filter(|(one, other)| one != other);
    let apart = apart.count();
    // A quarter of the pairs may share a core: on a busy machine, one job may end before the other
    // starts, and the kernel may move a job while the core chosen for it is busy.
    assert!(PAIRS * 3 / 4 <= apart, "{apart} of {PAIRS}");
}

#[test]
fn a_job_that_runs_may_go_to_any_core() {
    let name = "places::a_job_that_runs_may_go_to_any_core";
    if !alone(name, Without::default()) {
        return;
    }
    let pool = pool();
    let allowed = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let mut lines = status.lines();
        let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.map(|list| list.trim().to_owned())
    };
    let own = allowed(std::process::id()).expect("this process runs");
    std::thread::scope(|scope| {
        let job = scope.spawn(|| run_in(&pool, "read-forever", JOB_LIMITS, 1_000));
        until(|| pool.stats().running == 1);
        until(|| {
            let children = descendants(std::process::id());
            children
                .into_iter()
                .filter_map(allowed)
                .all(|list| list == own)
        });
        assert_eq!(pool.stats().running, 1, "the job was there to be looked at");
        job.join().expect("no panic").expect_err("it never ends");
    });
}
