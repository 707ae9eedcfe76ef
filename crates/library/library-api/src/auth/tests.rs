use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::{Expect, expect};

use super::{token_of, user};
use crate::params::Params;
use crate::store::{Key, Secret, State, User, key_hash};

fn check(query: &str, expected: Expect) {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("pelton-auth-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let secret = Secret::open_or_make(&folder.join("key")).expect("a key");
    std::fs::remove_dir_all(&folder).expect("it is ours");
    let mut state = State::default();
    let key = Key {
        hash: key_hash("k".repeat(48).as_str()),
        created_ms: 0,
    };
    let ann = User {
        password: secret.seal("ann", "sesame"),
        keys: [("phone".to_owned(), key)].into(),
        ..User::default()
    };
    state.users.insert("ann".to_owned(), ann);
    let found = user(&Params::parse(query), &state, Some(&secret));
    let found = found.map(str::to_owned);
    expected.assert_eq(&match found {
        Ok(name) => name,
        Err(fault) => format!("{} {}", fault.code as u8, fault.message),
    });
}

#[test]
fn a_token_is_the_documented_one() {
    assert_eq!(
        token_of("sesame", "c19b2d"),
        "26719a1196d2a940705a59634eb18eab"
    );
}

#[test]
fn every_way_in_and_no_other() {
    check("u=ann&p=sesame", expect!["ann"]);
    check("u=ann&p=enc:736573616d65", expect!["ann"]);
    check(
        "u=ann&t=26719a1196d2a940705a59634eb18eab&s=c19b2d",
        expect!["ann"],
    );
    check(
        "u=ann&t=26719A1196D2A940705A59634EB18EAB&s=c19b2d",
        expect!["ann"],
    );
    let key = "k".repeat(48);
    check(&format!("apiKey={key}"), expect!["ann"]);
    check(
        &format!("apiKey={key}&u=ann"),
        expect!["43 the parameter apiKey cannot be combined with u, p, t or s"],
    );
    check(
        "apiKey=other",
        expect!["44 the value of apiKey is not a valid API key"],
    );
    check("u=ann&p=Sesame", expect!["40 wrong user name or password"]);
    check("u=ann&p=", expect!["40 wrong user name or password"]);
    check("u=bob&p=", expect!["40 wrong user name or password"]);
    check(
        "u=ann&t=26719a1196d2a940705a59634eb18eab&s=other",
        expect!["40 wrong user name or password"],
    );
    check(
        "u=ann&t=26719a1196d2a940705a59634eb18eab",
        expect!["10 required parameter s is missing"],
    );
    check(
        "u=ann",
        expect![
            "10 credentials are missing: send the parameter p, the parameters t and s, or apiKey"
        ],
    );
    check("p=sesame", expect!["10 required parameter u is missing"]);
}
