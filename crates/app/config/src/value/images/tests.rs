use expect_test::expect;

use super::super::{Raw, Value};
use super::{Operations, PermittedFormats, PermittedSides, Presets, SignatureKeys};

/// Returns the displayed value of each word, or the reason why it is refused.
fn shown<T: Value>(words: &[&str]) -> String {
    let lines = words
        .iter()
        .map(|word| match T::read(&Raw::Word(word.into())) {
            Err(wrong) => format!("{word}: {wrong:?}\n"),
            Ok(value) => format!("{word}: {}\n", value.show()),
        });
    lines.collect()
}

#[test]
fn words() {
    let sides = shown::<PermittedSides>(&["", "240, 480", "0", "16385", "+1", "a"]);
    expect![[r#"
        : 
        240, 480: 240,480
        0: Found("\"0\"")
        16385: Found("\"16385\"")
        +1: Found("\"+1\"")
        a: Found("\"a\"")
    "#]]
    .assert_eq(&sides);
    let formats = shown::<PermittedFormats>(&["jpg,jpeg,webp", "auto", "gif"]);
    expect![[r#"
        jpg,jpeg,webp: jpeg,jpeg,webp
        auto: Found("\"auto\"")
        gif: Found("\"gif\"")
    "#]]
    .assert_eq(&formats);
    let operations = shown::<Operations>(&["w,meta", "wide", "preset"]);
    expect![[r#"
        w,meta: w,meta
        wide: Found("\"wide\"")
        preset: Found("\"preset\"")
    "#]]
    .assert_eq(&operations);
    let presets = shown::<Presets>(&["b=w=1|a=h=2&q=3", "plain=", "a", "a=w=0", "a=w=1|a=w=2"]);
    expect![[r#"
        b=w=1|a=h=2&q=3: a=h=2&q=3|b=w=1
        plain=: plain=
        a: Found("\"a\"")
        a=w=0: Because("a: w: must be a whole number from 1 to 16384")
        a=w=1|a=w=2: Because("a: the same name is given more than once")
    "#]]
    .assert_eq(&presets);
}

#[test]
fn messages_do_not_repeat_keys() {
    let sound = "00112233445566778899aabbccddeeff";
    for (words, message) in [
        (
            "secret",
            "key 1: a key has the form KEY or KEY:SALT, in hexadecimal digits",
        ),
        (
            &*format!("{sound},aabb"),
            "key 2: a key has at least 32 hexadecimal digits",
        ),
    ] {
        let refused = SignatureKeys::read(&Raw::Word(words.into()));
        assert_eq!(refused, Err(super::Wrong::Because(message.to_owned())));
    }
    let refused = SignatureKeys::read(&Raw::Integer(5));
    assert_eq!(
        refused,
        Err(super::Wrong::Because("key 1: not text".to_owned()))
    );
}
