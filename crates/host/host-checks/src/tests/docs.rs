//! The documentation of the rows, written from the table.

use expect_test::expect_file;

use crate::CHECKS;

#[test]
fn the_documentation_lists_every_row() {
    let mut text = String::from(
        "# Rows of `pelton doctor`\n\n\
         Written by the tests from the table of checks; `cargo xtask test --bless` renews it.\n\
         [doctor.md](doctor.md) explains the report and its terms.\n",
    );
    for check in CHECKS.iter().flat_map(|group| group.iter()) {
        text += &format!(
            "\n## {}\n\nRow about: {}. Class {}.\n\n\
             - Gain: {}.\n- Applies to: {}.\n- Change: {}.\n- Take back: {}.\n- Risk: {}.\n",
            check.id,
            check.title,
            check.class.letter(),
            check.gain,
            check.sizes,
            check.change,
            check.undo,
            check.risk
        );
    }
    expect_file!["../../../../../docs/doctor-rows.md"].assert_eq(&text);
}
