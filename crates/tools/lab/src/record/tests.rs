use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::scratch::Scratch;

#[test]
fn dates_are_those_of_the_calendar() {
    let table = [
        (0, "1970-01-01T00:00Z"),
        (951_782_400, "2000-02-29T00:00Z"),
        (951_868_799, "2000-02-29T23:59Z"),
        (951_868_800, "2000-03-01T00:00Z"),
        (1_798_761_599, "2026-12-31T23:59Z"),
    ];
    for (seconds, expected) in table {
        assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
    }
}

#[test]
fn two_of_one_minute_are_both_kept() {
    let folder = Scratch::new("records").unwrap();
    let record = Record::begin("http", &toml::Table::new(), &[], &[]);
    for _ in 0..3 {
        record.write(folder.path()).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
