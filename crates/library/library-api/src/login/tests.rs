use super::from_base64;

#[test]
fn base64_is_that_of_the_rfc() {
    // Test vectors of RFC 4648 §10.
    for (text, bytes) in [
        ("", &b""[..]),
        ("Zg==", b"f"),
        ("Zm8=", b"fo"),
        ("Zm9v", b"foo"),
        ("Zm9vYmFy", b"foobar"),
        ("Zm9vYmE", b"fooba"),
    ] {
        assert_eq!(from_base64(text).as_deref(), Some(bytes), "{text}");
    }
    for text in ["Z", "Zg-_", "Zm9v\n", "Zh==", "Zm9="] {
        assert_eq!(from_base64(text), None, "{text}");
    }
}
