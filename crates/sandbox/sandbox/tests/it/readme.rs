//! Tests that the example in README.md has the same text as the example program, and that the
//! program works.

use std::process::Command;

#[test]
fn the_example_of_the_readme_is_the_program_and_works() {
    let readme = include_str!("../../README.md");
    let example = include_str!("../../examples/count_lines.rs");
    assert!(readme.contains(&format!("```rust\n{example}```\n")));

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/count_lines.rs");
    let output = Command::new(env!("CARGO_BIN_EXE_count_lines"))
        .arg(path)
        .output()
        .expect("the example was built");
    assert!(output.status.success(), "{output:?}");
    let expected = format!("{} lines\n", example.lines().count());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
