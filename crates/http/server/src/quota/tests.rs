use std::net::IpAddr;

use super::*;

const SECOND_US: u64 = 1_000_000;

fn at(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn a_bucket_fills_up_within_a_minute() {
    let quotas = Quotas::default();
    let (one, other) = (at("192.0.2.1"), at("192.0.2.2"));
    let begin_us = 7_000 * SECOND_US;
    for _ in 0..3 {
        assert_eq!(quotas.take(one, 3, begin_us), Ok(()));
    }
    // A token comes every twenty seconds.
    assert_eq!(quotas.take(one, 3, begin_us), Err(20));
    assert_eq!(quotas.take(one, 3, begin_us + 19 * SECOND_US + 1), Err(1));
    assert_eq!(quotas.take(other, 3, begin_us), Ok(()));
    let later_us = begin_us + 20 * SECOND_US;
    assert_eq!(quotas.take(one, 3, later_us), Ok(()));
    assert_eq!(quotas.take(one, 3, later_us), Err(20));
    // Refused requests take no token, and the bucket is never more than full.
    let much_later_us = begin_us + 500 * SECOND_US;
    for _ in 0..3 {
        assert_eq!(quotas.take(one, 3, much_later_us), Ok(()));
    }
    assert_eq!(quotas.take(one, 3, much_later_us), Err(20));
}

#[test]
fn the_number_of_buckets_is_limited() {
    let quotas = Quotas::default();
    assert_eq!(quotas.take(at("192.0.2.1"), 1, 0), Ok(()));
    for number in 0..ADDRESSES_MAX.get() as u32 {
        let address = IpAddr::V4(number.into());
        assert_eq!(quotas.take(address, 1, 0), Ok(()));
    }
    assert_eq!(quotas.0.lock().len(), ADDRESSES_MAX.get());
    assert_eq!(quotas.take(at("192.0.2.1"), 1, 0), Ok(()), "it was evicted");
}

/// Returns the address that a request with these fields uses, as text.
fn client(peer: &str, fields: &str) -> Option<String> {
    let text = format!("GET / HTTP/1.1\r\nhost: h\r\n{fields}\r\n");
    let request = http1::parse(text.as_bytes(), &http1::Limits::default());
    let request = request.expect("sound").expect("whole");
    let proxies = ["10.0.0.0/8", "::1"].map(|text| text.parse().expect("a network"));
    client_address(&request, at(peer), &proxies).map(|address| address.to_string())
}

#[test]
fn trusted_proxies_name_their_client() {
    let forwarded = |value: &str| format!("x-forwarded-for: {value}\r\n");
    for (peer, fields, expected) in [
        ("192.0.2.1", String::new(), Some("192.0.2.1")),
        // Only proxies are believed.
        ("192.0.2.1", forwarded("192.0.2.7"), Some("192.0.2.1")),
        ("10.0.0.1", forwarded("192.0.2.7"), Some("192.0.2.7")),
        ("::1", forwarded("192.0.2.7"), Some("192.0.2.7")),
        ("::ffff:10.0.0.1", forwarded("192.0.2.7"), Some("192.0.2.7")),
        // The client chose everything before the address that the first trusted proxy appended.
        (
            "10.0.0.1",
            forwarded("192.0.2.6, 192.0.2.7, 10.0.0.2"),
            Some("192.0.2.7"),
        ),
        (
            "10.0.0.1",
            [forwarded("192.0.2.6"), forwarded("192.0.2.7,10.0.0.2")].concat(),
            Some("192.0.2.7"),
        ),
        ("10.0.0.1", forwarded("192.0.2.7:4711"), Some("192.0.2.7")),
        (
            "10.0.0.1",
            forwarded("[2001:db8::1:2:3:4]:80"),
            Some("2001:db8::"),
        ),
        (
            "10.0.0.1",
            forwarded("2001:db8:0:1:2:3:4:5"),
            Some("2001:db8:0:1::"),
        ),
        (
            "2001:db8:0:1:2:3:4:5",
            String::new(),
            Some("2001:db8:0:1::"),
        ),
        ("10.0.0.1", String::new(), None),
        ("10.0.0.1", forwarded("10.0.0.3"), None),
        ("10.0.0.1", forwarded("192.0.2.7, unknown"), None),
    ] {
        assert_eq!(
            client(peer, &fields).as_deref(),
            expected,
            "{peer} {fields}"
        );
    }
}
