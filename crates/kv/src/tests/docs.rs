//! The list of commands in the documentation is the command table.

use std::fmt::Write;

use expect_test::expect_file;

#[test]
fn commands_are_documented() {
    let mut text = "# Commands of the store\n\nWritten by the tests from the command table; `cargo xtask test --bless` renews it.\n".to_owned();
    let mut rows: Vec<_> = keyspace::commands().iter().collect();
    rows.sort_by_key(|row| (row.group.name(), row.name));
    let mut group = "";
    for row in rows {
        if row.group.name() != group {
            group = row.group.name();
            write!(
                text,
                "\n## {group}\n\n| command | what it does | since | cost |\n|---|---|---|---|\n"
            )
            .expect("a string takes everything");
        }
        let name = row.name.replace('|', " ").to_uppercase();
        writeln!(
            text,
            "| {name} | {} | {} | {} |",
            row.summary, row.since, row.complexity
        )
        .expect("a string takes everything");
    }
    expect_file!["../../../../docs/store-commands.md"].assert_eq(&text);
}
