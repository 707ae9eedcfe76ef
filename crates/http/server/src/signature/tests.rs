use super::*;

/// Key with a salt. Python's `hmac` computed the signatures of these tests.
const SALTED: &str = "000102030405060708090a0b0c0d0e0f:5a";
const PLAIN: &str = "ffffffffffffffffffffffffffffffffffffffff";
/// Signature of `/a.jpg?w=480` by [`SALTED`].
const OF_480: &str = "f6e939da11eff16e9c8096e4ed7162c4cc40842f2926357adf7d26fefe03b0de";
/// Signature of `/a.jpg?w=480` by [`PLAIN`].
const PLAIN_OF_480: &str = "d4f5ece0da58e853377518923e8caf0ab977127692734af6b562bad6d719cc9e";
/// Signature of `/%C3%A4%20b.jpg?expires=2000&h=1&w=480` by [`SALTED`].
const UNTIL_2000: &str = "b4e0c5fea36962602eeb52dd1a1d588397e79afb4596de89b9c86c935d2e23b2";

fn key(text: &str) -> SignatureKey {
    SignatureKey::parse(text).expect("a sound key")
}

#[test]
fn signatures_are_those_of_another_implementation() {
    let salted = key(SALTED);
    let of_path = "d0a1fadde49c61681eab5dc6e0a2d67946f533b0a2275159ea10a544368f89a5";
    assert_eq!(salted.sign("/a.jpg", ""), of_path);
    assert_eq!(salted.sign("/a.jpg", "w=480"), OF_480);
    assert_eq!(key(PLAIN).sign("/a.jpg", "w=480"), PLAIN_OF_480);
    for query in ["w=480&expires=2000&h=1", "&h=1&&w=480&sig=00&expires=2000"] {
        assert_eq!(salted.sign("/%C3%A4%20b.jpg", query), UNTIL_2000);
    }
}

#[test]
fn keys() {
    let fault = |text: &str| SignatureKey::parse(text).err();
    assert_eq!(fault(&"00".repeat(16)), None);
    assert_eq!(fault(&format!("{}:", "aB".repeat(16))), None);
    assert_eq!(fault(&"00".repeat(15)), Some(KeyError::TooShort));
    assert_eq!(fault(""), Some(KeyError::TooShort));
    for text in [
        format!("0{}", "00".repeat(16)),
        "zz".repeat(16),
        format!("{}:0", "00".repeat(16)),
    ] {
        assert_eq!(fault(&text), Some(KeyError::NotHexadecimal), "{text}");
    }
}

#[test]
fn queries_are_verified() {
    use SignatureError::{Expired, Malformed, Wrong};
    let keys = [key(PLAIN), key(SALTED)];
    let check = |path: &str, query: &str, now_unix_s| verify(&keys, path, query, now_unix_s);
    let until_2000 = format!("w=480&expires=2000&sig={UNTIL_2000}&h=1");
    let repeated = Malformed("sig and expires: each must be given only once");
    let not_a_time = Malformed("expires: must be a Unix time in seconds");
    for (path, query, now_unix_s, expected) in [
        ("/a.jpg", "w=480".to_owned(), 0, Ok(None)),
        ("/a.jpg", "w=480&expires=1".to_owned(), 9, Ok(None)),
        (
            "/a.jpg",
            format!("w=480&sig={OF_480}"),
            9,
            Ok(Some(u64::MAX)),
        ),
        (
            "/a.jpg",
            format!("sig={}&w=480", OF_480.to_uppercase()),
            9,
            Ok(Some(u64::MAX)),
        ),
        (
            "/a.jpg",
            format!("w=480&sig={PLAIN_OF_480}"),
            9,
            Ok(Some(u64::MAX)),
        ),
        (
            "/%C3%A4%20b.jpg",
            until_2000.clone(),
            1_999,
            Ok(Some(2_000)),
        ),
        ("/%C3%A4%20b.jpg", until_2000.clone(), 2_000, Err(Expired)),
        ("/%c3%a4%20b.jpg", until_2000.clone(), 0, Err(Wrong)),
        (
            "/%C3%A4%20b.jpg",
            until_2000.replace("2000", "3000"),
            0,
            Err(Wrong),
        ),
        ("/a.jpg", format!("w=481&sig={OF_480}"), 0, Err(Wrong)),
        ("/a.jpg", format!("w=480&x=1&sig={OF_480}"), 0, Err(Wrong)),
        ("/b.jpg", format!("w=480&sig={OF_480}"), 0, Err(Wrong)),
        (
            "/a.jpg",
            format!("w=480&sig={}", &OF_480[..62]),
            0,
            Err(Wrong),
        ),
        ("/a.jpg", format!("w=480&sig={OF_480}00"), 0, Err(Wrong)),
        ("/a.jpg", "w=480&sig=".to_owned(), 0, Err(Wrong)),
        (
            "/a.jpg",
            format!("w=480&sig={OF_480}&sig={OF_480}"),
            0,
            Err(repeated),
        ),
        (
            "/a.jpg",
            "expires=1&expires=1&sig=0".to_owned(),
            0,
            Err(repeated),
        ),
        ("/a.jpg", "expires=+1&sig=0".to_owned(), 0, Err(not_a_time)),
        ("/a.jpg", "expires=&sig=0".to_owned(), 0, Err(not_a_time)),
        (
            "/a.jpg",
            "expires=99999999999999999999&sig=0".to_owned(),
            0,
            Err(not_a_time),
        ),
    ] {
        assert_eq!(check(path, &query, now_unix_s), expected, "{path}?{query}");
    }
}

#[test]
fn the_parameters_of_a_signature_are_separated() {
    for (query, rest) in [
        ("w=1", "w=1"),
        ("", ""),
        ("sig=1", ""),
        ("a=1&sig=2&b=3&expires=4&c", "a=1&b=3&c"),
    ] {
        let parsed = SignedQuery::parse(query).expect("nothing is repeated");
        assert_eq!(parsed.rest, rest);
    }
}
