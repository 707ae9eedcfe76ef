use super::*;
use crate::numbers::short;

#[test]
fn the_committed_tables_are_those_of_the_newest_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
    let root = root.expect("the crate is three folders below the checkout");
    let document = fs::read_to_string(root.join(DOCUMENT)).expect("it is committed");
    let records = Records::read(root).expect("they are committed");
    let renewed = renewed(&document, &records).expect("all tables have a place");
    assert!(
        document == renewed,
        "{DOCUMENT} differs from the records: run cargo xtask figures"
    );
}

#[test]
fn versions_are_found_in_what_programs_print() {
    let table = [
        ("nginx version: nginx/1.22.1", Some("1.22.1")),
        ("h2load nghttp2/1.52.0", Some("1.52.0")),
        (
            "wrk debian/4.1.0-3+b2 [epoll] Copyright",
            Some("4.1.0-3+b2"),
        ),
        ("Redis server v=7.0.15 sha=00000000:0", Some("7.0.15")),
        ("Version: 0.11.1 (dav1d [dec]:1.0.0)", Some("0.11.1")),
        ("vips-8.14.1", Some("8.14.1")),
        ("unknown", None),
    ];
    for (printed, version) in table {
        assert_eq!(markdown::version(printed), version, "{printed}");
    }
}

#[test]
fn numbers_have_two_digits_or_more() {
    let table = [
        (0.0243, "0.024"),
        (0.5, "0.50"),
        (7.04, "7.0"),
        (61.7, "62"),
        (1_044_304.0, "1,044,304"),
    ];
    for (number, text) in table {
        assert_eq!(short(number), text);
    }
}
