//! Properties of microVMs. On a host without KVM, these tests check nothing: they print a message
//! and succeed.

use crate::host::{Without, alone};
use crate::{JOB_LIMITS, assert_works, poison, run, run_in, start};
use expect_test::expect;
use sandbox::{Backend, FailureKind, Isolation, Limits, Pool};
use sandbox_protocol::JobLimits;
use std::collections::HashSet;
use std::fs::File;

/// Starts a pool of microVMs; returns `None` on a host without KVM.
pub(crate) fn microvms(limits: Limits) -> Option<Pool> {
    let device = File::options().read(true).write(true).open("/dev/kvm");
    if let Err(err) = device {
        eprintln!("cell: not proved: kvm: open /dev/kvm: {err}");
        return None;
    }
    Some(start(Limits {
        backend: Backend::Kvm,
        ..limits
    }))
}

#[test]
fn a_worker_runs_in_a_microvm_as_it_is() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    assert_eq!(pool.posture().backend, Backend::Kvm);
    if pool.posture().landlock_abi.is_some() && !pool.posture().namespaces.is_empty() {
        assert_eq!(pool.posture().isolation(), Isolation::MicroVm);
    }
    for _ in 0..20 {
        assert_works(&pool);
    }
    assert_eq!(run(&pool, "environment").as_deref(), Ok("[PELTON_CELL]"));
    assert_eq!(
        run(&pool, "descriptors 100").as_deref(),
        Ok("0 1 2 3 4 5 6")
    );
    let stats = pool.stats();
    assert_eq!((stats.runs, stats.finished), (22, 22));
    assert_eq!((stats.crashes, stats.zygote_deaths), (0, 0));
}

