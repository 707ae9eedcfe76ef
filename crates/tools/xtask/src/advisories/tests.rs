use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};

use super::{Package, findings, ignored, parse_document, parse_list, parse_lock};

const DOCUMENT: &str = r#"```toml
[advisory]
id = "RUSTSEC-2000-0001"
package = "leaky"
date = "2000-01-02"

[versions]
patched = ["^1.2.4", ">= 2.0.1"]
unaffected = ["< 1.1.0"]
```

# Buffers leak into answers

The title is followed by prose.
"#;

/// Checks the findings, one per line, for a list that contains only the advisory in `document`. The
/// lock file has the advisory's package in each of `versions`, and `deny` is the text of
/// `deny.toml`.
fn check(document: &str, versions: &[&str], deny: &str, expect: Expect) {
    let advisory = parse_document(document).expect("a document");
    let list = format!("# copy of a day\n{}\n", advisory.expect("not withdrawn"));
    let (head, list) = parse_list(&list).expect("a list");
    assert_eq!(head, "copy of a day");
    let packages: BTreeSet<_> = versions
        .iter()
        .map(|version| Package {
            name: "leaky".to_owned(),
            version: version.parse().expect("a version"),
        })
        .collect();
    let ignored = ignored(deny).expect("a deny.toml");
    let mut found = String::new();
    for (package, advisory) in findings(&list, &packages, &ignored) {
        let fails = if advisory.is_failure() {
            "fails"
        } else {
            "warns"
        };
        found += &format!("{fails} {} {}\n", package.version, advisory.title);
    }
    expect.assert_eq(&found);
}

#[test]
fn versions_neither_patched_nor_unaffected_are_found() {
    check(
        DOCUMENT,
        &["1.0.9", "1.1.0", "1.2.3+c.9", "1.2.4", "2.0.0", "2.0.1"],
        "",
        expect![[r#"
            fails 1.1.0 Buffers leak into answers
            fails 1.2.3+c.9 Buffers leak into answers
            fails 2.0.0 Buffers leak into answers
        "#]],
    );
}

#[test]
fn crates_without_a_maintainer_are_named_but_do_not_fail() {
    let document = DOCUMENT.replace("date =", "informational = \"unmaintained\"\ndate =");
    check(
        &document,
        &["1.1.0"],
        "",
        expect![[r#"
            warns 1.1.0 Buffers leak into answers
        "#]],
    );
}

#[test]
fn an_advisory_that_deny_toml_accepts_is_not_found() {
    let deny = r#"
        [advisories]
        ignore = [{ id = "RUSTSEC-2000-0001", reason = "the buffer is never sent" }]
    "#;
    check(DOCUMENT, &["1.1.0"], deny, expect![""]);
}

#[test]
fn withdrawn_advisories_are_left_out() {
    let document = DOCUMENT.replace("date =", "withdrawn = \"2001-01-01\"\ndate =");
    assert_eq!(parse_document(&document), Ok(None));
}

#[test]
fn broken_lists_and_documents_are_errors() {
    assert!(parse_list("# head\nRUSTSEC-2000-0001\tleaky\n").is_err());
    assert!(parse_list("RUSTSEC-2000-0001\tleaky\tvulnerability\t\t\tno head\n").is_err());
    assert_eq!(
        parse_document("# prose"),
        Err("the advisory does not begin with a block of TOML".to_owned())
    );
}

#[test]
fn the_copy_in_the_tree_is_whole_and_the_lock_file_readable() {
    let (head, list) = parse_list(include_str!("list.tsv")).expect("the list");
    assert!(head.starts_with("RustSec advisory-db 20"), "{head}");
    let rapid_reset = list.iter().find(|one| one.id == "RUSTSEC-2024-0332");
    let packages = parse_lock(include_str!("../../../../../Cargo.lock")).expect("the lock file");
    let h2 = packages.iter().find(|package| package.name == "h2");
    let (rapid_reset, h2) = (rapid_reset.expect("listed"), h2.expect("locked"));
    assert_eq!(rapid_reset.package, "h2");
    assert!(!rapid_reset.concerns(h2));
    let old = Package {
        version: "0.4.3".parse().expect("a version"),
        ..h2.clone()
    };
    let found = BTreeSet::from([old]);
    assert!(!findings(&list, &found, &BTreeMap::new()).is_empty());
}
