//! URLs in the grammar of imgproxy: signatures, options, sources, and the statuses that clients of
//! imgproxy expect.

use std::fs;
use std::process::Output;

use serde_json::Value;
use server::imgproxy::Imgproxy;
use server::signature::SignatureKey;

use crate::harness::{Home, Response, Server, media, pelton};

/// Key and salt of imgproxy's documentation: "secret" and "hello".
const KEYS: &str = "keys = [\"736563726574\"]\nsalts = [\"68656C6C6F\"]\n";

/// Starts a server that reads imgproxy URLs below `/imgproxy`, with `text` as its further settings
/// of imgproxy.
fn server(home: &Home, text: &str) -> Server {
    let text = format!("[imgproxy]\nprefix = \"/imgproxy/\"\n{text}");
    fs::write(home.directory().join("pelton.toml"), text).expect("the home can be written");
    Server::plain(home, &[])
}

/// Returns the signed URL with `rest` after the signature.
fn signed(rest: &str) -> String {
    let imgproxy = Imgproxy {
        prefix: "/imgproxy".to_owned(),
        keys: vec![SignatureKey::new(b"secret", b"hello")],
        signature_bytes: 32,
        trusted_signatures: Vec::new(),
        rules: image_plan::imgproxy::ImgproxyRules::default(),
    };
    let signed = imgproxy.sign(&format!("/imgproxy/_/{rest}"));
    signed.expect("the path is below the prefix")
}

/// Returns the detail of a problem document, or its title if it has no detail.
fn problem(response: &Response) -> String {
    assert_eq!(response.content_type(), "application/problem+json");
    let document: Value = serde_json::from_str(response.text()).expect("JSON");
    let text = document.get("detail").unwrap_or(&document["title"]);
    text.as_str().expect("a text").to_owned()
}

#[test]
fn both_spellings_of_a_recipe_are_one_variant() {
    let home = Home::with(&[("dir/a b.jpg", &media::photo(96, 64, 1))]);
    let server = server(&home, "");
    let by_query = server.get("/dir/a%20b.jpg?w=48&h=32&fit=cover&q=60&format=webp");
    assert_eq!(by_query.status, 200);
    assert_eq!(by_query.content_type(), "image/webp");
    let jobs = server.metrics().jobs();
    for url in [
        "/imgproxy/_/rs:fill:48:32/q:60/plain/local:///dir/a%20b.jpg@webp",
        "/imgproxy/_/rs:fill:48:32/q:60/plain/local:///dir/a%20b.jpg@webp",
        "/imgproxy/insecure/q:60/f:webp/h:32/w:48/rt:fill/plain/local:/dir/a%20b.jpg?w=5",
        "/imgproxy/_/rs:fill:24:16/dpr:2/q:60/cb:7/bG9jYWw6Ly8vZGly/L2EgYi5qcGc.webp",
    ] {
        let response = server.get(url);
        assert_eq!(response.status, 200, "{url}: {}", response.text());
        assert_eq!(response.body, by_query.body, "{url}");
        assert_eq!(response.field("etag"), by_query.field("etag"), "{url}");
    }
    assert_eq!(server.metrics().jobs(), jobs);
}

#[test]
fn statuses() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let server = server(&home, "presets = { small = \"s:10\" }\n");
    for (rest, status, detail) in [
        ("w:5/plain/local:///a.jpg", 200, ""),
        ("pr:small/plain/local:///a.jpg@png", 200, ""),
        (
            "wm:1/plain/local:///a.jpg",
            400,
            "wm: watermarks are not supported",
        ),
        (
            "w:x/plain/local:///a.jpg",
            400,
            "w: must be whole numbers from 0 to 16384",
        ),
        (
            "pr:large/plain/local:///a.jpg",
            400,
            "preset: there is no such preset",
        ),
        ("w:5", 404, "the URL has no source"),
        ("w:5/plain/local:///b.jpg", 404, "no such picture"),
        ("w:5/plain/local:///../a.jpg", 404, "no such picture"),
        ("exp:1000/plain/local:///a.jpg", 404, "the URL has expired"),
        (
            "w:5/plain/http://example.com/a.jpg",
            422,
            "the source is not local:///PATH; remote sources are not supported yet",
        ),
    ] {
        let response = server.get(&format!("/imgproxy/_/{rest}"));
        assert_eq!(response.status, status, "{rest}: {}", response.text());
        if status != 200 {
            assert_eq!(problem(&response), detail, "{rest}");
        }
    }
    let expired = "pelton_denied_requests_total{reason=\"expired\"}";
    assert_eq!(server.metrics().get(expired), 1);
    assert_eq!(server.get("/a.jpg").status, 200);
    assert_eq!(server.get("/imgproxy2/_/plain/local:///a.jpg").status, 404);
}

