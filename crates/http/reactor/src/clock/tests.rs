use expect_test::{Expect, expect};

use super::{Clock, UNIX_SECS_MAX};

fn check(unix_secs: u64, expected: Expect) {
    let clock = Clock::new(0, 0);
    clock.set(0, unix_secs);
    expected.assert_eq(str::from_utf8(&clock.http_date()).expect("the date is ASCII"));
}

#[test]
fn renders_imf_fixdates() {
    check(0, expect!["Thu, 01 Jan 1970 00:00:00 GMT"]);
    check(784_111_777, expect!["Sun, 06 Nov 1994 08:49:37 GMT"]);
    check(951_782_400, expect!["Tue, 29 Feb 2000 00:00:00 GMT"]);
    check(UNIX_SECS_MAX, expect!["Fri, 31 Dec 9999 23:59:59 GMT"]);
    check(u64::MAX, expect!["Fri, 31 Dec 9999 23:59:59 GMT"]);
}

#[test]
fn follows_a_system_clock_that_is_set_back() {
    let clock = Clock::new(0, 784_111_777);
    clock.set(500, 784_111_776);
    assert_eq!(clock.now_ms(), 500);
    assert_eq!(clock.unix_secs(), 784_111_776);
    assert_eq!(&clock.http_date(), b"Sun, 06 Nov 1994 08:49:36 GMT");
}
