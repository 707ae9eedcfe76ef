use expect_test::{Expect, expect};

use super::{Hosts, LoginNeed, Origins, Value};
use crate::Raw;

fn check<T: Value>(words: &[&str], expected: Expect) {
    let mut out = String::new();
    for word in words {
        let read = T::read(&Raw::Word(word.into()));
        let shown = read.map_or_else(|wrong| format!("{wrong:?}"), |value| value.show());
        out += &format!("{word}: {shown}\n");
    }
    expected.assert_eq(&out);
}

#[test]
fn a_need_is_one_of_three() {
    check::<LoginNeed>(
        &["off", "music", "all", "yes"],
        expect![[r#"
            off: off
            music: music
            all: all
            yes: Found("\"yes\"")
        "#]],
    );
}

#[test]
fn hosts_are_names_without_ports() {
    check::<Hosts>(
        &[
            "Music.Example.org, *.example.net",
            "*",
            "",
            "[::1]",
            "a b",
            "*x.org",
            "example.org:80",
            "http://example.org",
        ],
        expect![[r#"
            Music.Example.org, *.example.net: music.example.org,*.example.net
            *: *
            : 
            [::1]: [::1]
            a b: Found("\"a b\"")
            *x.org: Found("\"*x.org\"")
            example.org:80: Found("\"example.org:80\"")
            http://example.org: Found("\"http://example.org\"")
        "#]],
    );
}

#[test]
fn origins_have_a_scheme_and_no_path() {
    check::<Origins>(
        &[
            "https://player.example.org,http://localhost:8080",
            "null",
            "*",
            "https://*.example.org",
            "https://example.org/",
            "player.example.org",
        ],
        expect![[r#"
            https://player.example.org,http://localhost:8080: https://player.example.org,http://localhost:8080
            null: Found("\"null\"")
            *: Found("\"*\"")
            https://*.example.org: Found("\"https://*.example.org\"")
            https://example.org/: Found("\"https://example.org/\"")
            player.example.org: Found("\"player.example.org\"")
        "#]],
    );
}
