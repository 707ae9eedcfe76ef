use std::time::Duration;

use expect_test::expect;
use proptest::prelude::*;

use super::{Bytes, OptionalDuration, Raw, Timeout, Value};

#[test]
fn sizes() {
    let cases = [
        ("0", Some(0)),
        ("1024", Some(1024)),
        ("1B", Some(1)),
        ("4GiB", Some(4 << 30)),
        ("4 GiB", Some(4 << 30)),
        ("4gib", Some(4 << 30)),
        ("64MB", Some(64_000_000)),
        ("1kB", Some(1000)),
        ("1TB", Some(1_000_000_000_000)),
        ("16777215TiB", Some(16_777_215 << 40)),
        ("16777216TiB", None),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("4G", None),
        ("1.5GiB", None),
        ("-1", None),
        ("GiB", None),
        ("", None),
        ("4GiB!", None),
        ("٤GiB", None),
    ];
    for (text, bytes) in cases {
        let read = Bytes::read(&Raw::Word(text.into())).ok();
        assert_eq!(read, bytes.map(Bytes), "{text}");
    }
    let shown = [
        0,
        1,
        1024,
        1536,
        1 << 20,
        (1 << 30) + (1 << 20),
        1_000_000,
        3 << 40,
    ];
    let shown = shown.map(|bytes| Bytes(bytes).show()).join(" ");
    expect!["0 1 1KiB 1536 1MiB 1025MiB 1000000 3TiB"].assert_eq(&shown);
}

#[test]
fn times() {
    let cases = [
        ("8s", Some(8_000)),
        ("500ms", Some(500)),
        ("2min", Some(120_000)),
        ("1 h", Some(3_600_000)),
        ("1d", Some(86_400_000)),
        ("86400s", Some(86_400_000)),
        ("86401s", None),
        ("0s", None),
        ("8", None),
        ("8m", None),
        ("-8s", None),
        ("1.5s", None),
        ("s", None),
        ("99999999999999999999s", None),
        ("18446744073709551615d", None),
    ];
    for (text, ms) in cases {
        let read = Timeout::read(&Raw::Word(text.into())).ok();
        assert_eq!(read.map(|time| time.0.as_millis()), ms, "{text}");
    }
    let shown = [0, 1, 60, 90, 3600, 86_400, 31_536_000];
    let shown = shown.map(|seconds| OptionalDuration::seconds(seconds).show());
    expect!["0s 1s 1min 90s 1h 1d 365d"].assert_eq(&shown.join(" "));
}

proptest! {
    #[test]
    fn what_is_shown_is_read_back(bytes: u64, shift in 0..64_u32, ms in 1..=86_400_000_u64) {
        // The shifts produce multiples of large units, so that every unit is displayed in some
        // case.
        let bytes = Bytes((bytes >> shift) << (shift / 2));
        prop_assert_eq!(Bytes::read(&Raw::Word(bytes.show().into())), Ok(bytes));
        let time = Timeout(Duration::from_millis(ms));
        prop_assert_eq!(Timeout::read(&Raw::Text(time.show())), Ok(time));
    }
}
