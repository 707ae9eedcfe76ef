//! Sets of processors and versions.

use crate::{Cpus, Release};

#[test]
fn lists_are_parsed_and_written() {
    let rows = [
        ("0-3,8", Some("0-3,8")),
        ("5", Some("5")),
        ("", Some("none")),
        ("0,1,2\n", Some("0-2")),
        ("3-1", None),
        ("0-8192", None),
        ("a", None),
        ("1-", None),
        ("0-4294967295", None),
    ];
    for (text, expected) in rows {
        let written = Cpus::parse_list(text).map(|cpus| cpus.to_string());
        assert_eq!(written.as_deref(), expected, "{text:?}");
    }
}

#[test]
fn masks_are_parsed_and_written() {
    let rows = [
        ("3", Some(("0-1", "3"))),
        ("00000000,00000003", Some(("0-1", "3"))),
        ("1,80000000", Some(("31-32", "1,80000000"))),
        ("0", Some(("none", "0"))),
        ("xyz", None),
        ("", None),
    ];
    for (text, expected) in rows {
        let written = Cpus::parse_mask(text).map(|cpus| (cpus.to_string(), cpus.mask()));
        let written = written
            .as_ref()
            .map(|(list, mask)| (list.as_str(), mask.as_str()));
        assert_eq!(written, expected, "{text:?}");
    }
}

#[test]
fn releases_are_compared_by_number() {
    assert_eq!(Release::parse("6.18.44-fc-v595"), Some(Release(6, 18)));
    assert_eq!(Release::parse("5.9.0"), Some(Release(5, 9)));
    assert_eq!(Release::parse("6"), None);
    assert_eq!(Release::parse("x.y"), None);
    assert!(Release(5, 9) < Release(5, 14));
}
