use super::*;

#[test]
fn globs() {
    let rows: &[(&str, &str, bool)] = &[
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("h?llo", "hello", true),
        ("h?llo", "hllo", false),
        ("h*o", "hello", true),
        ("h*o*", "hello world", true),
        ("h*z", "hello", false),
        ("h[ae]llo", "hallo", true),
        ("h[^ae]llo", "hallo", false),
        ("h[a-c]llo", "hbllo", true),
        ("h[c-a]llo", "hbllo", true),
        ("\\*", "*", true),
        ("\\*", "a", false),
        ("[\\]]", "]", true),
        ("[a", "a", true),
        ("a**b", "axxb", true),
        ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ("foo\\", "foo\\", true),
    ];
    for (pattern, text, expected) in rows {
        let found = glob(pattern.as_bytes(), text.as_bytes());
        assert_eq!(found, *expected, "{pattern} on {text}");
    }
}

#[test]
fn keys_are_24_bytes() {
    assert_eq!(size_of::<Key>(), 24);
    for len in [0, 1, 22, 23, 300] {
        let text = vec![b'x'; len];
        assert_eq!(Key::new(&text).bytes(), text);
    }
}
