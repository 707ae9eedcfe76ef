use std::net::IpAddr;
use std::sync::Arc;

use super::{Addresses, Network};

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn network(text: &str) -> Network {
    text.parse().expect("a network")
}

#[test]
fn networks_contain_addresses_with_their_prefix() {
    let rows = [
        ("127.0.0.0/8", "127.255.0.1", true),
        ("127.0.0.0/8", "128.0.0.1", false),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "::1", false),
        ("::/0", "2001:db8::1", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false),
        ("::1", "::1", true),
    ];
    for (text, address, is_contained) in rows {
        assert_eq!(
            network(text).contains(ip(address)),
            is_contained,
            "{text} {address}"
        );
    }
}

#[test]
fn invalid_networks_are_refused() {
    let rows = [
        ("", "the text is not an IP address"),
        ("localhost", "the text is not an IP address"),
        ("1.2.3.4/33", "the prefix is longer than the address"),
        ("::/129", "the prefix is longer than the address"),
        (
            "1.2.3.4/",
            "the text after the slash is not a prefix length",
        ),
        (
            "1.2.3.4/-1",
            "the text after the slash is not a prefix length",
        ),
    ];
    for (text, why) in rows {
        assert_eq!(text.parse::<Network>(), Err(why), "{text}");
    }
}

#[test]
fn networks_are_shown_as_they_are_written() {
    for text in ["127.0.0.0/8", "192.0.2.7", "::1", "2001:db8::/32"] {
        assert_eq!(network(text).to_string(), text);
    }
}

#[test]
fn an_address_has_a_limited_number_of_connections() {
    let addresses = Arc::new(Addresses::new(2, vec![network("127.0.0.0/8")]));
    let is_counted = |text| addresses.count(ip(text)).is_ok();
    let slots = [
        addresses.count(ip("192.0.2.1")).expect("the first"),
        addresses.count(ip("192.0.2.1")).expect("the second"),
        addresses
            .count(ip("2001:db8::1"))
            .expect("the first of its /64"),
        addresses
            .count(ip("2001:db8::ffff:2"))
            .expect("the second of its /64"),
    ];
    assert!(!is_counted("192.0.2.1"));
    assert!(
        !is_counted("::ffff:192.0.2.1"),
        "the same host by another name"
    );
    assert!(!is_counted("2001:db8::3"));
    assert!(is_counted("192.0.2.2"));
    assert!(is_counted("2001:db8:0:1::1"));
    for _ in 0..10 {
        assert!(is_counted("127.0.0.1"));
    }
    drop(slots);
    assert!(is_counted("192.0.2.1"));
    assert!(addresses.open.lock().expect("no panic").is_empty());
}