#[test]
fn p13_what_ring_3_may_not_ends_the_job_and_nothing_else() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    let mut ends = String::new();
    for attack in [
        "cli",
        "hlt",
        "port",
        "page-tables",
        "msr",
        "read-ring0",
        "write-code",
        "run-data",
        "segv",
        "abort",
        "panic",
        "overflow 100000",
        "leave",
    ] {
        let end = match run(&pool, attack) {
            Ok(answer) => format!("answers {answer}"),
            Err(failure) => failure.to_string(),
        };
        // Addresses differ with each boot of a guest, so they are removed from the message.
        let end = end
            .split(", instruction pointer 0x")
            .next()
            .expect("split yields one");
        let end = end
            .split(" at address 0x")
            .next()
            .expect("split yields one");
        ends.push_str(&format!("{attack}: {end}\n"));
        assert_works(&pool);
    }
    expect![[r#"
        cli: cell: crashed: died by exception 13, general protection
        hlt: cell: crashed: died by exception 13, general protection
        port: cell: crashed: died by exception 13, general protection
        page-tables: cell: crashed: died by exception 13, general protection
        msr: cell: crashed: died by exception 13, general protection
        read-ring0: cell: crashed: died by a page fault
        write-code: cell: crashed: died by a page fault
        run-data: cell: crashed: died by a page fault
        segv: cell: crashed: died by a page fault
        abort: cell: crashed: died by signal 6
        panic: cell: crashed: panicked at crates/sandbox/sandbox/tests/attacker/strain.rs:54:19:?on purpose
        overflow 100000: cell: crashed: died by a page fault
        leave: cell: crashed: exit code 7
    "#]]
    .assert_eq(&ends);
}

/// Promise P13 of `docs/SPEC.md`: a job can access only what it was given. In a cell that is a
/// process, the seccomp filter kills the process for most of these system calls. In a microVM, the
/// calls fail. Most of the other jobs of this test violate the protocol.
#[test]
fn p13_calls_that_no_codec_makes_fail() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    let mut ends = String::new();
    for attack in [
        "open",
        "stat",
        "unlink",
        "memfd",
        "socket",
        "ptrace",
        "execve",
        "io_uring",
        "clone3",
        "fork-bomb",
        "vfork",
        "thread",
        "unshare",
        "kill-parent",
        "mount",
        "bpf",
        "userfaultfd",
        "keyring",
        "dumpable",
        "terminal",
        "sleep",
        "wait",
        "writable-code",
        "code",
        "x32",
        "unknown",
        "wrong-id",
        "too-long",
        "empty",
        "garbage",
        "terminal-codes",
        "beyond",
    ] {
        let end = match run(&pool, attack) {
            Ok(answer) => format!("answers {answer}"),
            Err(failure) => failure.to_string(),
        };
        ends.push_str(&format!("{attack}: {end}\n"));
    }
    assert_works(&pool);
    assert!(10 < pool.stats().refused_calls, "{:?}", pool.stats());
    expect![[r#"
        open: cell: unsupported: No such file or directory (os error 2)
        stat: cell: unsupported: No such file or directory (os error 2)
        unlink: cell: unsupported: Function not implemented (os error 38)
        memfd: cell: unsupported: Function not implemented (os error 38)
        socket: cell: unsupported: Function not implemented (os error 38)
        ptrace: cell: unsupported: Function not implemented (os error 38)
        execve: cell: unsupported: Function not implemented (os error 38)
        io_uring: cell: unsupported: Function not implemented (os error 38)
        clone3: cell: unsupported: Function not implemented (os error 38)
        fork-bomb: cell: unsupported: Function not implemented (os error 38)
        vfork: cell: unsupported: Function not implemented (os error 38)
        thread: cell: unsupported: Function not implemented (os error 38)
        unshare: cell: unsupported: Function not implemented (os error 38)
        kill-parent: cell: crashed: died by signal 9
        mount: cell: unsupported: Function not implemented (os error 38)
        bpf: cell: unsupported: Function not implemented (os error 38)
        userfaultfd: cell: unsupported: Function not implemented (os error 38)
        keyring: cell: unsupported: Function not implemented (os error 38)
        dumpable: cell: unsupported: Function not implemented (os error 38)
        terminal: cell: unsupported: Inappropriate ioctl for device (os error 25)
        sleep: cell: unsupported: Function not implemented (os error 38)
        wait: cell: unsupported: Resource temporarily unavailable (os error 11)
        writable-code: cell: unsupported: Operation not permitted (os error 1)
        code: cell: unsupported: Operation not permitted (os error 1)
        x32: cell: unsupported: Function not implemented (os error 38)
        unknown: cell: unsupported: Function not implemented (os error 38)
        wrong-id: cell: protocol violation: WrongJob
        too-long: cell: protocol violation: WrongLength
        empty: cell: protocol violation: WrongLength
        garbage: cell: protocol violation: the worker sent a malformed reply: Magic
        terminal-codes: cell: undecodable: ?[2J
        beyond: cell: too large: the output exceeded its size limit
    "#]]
    .assert_eq(&ends);
}

/// Promise N11 of `docs/SPEC.md`: system calls with invalid arguments harm only their guest. `cargo
/// xtask conform cells` makes more such calls.
#[test]
fn n11_calls_with_any_arguments_harm_no_other_job() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    for seed in 1..=poison::rounds(40) {
        // The job may end in any way.
        let _end = run(&pool, &format!("calls {}", u64::from(seed) * 0x9e37_79b9));
    }
    assert_works(&pool);
    assert_eq!(pool.stats().zygote_deaths, 0);
    assert_eq!(
        pool.stats().kills_filter,
        0,
        "a guest led its helper to a denied call"
    );
}

#[test]
fn p3_p4_a_guest_is_ended_in_its_limits() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    let limits = JobLimits {
        cpu_ms_max: 100,
        ..JOB_LIMITS
    };
    let kind = |attack: &str, limits| {
        let failed = run_in(&pool, attack, limits, 8_000).expect_err("an attack");
        assert_works(&pool);
        failed.kind
    };
    assert_eq!(kind("loop", limits), FailureKind::TimedOut);
    assert_eq!(kind("loop-deaf", limits), FailureKind::TimedOut);
    assert_eq!(
        pool.stats().kills_cpu,
        2,
        "a guest has no signals to ignore"
    );
    assert_eq!(
        kind("allocate 10000000000", JOB_LIMITS),
        FailureKind::TooLarge
    );
    assert_eq!(kind("allocate-slowly", JOB_LIMITS), FailureKind::TooLarge);
    assert_eq!(kind("read-forever", JOB_LIMITS), FailureKind::Crashed);
    let ended = run_in(&pool, "loop", JOB_LIMITS, 50).expect_err("an attack");
    assert_eq!(ended.kind, FailureKind::TimedOut);
    assert_eq!(pool.stats().kills_wall, 1);
    assert_works(&pool);
}

/// Promise N4 of `docs/SPEC.md`: two snapshots of a guest have different memory layouts and stack
/// canaries, and each job gets different random numbers.
#[test]
fn n4_generations_and_jobs_have_randomness_of_their_own() {
    let (Some(first), Some(second)) = (microvms(Limits::default()), microvms(Limits::default()))
    else {
        return;
    };
    let layout = |pool| run(pool, "layout").expect("it tells");
    let pairs = [layout(&first), layout(&second)];
    let [first_words, second_words] = pairs
        .each_ref()
        .map(|text| text.split(' ').collect::<Vec<_>>());
    let same = first_words
        .iter()
        .zip(&second_words)
        .filter(|(a, b)| a == b)
        .count();
    assert!(same <= 1, "by chance at most one: {pairs:?}");
    assert_ne!(first_words[3], second_words[3], "AT_RANDOM");
    let drawn: HashSet<_> = (0..50)
        .map(|_| run(&first, "random").expect("it draws"))
        .collect();
    assert_eq!(drawn.len(), 50);
}

/// Promise N7 of `docs/SPEC.md`: `sandbox::probe` runs a guest, and checks that the helper's
/// seccomp filter kills the helper at a denied system call.
#[test]
fn n7_a_probe_runs_a_guest() {
    if microvms(Limits::default()).is_none() {
        return;
    }
    let limits = Limits {
        backend: Backend::Kvm,
        ..Limits::default()
    };
    let probe = sandbox::probe(&crate::ATTACKER, limits).expect("the attacker boots");
    assert_eq!(probe.posture.backend, Backend::Kvm);
    assert!(probe.wipe.is_some(), "{probe:?}");
    eprintln!("cell: proved: kvm:\n{probe}");
}

#[test]
fn a_machine_that_does_not_start_is_an_error_that_says_why() {
    if microvms(Limits::default()).is_none() {
        return;
    }
    let limits = Limits {
        backend: Backend::Kvm,
        max_memory_bytes: 200 << 40,
        ..Limits::default()
    };
    let Err(error) = Pool::start(&crate::ATTACKER, limits) else {
        panic!("started");
    };
    let (text, refusal) = (
        error.to_string(),
        "bytes: Cannot allocate memory (os error 12)",
    );
    assert!(
        text.starts_with("cell: worker: cannot reserve ") && text.ends_with(refusal),
        "{text}"
    );
}

/// Promise N7 of `docs/SPEC.md`: the backend `auto` chooses microVMs or processes, and states the
/// reason if it chooses processes.
#[test]
fn n7_auto_says_why_it_fell_back() {
    let pool = start(Limits {
        backend: Backend::Auto,
        ..Limits::default()
    });
    assert_works(&pool);
    let posture = pool.posture();
    match posture.backend {
        Backend::Kvm => assert_eq!(posture.fell_back, None),
        _ => {
            let why = posture.fell_back.expect("a reason");
            eprintln!("cell: auto fell back: {why}");
            assert!(
                why.contains("/dev/kvm") || why.contains("empty job"),
                "{why}"
            );
        }
    }
}

/// Promise N8 of `docs/SPEC.md`: the helper, which hosts a guest, is isolated like a zygote. The
/// kernel never merges the helper's pages with equal pages of other processes, and `cpuid` offers
/// the guest no virtualisation.
#[test]
fn n8_the_host_of_a_guest_is_jailed() {
    if !alone("kvm::n8_the_host_of_a_guest_is_jailed", Without::default()) {
        return;
    }
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    assert_works(&pool);
    let helpers = crate::life::descendants(std::process::id());
    assert!(
        2 <= helpers.len(),
        "a zygote and a helper at least: {helpers:?}"
    );
    for helper in helpers {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{helper}/{file}"));
        let status = read("status").expect("it runs");
        assert!(status.contains("Seccomp:\t2"), "{status}");
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        // The helper is not dumpable, so the kernel may refuse to show its mappings.
        if let Ok(maps) = read("smaps") {
            let flags = maps.lines().filter(|line| line.starts_with("VmFlags"));
            assert!(
                flags.into_iter().all(|line| !line.contains(" mg")),
                "{maps}"
            );
        }
    }
    assert_eq!(run(&pool, "cpuid").as_deref(), Ok("vmx 0 svm 0"));
}

/// Replacement of templates (the snapshots from which microVMs start) after a number of jobs, while
/// jobs run. The helpers of the old template end.
#[test]
fn templates_are_renewed_while_jobs_run() {
    let Some(pool) = microvms(Limits {
        jobs_per_zygote: 10,
        ..Limits::default()
    }) else {
        return;
    };
    // A new template takes longer to boot than a few jobs take to run, so jobs run until enough
    // templates were replaced.
    const ROUNDS_MAX: usize = 500;
    let enough = || 2 <= pool.stats().zygote_renewals;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let rounds = (0..ROUNDS_MAX).take_while(|_| !enough());
                rounds.for_each(|_| (0..20).for_each(|_| assert_works(&pool)));
            });
        }
    });
    let stats = pool.stats();
    assert!(enough(), "{stats:?}");
    assert_eq!((stats.finished, stats.zygote_deaths), (stats.runs, 0));
}

