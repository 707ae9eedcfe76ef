//! Tests that jobs are not affected when zygotes start, are replaced or die.

use crate::host::{Without, alone};
use crate::{JOB_LIMITS, assert_works, pool, run, run_in, start};
use expect_test::expect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use sandbox::{ErrorKind, Limits, Pool};
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_pool_renews_its_zygote_while_jobs_run() {
    let limits = Limits {
        jobs_per_zygote: 10,
        ..Limits::default()
    };
    let pool = start(limits);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..100).for_each(|_| assert_works(&pool)));
        }
    });
    let stats = pool.stats();
    assert_eq!(
        (stats.runs, stats.finished, stats.zygote_deaths),
        (300, 300, 0)
    );
    assert!(5 < stats.zygote_renewals, "{stats:?}");
}

#[test]
fn a_job_survives_its_zygote() {
    if alone("life::a_job_survives_its_zygote", Without::default()) {
        kill_zygote_during_a_job();
    }
}

#[test]
fn a_job_survives_its_zygote_without_namespaces() {
    let without = Without {
        namespaces: true,
        ..Without::default()
    };
    if alone(
        "life::a_job_survives_its_zygote_without_namespaces",
        without,
    ) {
        kill_zygote_during_a_job();
    }
}

fn kill_zygote_during_a_job() {
    let pool = pool();
    std::thread::scope(|scope| {
        let job = scope.spawn(|| run_in(&pool, "spin 300000", JOB_LIMITS, 8_000));
        until(|| pool.stats().running == 1);
        kill_process(zygote(), Signal::KILL).expect("it is ours");
        let finished = job.join().expect("no panic").expect("the job goes on");
        assert_eq!(finished.output_bytes, 8);
    });
    until(|| pool.stats().zygote_deaths == 1);
    (0..20).for_each(|_| assert_works(&pool));
    assert_eq!(pool.stats().zygote_deaths, 1);
}

#[test]
fn a_dropped_pool_leaves_nothing_behind() {
    if !alone(
        "life::a_dropped_pool_leaves_nothing_behind",
        Without::default(),
    ) {
        return;
    }
    let pool = pool();
    assert_works(&pool);
    until(|| 4 <= pool.stats().ready);
    let pidfds = open_descendants(std::process::id());
    assert!(5 <= pidfds.len(), "a zygote and four children: {pidfds:?}");
    drop(pool);
    pidfds.iter().for_each(assert_ends);
}

#[test]
fn a_killed_server_leaves_nothing_behind() {
    const STAY: &str = "CELL_IT_STAY";
    if std::env::var_os(STAY).is_some() {
        let pool = pool();
        until(|| 4 <= pool.stats().ready);
        println!("ready");
        let _never = run(&pool, "read-forever");
        unreachable!("killed before");
    }
    for name in ["life::a_killed_server_leaves_nothing_behind"] {
        let mut server = Command::new("/proc/self/exe")
            .args(["--exact", "--nocapture", name])
            .env(STAY, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program runs again");
        let mut output = String::new();
        let mut out = server.stdout.take().expect("it is piped");
        while !output.contains("ready") {
            let mut byte = [0];
            out.read_exact(&mut byte).expect("it says that it is ready");
            output.push(char::from(byte[0]));
        }
        let pidfds = open_descendants(server.id());
        assert!(5 <= pidfds.len(), "{pidfds:?}");
        server.kill().expect("it is ours");
        server.wait().expect("it is ours");
        pidfds.iter().for_each(assert_ends);
    }
}

#[test]
fn a_worker_that_does_not_come_up_is_an_error_that_says_so() {
    let refused = |elf: &[u8]| {
        let Err(error) = Pool::start(elf, Limits::default()) else {
            panic!("started");
        };
        (error.kind, error.to_string())
    };
    let (kind, text) = refused(b"no program");
    assert_eq!(kind, ErrorKind::Host);
    let expected = expect!["cell: cannot start the worker: Exec format error (os error 8)"];
    expected.assert_eq(&text);
    let other = fs::read("/bin/true").expect("every host has it");
    let (kind, text) = refused(&other);
    assert_eq!(kind, ErrorKind::Worker);
    let expected = expect!["cell: worker: exited unexpectedly"];
    expected.assert_eq(&text);
}

#[test]
fn a_limit_of_zero_is_an_error_that_names_it() {
    let limits = Limits {
        max_boot_time_ms: 0,
        ..Limits::default()
    };
    let Err(error) = Pool::start(&crate::ATTACKER, limits) else {
        panic!("started");
    };
    assert_eq!(error.kind, ErrorKind::Limits);
    assert_eq!(
        error.to_string(),
        "cell: the limit max_boot_time_ms is out of range"
    );
}

pub(crate) fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "it never came");
        std::thread::yield_now();
    }
}

/// Returns the zygote of the only pool in this process. The zygote is the child of this process or,
/// if that child is an init process, the first child of init.
fn zygote() -> Pid {
    let first = children(std::process::id())[0];
    let comm = fs::read_to_string(format!("/proc/{first}/comm")).expect("it runs");
    let pid = match comm.trim() {
        "pelton init" => children(first)[0],
        _ => first,
    };
    Pid::from_raw(pid as i32).expect("ids are above 0")
}

pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut all = children(pid);
    let mut next = 0;
    while next < all.len() {
        all.extend(children(all[next]));
        next += 1;
    }
    all
}

/// Returns the children of the process `pid`. A process that has ended has no children.
fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    for task in tasks.into_iter().flatten().flatten() {
        // A thread may end after its folder was listed and before this file is read.
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .map(|pid| pid.parse::<u32>().expect("an id")),
        );
    }
    found
}

/// Returns pidfds of the descendants of the process `pid`. Descendants that end meanwhile are left
/// out.
pub(crate) fn open_descendants(pid: u32) -> Vec<OwnedFd> {
    let open = |pid: u32| {
        let pid = Pid::from_raw(pid as i32).expect("ids are above 0");
        match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => None,
            opened => Some(opened.expect("one descriptor more")),
        }
    };
    descendants(pid).into_iter().filter_map(open).collect()
}

pub(crate) fn assert_ends(pidfd: &OwnedFd) {
    let mut watched = [PollFd::new(pidfd, PollFlags::IN)];
    let long = Timespec::try_from(Duration::from_secs(10)).expect("ten seconds");
    assert_eq!(poll(&mut watched, Some(&long)), Ok(1), "it lives on");
}
