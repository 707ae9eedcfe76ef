use std::net::IpAddr;

use super::{Guard, Try};
use crate::limits::Limits;

fn guard() -> Guard {
    Guard::new(&Limits {
        failures_max: 3,
        failures_wait_s: 60,
        failures_kept: 2,
        ..Limits::default()
    })
}

fn of(address: &str, name: &'static str) -> Try<'static> {
    Try {
        address: address.parse::<IpAddr>().expect("an address"),
        name,
        is_user: true,
    }
}

#[test]
fn clients_that_fail_too_often_wait_and_others_do_not() {
    let (guard, here) = (guard(), |name| of("192.0.2.1", name));
    for second in 0..3 {
        assert_eq!(guard.wait_s(&here("ann"), second * 1000), None);
        guard.note(&here("ann"), false, second * 1000);
    }
    assert_eq!(guard.wait_s(&here("ann"), 2_500), Some(60));
    assert_eq!(guard.wait_s(&here("bob"), 2_500), None);
    assert_eq!(guard.wait_s(&of("192.0.2.2", "ann"), 2_500), None);
    // An IPv4 address and its mapped IPv6 form share one counter.
    assert_eq!(
        guard.wait_s(&of("::ffff:192.0.2.1", "ann"), 61_001),
        Some(1)
    );
    assert_eq!(guard.wait_s(&here("ann"), 62_000), None);
    guard.note(&here("ann"), false, 62_000);
    assert_eq!(guard.wait_s(&here("ann"), 62_000), None, "counted anew");
}

#[test]
fn a_network_is_one_guesser_and_who_gets_in_is_forgiven() {
    let guard = guard();
    for host in ["2001:db8::1", "2001:db8::2", "2001:db8::3:4"] {
        guard.note(&of(host, "ann"), false, 0);
    }
    assert_eq!(guard.wait_s(&of("2001:db8::9", "ann"), 0), Some(60));
    assert_eq!(guard.wait_s(&of("2001:db8:0:1::9", "ann"), 0), None);
    guard.note(&of("2001:db8::9", "ann"), true, 0);
    assert_eq!(guard.wait_s(&of("2001:db8::9", "ann"), 0), None);
}

#[test]
fn what_is_remembered_is_bounded() {
    let guard = guard();
    for (number, name) in ["ann", "bob", "cid"].iter().enumerate() {
        (0..3).for_each(|_| guard.note(&of("192.0.2.1", name), false, number as i64));
    }
    let waits = ["ann", "bob", "cid"].map(|name| guard.wait_s(&of("192.0.2.1", name), 10));
    assert_eq!(waits, [None, Some(60), Some(60)]);
}

#[test]
fn invented_names_do_not_push_out_the_count_for_a_user() {
    let (guard, ann) = (guard(), of("192.0.2.1", "ann"));
    (0..3).for_each(|_| guard.note(&ann, false, 0));
    for number in 0..10 {
        let name = format!("invented {number}");
        let invented = Try {
            name: &name,
            is_user: false,
            ..ann
        };
        (0..3).for_each(|_| guard.note(&invented, false, 1));
        assert_eq!(guard.wait_s(&invented, 1), Some(60));
    }
    assert_eq!(guard.wait_s(&ann, 1), Some(60));
}
