//! Tests for builds in which the wipe of a cell's memory after a job does nothing (`--features
//! fault`): the checks that the memory was wiped must detect this fault.

use crate::kvm::microvms;
use crate::poison::one_cell;
use crate::run;

/// Promise N2 of `docs/SPEC.md`: if a microVM is not wiped between jobs, test values in its memory
/// (canaries) reveal this within a few hundred jobs. The microVM is then replaced, and jobs still
/// run.
#[test]
fn n2_canaries_tell_of_wipes_that_forget() {
    // On average, one of 64 wipes checks a canary. With this many jobs, the probability that no
    // wipe checks a canary is negligible.
    const JOBS: u32 = 5_000;
    let Some(pool) = microvms(one_cell(true)) else {
        return;
    };
    let noticed = (0..JOBS).find(|_| {
        run(&pool, "echo").expect("an honest job");
        pool.stats().wipe_leaks != 0
    });
    assert!(noticed.is_some(), "{:?}", pool.stats());
    crate::assert_works(&pool);
    eprintln!("cell: proved: a canary detected an incomplete wipe after {noticed:?} jobs");
}

/// Promise P1 of `docs/SPEC.md`: no secret survives its job. Other tests search for a secret after
/// a wipe, and must not find it. This test, in a build without wipes, proves that the same search
/// can find the secret.
#[test]
fn p1_the_search_finds_what_a_wipe_forgets() {
    let Some(pool) = microvms(one_cell(true)) else {
        return;
    };
    let hidden = run(&pool, "poison").expect("memory can be written");
    let found = run(&pool, &format!("seek {hidden}")).expect("memory can be read");
    let found: u32 = found.parse().expect("it answers with a number");
    assert!(1_000 < found, "{found}");
}
