use super::*;

#[test]
fn the_last_line_of_a_test_binary_is_counted() {
    let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.05s";
    assert_eq!(
        result_line(line),
        Some(Count {
            passed: 12,
            failed: 0
        })
    );
    let line = "test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s";
    assert_eq!(
        result_line(line),
        Some(Count {
            passed: 7,
            failed: 2
        })
    );
}

#[test]
fn other_lines_are_not() {
    for line in [
        "running 12 tests",
        "test result: ok",
        "test result: ok. many passed; 0 failed",
        "the test result: ok. 12 passed; 0 failed",
    ] {
        assert_eq!(result_line(line), None, "{line}");
    }
}
