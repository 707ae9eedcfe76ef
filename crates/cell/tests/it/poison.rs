//! What one job wrote, no later job reads.

use crate::{pool, run};

const ROUNDS: usize = 1_000;

#[test]
fn no_secret_survives_its_job() {
    let pool = pool();
    for round in 0..ROUNDS {
        let hidden = run(&pool, "poison").expect("memory can be written");
        let found = run(&pool, &format!("seek {hidden}"));
        assert_eq!(found.as_deref(), Ok("0"), "round {round}");
    }
    let found = run(&pool, "seek-own").expect("memory can be written");
    let found: u32 = found.parse().expect("it answers with a number");
    assert!(100_000 < found, "the search misses what is there: {found}");
    let stats = pool.stats();
    assert_eq!(stats.finished, 2 * ROUNDS as u64 + 1);
}