#[test]
fn page_tables_of_a_guest_can_be_read() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    let tables = pool.page_tables();
    assert!(
        tables.contains("ring 0") && tables.contains("r-x user"),
        "{tables}"
    );
    assert!(!tables.contains("rwx"), "{tables}");
}

/// Promise P6 of `docs/SPEC.md`: an answer arrives before its microVM is wiped, and the time of
/// wipes is counted separately from the time of jobs.
#[test]
fn p6_no_answer_waits_for_its_wipe() {
    const ROUNDS: u64 = 20;
    const DIRTY_BYTES: u64 = 32 << 20;
    let Some(pool) = microvms(poison::one_cell(true)) else {
        return;
    };
    let mut not_yet_wiped = 0;
    for _ in 0..ROUNDS {
        run(&pool, &format!("touch {DIRTY_BYTES}")).expect("memory within its limit");
        let stats = pool.stats();
        not_yet_wiped += u64::from(stats.wipes < stats.runs);
    }
    // If this thread has to wait for a CPU, the wipe may be done before the thread reads the
    // counter. So only a quarter of the rounds must show an unfinished wipe.
    assert!(ROUNDS / 4 < not_yet_wiped, "{not_yet_wiped}");
    let stats = pool.stats();
    assert!((ROUNDS - 1) * DIRTY_BYTES <= stats.dirty_bytes, "{stats:?}");
    assert!(0 < stats.wipe_us, "{stats:?}");
}
