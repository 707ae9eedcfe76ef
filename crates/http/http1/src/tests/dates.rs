use crate::date::{format, parse};
use proptest::prelude::*;
use std::time::{Duration, UNIX_EPOCH};

fn text(unix_s: i64) -> String {
    String::from_utf8(format(unix_s).to_vec()).expect("ASCII")
}

#[test]
fn dates_are_written_in_the_preferred_form() {
    let table = [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
        (i64::MIN, "Sat, 01 Jan 0000 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ];
    for (unix_s, expected) in table {
        assert_eq!(text(unix_s), expected);
    }
}

#[test]
fn dates_are_read_in_three_forms_and_no_other() {
    let table: [(&[u8], Option<i64>); 43] = [
        (b"Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
        (b"Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
        (b"Sun Nov  6 08:49:37 1994", Some(784_111_777)),
        (b"Wed Nov 16 08:49:37 1994", Some(784_975_777)),
        (b"Tuesday, 29-Feb-00 00:00:00 GMT", Some(951_782_400)),
        (b"Saturday, 01-Jan-00 00:00:00 GMT", Some(946_684_800)),
        (b"Monday, 01-Jan-00 00:00:00 GMT", Some(-2_208_988_800)),
        (b"Sat, 31 Dec 2016 23:59:60 GMT", Some(1_483_228_800)),
        (b"Wed, 31 Dec 1969 23:59:59 GMT", Some(-1)),
        (b"", None),
        (b"Mon, 06 Nov 1994 08:49:37 GMT", None),
        (b"Monday, 06-Nov-94 08:49:37 GMT", None),
        (b"Mon Nov  6 08:49:37 1994", None),
        (b"sun, 06 Nov 1994 08:49:37 GMT", None),
        (b"Sunday, 06 Nov 1994 08:49:37 GMT", None),
        (b"Sun, 06-Nov-94 08:49:37 GMT", None),
        (b"Sun, 06 Nov 94 08:49:37 GMT", None),
        (b"Sun, 6 Nov 1994 08:49:37 GMT", None),
        (b"Sun, 06 nov 1994 08:49:37 GMT", None),
        (b"Sun, 06 Nov 1994 8:49:37 GMT", None),
        (b"Sun, 06 Nov 1994 08:49 GMT", None),
        (b"Sun, 06 Nov 1994 08:49:37", None),
        (b"Sun, 06 Nov 1994 08:49:37 gmt", None),
        (b"Sun, 06 Nov 1994 08:49:37 UTC", None),
        (b"Sun, 06 Nov 1994 08:49:37 +0000", None),
        (b"Sun, 06 Nov 1994 08:49:37 GMT ", None),
        (b"Sun, 06 Nov 1994 08:49:37 GMT; length=1", None),
        (b"Sun, 06 Nov 1994  08:49:37 GMT", None),
        (b"Sun,06 Nov 1994 08:49:37 GMT", None),
        (b"Sun, 06 Nov 1994 24:00:00 GMT", None),
        (b"Sun, 06 Nov 1994 08:60:00 GMT", None),
        (b"Sun, 06 Nov 1994 08:49:61 GMT", None),
        (b"Fri, 30 Feb 2001 00:00:00 GMT", None),
        (b"Thu, 29 Feb 2001 00:00:00 GMT", None),
        (b"Wed, 00 Nov 1994 00:00:00 GMT", None),
        (b"Sun Nov 06 08:49:37 94", None),
        (b"Sun Nov   6 8:49:37 1994", None),
        (b"Sun Nov +6 08:49:37 1994", None),
        (b"Sunday, 06-Nov-94 08:49:37 UTC", None),
        (b"Sunday, 06-Nov-94 08:49:37 GMT 1", None),
        (b"Sunday, 06-Nov-94-1 08:49:37 GMT", None),
        (b"1994-11-06T08:49:37Z", None),
        (b"784111777", None),
    ];
    for (value, expected) in table {
        assert_eq!(parse(value), expected, "{}", value.escape_ascii());
    }
}

proptest! {
    #[test]
    fn formatted_dates_can_be_parsed(unix_s in -62_167_219_200_i64..=253_402_300_799) {
        prop_assert_eq!(parse(&format(unix_s)), Some(unix_s));
    }

    #[test]
    fn dates_are_written_as_httpdate_writes_them(unix_s in 0_u64..=253_402_300_799) {
        let oracle = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_s));
        prop_assert_eq!(text(unix_s as i64), oracle);
    }

    #[test]
    fn no_bytes_reach_a_panic(value in "(Sun|Sunday)?(, | )?[0-9]{0,2}[ -]?(Nov)?[ -]?.{0,24}") {
        let read = parse(value.as_bytes());
        let oracle = httpdate::parse_http_date(&value).ok();
        if let Some(unix_s) = read.filter(|&unix_s| 0 <= unix_s) {
            let time = UNIX_EPOCH + Duration::from_secs(unix_s as u64);
            prop_assert!(oracle.is_none_or(|oracle| oracle == time), "{value}");
        }
    }
}
