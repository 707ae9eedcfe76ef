//! Tests that a later job cannot read anything that an earlier job wrote, in both backends.

use crate::kvm::microvms;
use crate::{run, start};
use sandbox::{Limits, Pool};

/// Environment variable with the number of rounds. `cargo xtask conform cells` sets it to a higher
/// number than `cargo test` uses.
const ROUNDS_NAME: &str = "CELL_IT_ROUNDS";
const ROUNDS: u32 = 300;
const ROUNDS_KVM: u32 = 100;

pub(crate) fn rounds(usual: u32) -> u32 {
    std::env::var(ROUNDS_NAME).map_or(usual, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Returns limits with a long wall time: on a busy machine, one job in ten thousand takes seconds,
/// and the test would fail with a shorter limit.
fn long_wall_time() -> Limits {
    Limits {
        max_request_time_ms: 60_000,
        ..Limits::default()
    }
}

/// Checks promise P1 of `docs/SPEC.md`. In each round, a job writes a secret to heap, stack,
/// statics, thread-locals, mappings, answer and environment, and the next job must not find the
/// secret.
fn assert_nothing_left(pool: &Pool, rounds: u32) {
    for round in 0..rounds {
        let hidden = run(pool, "poison").expect("memory can be written");
        let found = run(pool, &format!("seek {hidden}"));
        assert_eq!(found.as_deref(), Ok("0"), "round {round}");
    }
    let found = run(pool, "seek-own").expect("memory can be written");
    let found: u32 = found.parse().expect("it answers with a number");
    assert!(100_000 < found, "the search misses what is there: {found}");
    let stats = pool.stats();
    assert_eq!(stats.finished, 2 * u64::from(rounds) + 1);
    // On average, one wipe in 64 checked a test value (canary), and no canary survived its wipe
    // (promise N2 of `docs/SPEC.md`).
    assert_eq!(stats.wipe_leaks, 0);
    eprintln!(
        "cell: proved: {}: {rounds} jobs left nothing in memory",
        pool.posture().backend
    );
}

/// Checks promise N3 of `docs/SPEC.md`: vector, mask and x87 registers and MXCSR are wiped. The
/// registers are written and read by jobs.
fn assert_registers_wiped(pool: &Pool, rounds: u32) {
    for round in 0..rounds {
        run(pool, "poison-registers").expect("registers can be written");
        let found = run(pool, "seek-registers");
        assert_eq!(found.as_deref(), Ok("0 0 0 0"), "round {round}");
    }
    eprintln!(
        "cell: proved: {}: {rounds} jobs left nothing in registers",
        pool.posture().backend
    );
}

#[test]
fn p1_no_secret_survives_its_job() {
    assert_nothing_left(&start(long_wall_time()), rounds(ROUNDS));
}

#[test]
fn p1_no_secret_survives_its_job_in_a_microvm() {
    if let Some(pool) = microvms(long_wall_time()) {
        assert_nothing_left(&pool, rounds(ROUNDS_KVM));
    }
}

#[test]
fn n3_no_register_survives_its_job() {
    assert_registers_wiped(&start(long_wall_time()), rounds(ROUNDS));
}

#[test]
fn n3_no_register_survives_its_job_in_a_microvm() {
    if let Some(pool) = microvms(one_cell(true)) {
        assert_registers_wiped(&pool, rounds(ROUNDS_KVM));
    }
}

/// Proof that the search for a secret in registers can find it: without a wipe, the next job in the
/// same microVM reads the registers of the previous job.
#[test]
fn n3_without_a_wipe_registers_do_survive() {
    let Some(pool) = microvms(one_cell(false)) else {
        return;
    };
    let wide = run(&pool, "poison-registers").expect("registers can be written");
    let found = run(&pool, "seek-registers").expect("registers can be read");
    let found: Vec<u32> = found
        .split(' ')
        .map(|found| found.parse().expect("numbers"))
        .collect();
    // Code that runs between two jobs overwrites some of the vector registers, but none of the
    // other registers.
    match wide.as_str() {
        "512" => assert!(16 * 8 <= found[0] && 6 <= found[1], "{found:?}"),
        _ => assert!(8 <= found[0], "{found:?}"),
    }
    assert_eq!(found[2..], [8, 1], "{found:?}");
}

/// Promise P1 of `docs/SPEC.md`: a program keeps its memory between jobs if the operator chooses
/// this by a setting.
#[test]
fn p1_ephemeral_false_keeps_memory_in_both_backends() {
    let mut pools = vec![start(one_cell(false))];
    pools.extend(microvms(one_cell(false)));
    for pool in pools {
        assert!(!pool.posture().ephemeral);
        let hidden = run(&pool, "poison").expect("memory can be written");
        let found = run(&pool, &format!("seek {hidden}")).expect("memory can be read");
        let found: u32 = found.parse().expect("it answers with a number");
        assert!(1_000 < found, "{}: {found}", pool.posture().backend);
        assert_eq!(pool.stats().wipes, 0);
    }
}

pub(crate) fn one_cell(ephemeral: bool) -> Limits {
    Limits {
        concurrency: 1,
        spare: 0,
        ephemeral,
        ..long_wall_time()
    }
}
