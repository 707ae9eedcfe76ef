//! Tables of facts with the expected judgement of one row.

mod docs;
mod host;
mod interfaces;
mod server;
mod sets;
mod text;

use expect_test::Expect;

use crate::{Fact, Facts, Release, Standing, judge};

/// Creates a fact whose text is not compared.
fn known<T>(value: T) -> Fact<T> {
    Fact::known("source", "text", value)
}

/// Returns facts of which only the kernel's version is known.
fn kernel(major: u32, minor: u32) -> Facts {
    let mut facts = Facts::default();
    facts.kernel.release = known(Release(major, minor));
    facts
}

/// Compares the judgement of the row `id` with `expected`: outcome, state, number of pieces of
/// evidence, and the exact command, if any.
fn check(id: &str, facts: &Facts, expected: Expect) {
    let report = judge(facts);
    let row = report.0.iter().find(|row| row.check.id == id);
    let judgement = &row.expect("the table has the row").judgement;
    let mut line = format!(
        "{}: {} ({} pieces of evidence)",
        judgement.standing.name(),
        judgement.state,
        judgement.evidence.len()
    );
    if let Some(change) = &judgement.change {
        line += &format!(" > {change}");
    }
    expected.assert_eq(&line);
}

#[test]
fn without_facts_every_row_is_unknown() {
    let report = judge(&Facts::default());
    let other = report
        .0
        .iter()
        .filter(|row| row.judgement.standing != Standing::Unknown);
    assert_eq!(
        other.map(|row| row.check.id).collect::<Vec<_>>(),
        Vec::<&str>::new()
    );
    assert!(!report.has_findings());
}

#[test]
fn the_worst_rows_come_first() {
    let mut facts = kernel(6, 18);
    facts.network.listen_overflows = known(1);
    facts.network.listen_drops = known(1);
    facts.network.migrate_requests = known(0);
    let report = judge(&facts);
    let order = report.0.iter().map(|row| row.judgement.standing);
    let order: Vec<Standing> = order.collect();
    assert!(order.is_sorted());
    assert_eq!(
        (order[0], report.0[0].check.id),
        (Standing::Problem, "tcp.overflows")
    );
    assert_eq!(
        (order[1], report.0[1].check.id),
        (Standing::Gain, "tcp.migrate")
    );
    assert!(report.has_findings());
}

#[test]
fn identifiers_are_unique_and_texts_are_complete() {
    let report = judge(&Facts::default());
    let mut ids: Vec<&str> = report.0.iter().map(|row| row.check.id).collect();
    assert_eq!(ids.len(), 43);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 43);
    for row in &report.0 {
        let check = row.check;
        let texts = [
            check.title,
            check.gain,
            check.sizes,
            check.risk,
            check.change,
            check.undo,
        ];
        assert!(
            texts
                .iter()
                .all(|text| !text.is_empty() && !text.ends_with('.')),
            "{}",
            check.id
        );
    }
}
