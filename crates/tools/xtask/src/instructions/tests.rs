use expect_test::expect;

use super::{Record, instructions};

#[test]
fn reports_of_cachegrind_are_parsed() {
    let report = "==7== Cachegrind, a cache profiler\n==7== \n==7== I   refs:      7,124,183\n";
    assert_eq!(instructions(report), Some(7_124_183));
    assert_eq!(instructions("==7== no counts"), None);
}

#[test]
fn a_record_survives_its_text() {
    let text = "# rustc 1.95.0\nget\t3036\nset\t3201\n";
    assert_eq!(Record::parse(text).text(), text);
}

#[test]
fn growth_beyond_five_per_cent_is_found() {
    let recorded = Record::parse("# rustc\nget\t1000\nset\t1000\nincr\t1000\ngone\t1000\n");
    let counted = Record::parse("# rustc\nget\t1050\nset\t1051\nincr\t500\nnew\t7\n");
    expect![[r#"
        [
            "new: 7 instructions, but the record has no entry of this name",
            "set: 1051 instructions, 1000 recorded",
            "gone: this operation is recorded, but no longer exists",
        ]
    "#]]
    .assert_debug_eq(&recorded.compare(&counted));
}
