use std::fmt::Write as _;

use expect_test::{Expect, expect};
use image_plan::parse_query;

use super::*;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn key() -> SignatureKey {
    SignatureKey::parse(KEY).expect("a sound key")
}

/// Rules with a key and a preset, which permit the width 200, and the height 240 without a
/// signature.
fn rules() -> Permissions {
    Permissions {
        keys: vec![key()],
        require_signature: true,
        recipes: RecipeRules {
            presets: [("thumb".to_owned(), "w=96".to_owned())].into(),
            widths_px: vec![200],
            exempt: vec![parse_query("h=240").expect("a sound query").recipe],
            ..RecipeRules::default()
        },
        ..Permissions::default()
    }
}

/// Compares the verdicts on requests for `/a.jpg` with `expect`. In the queries, `SIGN` at the end
/// stands for the correct signature.
fn check(rules: &Permissions, grammar: Grammar, queries: &str, expect: Expect) {
    let mut table = String::new();
    for line in queries.split_whitespace() {
        let query = match line.strip_suffix("SIGN") {
            Some(query) => {
                let unsigned = query.trim_end_matches('&');
                let signature = key().sign("/a.jpg", unsigned);
                format!("{query}sig={signature}")
            }
            None => line.to_owned(),
        };
        let parsed = rules.parse(&query, grammar);
        let verdict = rules.judge("/a.jpg", &query, &parsed, (grammar, 1_000));
        let verdict = match verdict {
            Ok(permit) => {
                let until = match permit.until_unix_s {
                    u64::MAX => "ever".to_owned(),
                    until => until.to_string(),
                };
                let recipe = parsed.meaning.expect("it was judged").recipe;
                format!("[{recipe}] until {until}, exempt: {}", permit.is_exempt)
            }
            Err(problem) => format!("{} {problem:?}", problem.status()),
        };
        writeln!(table, "{line} -> {verdict}").expect("writing to a string cannot fail");
    }
    expect.assert_eq(&table);
}

#[test]
fn signatures_and_recipes_are_judged() {
    check(
        &rules(),
        Grammar::Strict,
        "w=200 w=200&SIGN w=201&SIGN expires=2000&w=200&SIGN expires=1000&w=200&SIGN
         expires=500 format=auto format=auto&SIGN h=240 h=240&sig=00 p=thumb p=thumb&SIGN
         p=other&SIGN sig=1&sig=2 expires=x&w=200&SIGN meta=full SIGN w=0&SIGN",
        expect![[r#"
            w=200 -> 403 Denied { denial: Unsigned, detail: None }
            w=200&SIGN -> [w=200] until ever, exempt: false
            w=201&SIGN -> 403 Denied { denial: Recipe(Width), detail: Some("the width 201 is not permitted; the permitted widths are 200") }
            expires=2000&w=200&SIGN -> [w=200] until 2000, exempt: false
            expires=1000&w=200&SIGN -> 403 Denied { denial: Expired, detail: None }
            expires=500 -> [] until ever, exempt: false
            format=auto -> [] until ever, exempt: false
            format=auto&SIGN -> [] until ever, exempt: false
            h=240 -> [h=240] until ever, exempt: true
            h=240&sig=00 -> 403 Denied { denial: WrongSignature, detail: None }
            p=thumb -> 403 Denied { denial: Unsigned, detail: None }
            p=thumb&SIGN -> [w=96] until ever, exempt: false
            p=other&SIGN -> 400 BadParameter("p: there is no such preset")
            sig=1&sig=2 -> 400 BadParameter("sig and expires: each must be given only once")
            expires=x&w=200&SIGN -> 400 BadParameter("expires: must be a Unix time in seconds")
            meta=full -> [] until ever, exempt: false
            SIGN -> [] until ever, exempt: false
            w=0&SIGN -> 400 BadParameter("w: must be a whole number from 1 to 16384")
        "#]],
    );
}

#[test]
fn without_keys_and_presets_their_parameters_are_unknown() {
    let none = Permissions::default();
    assert!(none.is_open());
    check(
        &none,
        Grammar::Pelton,
        "w=201&sig=00&expires=1&p=thumb sig=1&sig=2",
        expect![[r#"
            w=201&sig=00&expires=1&p=thumb -> [w=201] until ever, exempt: false
            sig=1&sig=2 -> [] until ever, exempt: false
        "#]],
    );
    let problem = none.parse("sig=1", Grammar::Strict).meaning;
    assert!(
        problem
            .expect_err("it is unknown")
            .starts_with("sig: unknown parameter")
    );
}

#[test]
fn signed_queries_distinguish_responses_as_a_whole() {
    let (with, without) = (rules(), Permissions::default());
    let with = with.relevance(Grammar::Pelton);
    let without = without.relevance(Grammar::Pelton);
    assert!(with.is_signed("a=1&sig=2"));
    assert!(!with.is_signed("a=1&expires=2&signature=3"));
    assert!(!without.is_signed("a=1&sig=2"));
    for (pair, is_relevant, is_relevant_without) in [
        ("w=1", true, true),
        ("preset=a", true, false),
        ("p=a", true, false),
        ("expires=1", false, false),
        ("utm=1", false, false),
    ] {
        assert_eq!(with.is_relevant(pair), is_relevant, "{pair}");
        assert_eq!(without.is_relevant(pair), is_relevant_without, "{pair}");
    }
}

/// Returns whether a page is foreign to rules that permit `example.org` and `*.example.net`.
fn is_foreign(fields: &str, allows_empty_referrer: bool) -> bool {
    let text = format!("GET /a.jpg HTTP/1.1\r\nhost: photos.local:3333\r\n{fields}\r\n");
    let request = http1::parse(text.as_bytes(), &http1::Limits::default());
    let request = request.expect("sound").expect("whole");
    let referrers = ["example.org", "*.example.net"].map(str::to_owned);
    let rules = Permissions {
        referrers: referrers.into(),
        allows_empty_referrer,
        ..Permissions::default()
    };
    rules.is_foreign(&request)
}

#[test]
fn referring_pages() {
    for (fields, expected) in [
        ("referer: https://example.org/page?a=b\r\n", false),
        ("referer: http://EXAMPLE.org:8080\r\n", false),
        ("referer: https://example.org./\r\n", false),
        ("referer: https://a.b.example.net/\r\n", false),
        ("referer: http://photos.local:3333/-/\r\n", false),
        ("sec-fetch-site: same-origin\r\n", false),
        (
            "sec-fetch-site: same-origin\r\nreferer: https://other.org/\r\n",
            false,
        ),
        ("referer: https://example.net/\r\n", true),
        ("referer: http://photos.local:3334/-/\r\n", true),
        ("referer: https://evil.org/example.org\r\n", true),
        ("referer: https://example.org.evil.org/\r\n", true),
        ("referer: https://example.org@evil.org/\r\n", true),
        ("referer: https://evil.org?@example.org/\r\n", true),
        (
            "referer: https://evilexample.org/\r\nsec-fetch-site: cross-site\r\n",
            true,
        ),
        ("sec-fetch-site: cross-site\r\n", true),
    ] {
        for allows_empty_referrer in [false, true] {
            assert_eq!(
                is_foreign(fields, allows_empty_referrer),
                expected,
                "{fields}"
            );
        }
    }
    for fields in [
        "",
        "referer: \r\n",
        "referer: about:blank\r\n",
        "referer: https:///\r\n",
    ] {
        assert!(is_foreign(fields, false), "{fields}");
        assert!(!is_foreign(fields, true), "{fields}");
    }
}
