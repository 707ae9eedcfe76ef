//! Promise P17 of `docs/SPEC.md`: threads of programs.

use crate::programs::{PROGRAM_PATH, program_pool, run, run_in, text};
use crate::{JOB_LIMITS, kvm::microvms};
use sandbox::{Backend, FailureKind, Limits, Pool};
use std::process::Command;

/// Wall time and CPU time, both in microseconds.
type Times = [u64; 2];

/// Parses the wall time and the CPU time that a program prints.
fn times(text: &str) -> Times {
    let times = text.split_whitespace().map(|time| time.parse());
    let times: Result<Vec<u64>, _> = times.collect();
    times.expect("numbers").try_into().expect("two of them")
}

fn ask(threads: u32, rounds: u64) -> [String; 3] {
    [
        "DO=threads-share".to_owned(),
        format!("THREADS={threads}"),
        format!("ROUNDS={rounds}"),
    ]
}

fn inside(pool: &Pool, threads: u32, rounds: u64) -> Times {
    let ask = ask(threads, rounds);
    let ask = ask.each_ref().map(String::as_str);
    let finished = run_in(pool, &ask, b"", JOB_LIMITS, 60_000);
    times(&text(&finished.expect("it does its work")))
}

fn outside(threads: u32, rounds: u64) -> Times {
    let ask = ask(threads, rounds);
    let variables = ask.iter().map(|word| word.split_once('=').expect("a name"));
    let output = Command::new(PROGRAM_PATH)
        .env_clear()
        .envs(variables)
        .output();
    let output = output.expect("it runs everywhere");
    times(std::str::from_utf8(&output.stdout).expect("it tells numbers"))
}

/// Promise P17 of `docs/SPEC.md`: work that is divided among one, two or four threads takes at most
/// 1.1 times the wall time and CPU time that it takes outside of a cell. Because the speed of a
/// machine changes, measurements inside and outside of a cell alternate, and the median of their
/// ratios is checked.
#[test]
fn p17_threads_of_a_process_work_as_they_do_outside() {
    // The work takes as long as the conversion of a camera's picture. Shorter work would be
    // dominated by the start of threads: a new thread may wait for a core until the kernel's next
    // timer tick, even if another core is idle. On some machines, this wait occurs more often
    // inside a cell than outside, which would distort the comparison.
    const ROUNDS: u64 = 160_000_000;
    const LEAST_TRIES: usize = 10;
    const TRIES: usize = 60;
    // The test compares a program in a cell with the same program outside, which is never
    // deprioritized.
    let pool = program_pool(Limits {
        deprioritize_after_ms: 0,
        ..Limits::default()
    });
    for threads in [1, 2, 4] {
        let mut ratios = [Vec::new(), Vec::new()];
        let near = (1..=TRIES).any(|tried| {
            let (out_us, in_us) = (outside(threads, ROUNDS), inside(&pool, threads, ROUNDS));
            for (clock, ratios) in ratios.iter_mut().enumerate() {
                ratios.push(in_us[clock] as f64 / out_us[clock] as f64);
                ratios.sort_by(f64::total_cmp);
            }
            LEAST_TRIES <= tried && ratios.iter().all(|ratios| ratios[tried / 2] <= 1.1)
        });
        let medians = ratios.each_ref().map(|ratios| ratios[ratios.len() / 2]);
        eprintln!(
            "cell: p17: {threads} threads: inside over outside {medians:.3?} of {}",
            ratios[0].len()
        );
        assert!(near, "{threads} threads: inside over outside {ratios:.2?}");
    }
}

/// Promise P17 of `docs/SPEC.md`: the number of threads is limited, and the next job works as usual
/// after a program used all of its threads.
#[test]
fn p17_threads_are_bounded_in_both_backends() {
    let limits = Limits {
        concurrency: 2,
        spare: 2,
        max_request_time_ms: 10_000,
        ..Limits::default()
    };
    let bounds = [(Backend::Process, 64..=2 + 4 * 65), (Backend::Kvm, 63..=63)];
    for (backend, bound) in bounds {
        if backend == Backend::Kvm && microvms(limits).is_none() {
            continue;
        }
        let pool = program_pool(Limits { backend, ..limits });
        let many = run(&pool, &["DO=threads-many"], b"").expect("it counts them");
        let many: u32 = many.trim().parse().expect("a number");
        eprintln!("cell: p17: {backend}: {many} threads");
        assert!(bound.contains(&many), "{backend}: {many}");
        let ended = run_in(&pool, &["DO=thread-bomb"], b"", JOB_LIMITS, 200);
        let ended = ended.expect_err("it never ends").kind;
        assert_eq!(ended, FailureKind::TimedOut, "{backend}");
        let answer = run(&pool, &["DO=threads"], b"");
        assert_eq!(answer.as_deref(), Ok("800 true true 7 true\n"), "{backend}");
    }
}
