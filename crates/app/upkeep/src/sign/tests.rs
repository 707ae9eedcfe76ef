use server::signature::SignatureKey;

use super::{Parts, until, verdict};

const KEY: &str = "000102030405060708090a0b0c0d0e0f:5a";

fn key() -> SignatureKey {
    SignatureKey::parse(KEY).expect("a sound key")
}

/// Returns the URL signed with [`KEY`], cut off before the signature.
fn signed(url: &str, until_unix_s: Option<u64>) -> String {
    match Parts::parse(url) {
        Ok(parts) => {
            let signed = parts.signed(&key(), until_unix_s);
            let (url, signature) = signed.split_once("sig=").expect("it is signed");
            assert_eq!(signature.len(), 64);
            format!("{url}sig=")
        }
        Err(err) => err.to_string(),
    }
}

#[test]
fn urls_are_escaped_as_browsers_send_them() {
    for (url, until_unix_s, expected) in [
        ("/a.jpg", None, "/a.jpg?sig="),
        ("/a.jpg?w=480", Some(9), "/a.jpg?w=480&expires=9&sig="),
        ("/a.jpg?w=480&&h=2#x", None, "/a.jpg?w=480&h=2&sig="),
        (
            "/a.jpg?sig=1&expires=2&w=3",
            None,
            "/a.jpg?expires=2&w=3&sig=",
        ),
        (
            "/a.jpg?sig=1&expires=2&w=3",
            Some(4),
            "/a.jpg?w=3&expires=4&sig=",
        ),
        (
            "https://h:8/ä b.jpg?x='",
            None,
            "https://h:8/%C3%A4%20b.jpg?x=%27&sig=",
        ),
        ("/%7e^(1).jpg", None, "/%7e%5E(1).jpg?sig="),
        ("/a.jpg?r=x://y/z", None, "/a.jpg?r=x://y/z&sig="),
    ] {
        assert_eq!(signed(url, until_unix_s), expected);
    }
    for url in [
        "a.jpg?w=1",
        "https://example.org",
        "https://h?w=1",
        "",
        "?w=1",
    ] {
        assert!(signed(url, None).contains("neither a URL"), "{url}");
    }
}

#[test]
fn signed_urls_are_valid_and_changed_ones_are_not() {
    let now_unix_s = 1_000;
    let check = |url: &str| {
        let parts = Parts::parse(url).expect("a path");
        match verdict(&parts, &[key()], now_unix_s) {
            Ok(line) => line,
            Err(err) => err.to_string().lines().next().expect("a line").to_owned(),
        }
    };
    let sign = |url: &str, until_unix_s| {
        let parts = Parts::parse(url).expect("a path");
        parts.signed(&key(), until_unix_s)
    };
    let plain = sign("/a b.jpg?w=480", None);
    assert_eq!(check(&plain), "the signature is valid and does not expire");
    let limited = sign("/a.jpg?w=480", Some(1_060));
    let line = "the signature is valid until the Unix time 1060, for another 60 s";
    assert_eq!(check(&limited), line);
    let expired = sign("/a.jpg?w=480", Some(1_000));
    assert!(check(&expired).contains("has expired"));
    let changed = limited.replace("expires=1060", "expires=2060");
    assert!(check(&changed).contains("the signature does not match any of the keys"));
    assert!(check("/a.jpg?w=480").contains("has no signature"));
}

#[test]
fn times_of_expiry() {
    assert_eq!(until("1h", 1_000).ok(), Some(4_600));
    assert_eq!(until("30d", 0).ok(), Some(2_592_000));
    assert_eq!(until("1ms", 7).ok(), Some(8));
    for text in ["", "0s", "5", "soon"] {
        assert!(until(text, 0).is_err(), "{text}");
    }
}