#[test]
fn signatures_of_imgproxy() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let server = server(&home, &format!("{KEYS}trusted_signatures = [\"friend\"]\n"));
    let good = signed("w:40/plain/local:///a.jpg@webp");
    let later = signed("w:41/exp:99999999999/plain/local:///a.jpg@webp");
    // The signature is right, so the response says what is wrong with the options.
    let published = "/imgproxy/oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8/rs:fill:300:400:0/g:sm/\
                     aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png";
    let merged = good.replace("local:///", "local:/");
    let rows: [(&str, u16); 6] = [
        (&good, 200),
        (&good, 200),
        (&merged, 200),
        (&later, 200),
        ("/imgproxy/friend/w:42/plain/local:///a.jpg@webp", 200),
        (published, 422),
    ];
    for (url, status) in rows {
        let response = server.get(url);
        assert_eq!(response.status, status, "{url}: {}", response.text());
    }
    let before = server.metrics().jobs();
    let (wider, other) = (good.replace("w:40", "w:43"), good.replace("@webp", ""));
    let wrong: [&str; 5] = [
        &wider,
        &other,
        "/imgproxy/insecure/w:43/plain/local:///a.jpg",
        "/imgproxy/insecure/nonsense:1/plain/local:///a.jpg",
        "/imgproxy/insecure",
    ];
    for url in wrong {
        let response = server.get(url);
        assert_eq!(response.status, 403, "{url}");
        let title = "the signature does not match the URL";
        assert_eq!(problem(&response), title, "{url}");
    }
    assert_eq!(server.metrics().jobs(), before);
    let wrong = "pelton_denied_requests_total{reason=\"signature\"}";
    assert_eq!(server.metrics().get(wrong), 5);
}

#[test]
fn originals_and_downloads() {
    let picture = media::photo(96, 64, 1);
    let home = Home::with(&[("dir/a.jpg", &picture)]);
    let server = server(&home, "");
    let disposition = |url: &str| {
        let response = server.get(url);
        assert_eq!(response.status, 200, "{url}: {}", response.text());
        response.field("content-disposition").map(str::to_owned)
    };
    for rest in [
        "w:9/raw:1/plain/local:///dir/a.jpg@webp",
        "w:9/skp:png:jpg/plain/local:///dir/a.jpg",
    ] {
        let response = server.get(&format!("/imgproxy/_/{rest}"));
        assert_eq!(response.content_type(), "image/jpeg", "{rest}");
        assert_eq!(response.body, picture, "{rest}");
    }
    let converted = server.get("/imgproxy/_/skp:jpg/plain/local:///dir/a.jpg@png");
    assert_eq!(converted.content_type(), "image/png");
    let download = "/imgproxy/_/att:1/w:9/plain/local:///dir/a.jpg@webp";
    let named = "/imgproxy/_/fn:my%20cat/w:9/plain/local:///dir/a.jpg@webp";
    // The second response is a ready one.
    for _ in 0..2 {
        let expected = "attachment; filename*=UTF-8''a.webp";
        assert_eq!(disposition(download).as_deref(), Some(expected));
        let expected = "inline; filename*=UTF-8''my%20cat.webp";
        assert_eq!(disposition(named).as_deref(), Some(expected));
    }
    assert_eq!(
        disposition("/imgproxy/_/w:9/plain/local:///dir/a.jpg@webp"),
        None
    );
}

#[test]
fn the_rules_for_recipes_apply() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let text = "\n[images]\nallowed_widths = [40]\nrequire_signature = true\n\
                signature_keys = [\"000102030405060708090a0b0c0d0e0f\"]\n";
    let open = server(&home, text);
    assert_eq!(
        open.get("/imgproxy/_/w:40/plain/local:///a.jpg").status,
        403
    );
    drop(open);
    let keyed = server(&home, &format!("{KEYS}{text}"));
    assert_eq!(keyed.get(&signed("w:40/plain/local:///a.jpg")).status, 200);
    let wider = keyed.get(&signed("w:41/plain/local:///a.jpg"));
    assert_eq!(wider.status, 403);
    let detail = "the width 41 is not permitted; the permitted widths are 40";
    assert_eq!(problem(&wider), detail);
}

#[test]
fn sign_makes_signatures_of_imgproxy() {
    let home = Home::new();
    let text = format!("[imgproxy]\nprefix = \"/imgproxy\"\n{KEYS}");
    fs::write(home.directory().join("pelton.toml"), text).expect("the home can be written");
    let sign = |words: &[&str]| {
        let mut command = pelton(&home, ["sign"]);
        let Output { status, stdout, .. } = command.args(words).output().expect("it starts");
        let text = String::from_utf8(stdout).expect("text");
        (status.code(), text.trim_end().to_owned())
    };
    let rest = "w:40/plain/local:///a.jpg@webp";
    let url = format!("https://example.org/imgproxy/_/{rest}");
    let expected = format!("https://example.org{}", signed(rest));
    assert_eq!(sign(&[&url]), (Some(0), expected.clone()));
    let valid = "valid, without expiry".to_owned();
    assert_eq!(sign(&[&expected, "--check"]), (Some(0), valid));
    assert_eq!(sign(&[&url, "--check"]), (Some(1), String::new()));
    let expired = signed("exp:1000/plain/local:///a.jpg");
    assert_eq!(sign(&[&expired, "--check"]), (Some(1), String::new()));
    assert_eq!(sign(&[&url, "--expires", "1h"]), (Some(2), String::new()));
}

#[test]
fn variables_of_imgproxy() {
    let home = Home::new();
    let mut command = pelton(&home, ["check"]);
    command.envs([
        ("IMGPROXY_KEY", "736563726574"),
        ("IMGPROXY_SALT", "68656C6C6F"),
        ("IMGPROXY_PATH_PREFIX", "/pictures"),
    ]);
    let Output { stdout, .. } = command.output().expect("the program starts");
    let table = String::from_utf8(stdout).expect("text");
    let rows = table
        .lines()
        .filter(|line| line.starts_with("imgproxy."))
        .take(3);
    let rows: Vec<_> = rows
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "imgproxy.prefix /pictures path or off IMGPROXY_PATH_PREFIX",
            "imgproxy.keys (secret) keys IMGPROXY_KEY",
            "imgproxy.salts (secret) salts IMGPROXY_SALT",
        ]
    );
}
