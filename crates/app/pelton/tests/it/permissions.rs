//! Rules of the operator for requests that change pictures: signatures, presets, lists of permitted
//! values, referring pages, and conversions per client address. A refused request starts no
//! conversion, is counted by its reason, and gets a problem document.

use std::fs;
use std::process::Output;

use rustix::process::Signal;
use serde_json::Value;
use server::signature::SignatureKey;

use crate::harness::{Home, Metrics, Response, Server, eventually, media, pelton, signal};
use crate::players::{ANN, ask, user};

/// A sine tone of half a second.
const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const OLD_KEY: &str = "ffffffffffffffffffffffffffffffff:5a17";
const OTHER_KEY: &str = "0000000000000000000000000000000000";

/// Runs `pelton sign` with these words, and returns the exit code, and stdout and stderr.
fn sign(home: &Home, words: &[&str]) -> (i32, String, String) {
    let mut command = pelton(home, ["sign"]);
    let Output {
        status,
        stdout,
        stderr,
    } = command.args(words).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes text");
    let code = status.code().expect("the program was not killed");
    (code, text(stdout).trim_end().to_owned(), text(stderr))
}

/// Returns `target` signed by `key`.
fn signed(home: &Home, key: &str, target: &str, words: &[&str]) -> String {
    let words = [&[target, "--key", key], words].concat();
    let (code, target, stderr) = sign(home, &words);
    assert_eq!((code, &*stderr), (0, ""));
    target
}

/// Starts a server with `text` as its configuration file.
fn configured(home: &Home, text: &str) -> Server {
    fs::write(home.directory().join("pelton.toml"), text).expect("the home can be written");
    Server::plain(home, &[])
}

/// Returns the number of requests that were refused for `reason`.
fn denied(server: &Server, reason: &str) -> u64 {
    let name = format!("pelton_denied_requests_total{{reason=\"{reason}\"}}");
    server.metrics().get(&name)
}

/// Checks that `response` is a problem document with this status, and returns its title and its
/// detail.
fn problem(response: &Response, status: u16) -> (String, String) {
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(response.content_type(), "application/problem+json");
    assert_eq!(response.field("cache-control"), Some("no-store"));
    let document: Value = serde_json::from_str(response.text()).expect("JSON");
    assert_eq!(document["status"], status);
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    (text("title"), text("detail"))
}

/// Requests each target, and checks that the responses have these statuses, that each refusal is
/// counted for its reason, and that refused requests start no conversion.
fn check(server: &Server, rows: &[(&str, u16, &str)]) {
    for (target, status, reason) in rows {
        let before = server.metrics();
        let response = server.get(target);
        assert_eq!(response.status, *status, "{target}: {}", response.text());
        let after = server.metrics();
        let refused = |metrics: &Metrics| metrics.sum("pelton_denied_requests_total");
        let refusals = refused(&after) - refused(&before);
        assert_eq!(refusals, u64::from(!reason.is_empty()), "{target}");
        if *status != 200 {
            problem(&response, *status);
            assert_eq!(after.jobs(), before.jobs(), "{target}");
        }
        if !reason.is_empty() {
            assert!(0 < denied(server, reason), "{target}: {reason}");
        }
    }
}

#[test]
fn signatures() {
    let home = Home::with(&[
        ("a b.jpg", &media::photo(96, 64, 1)),
        ("b.jpg", &media::photo(96, 64, 2)),
    ]);
    let keys = home.directory().join("keys");
    fs::write(&keys, format!("# the old key\n{OLD_KEY}\n")).expect("the home can be written");
    let text = format!(
        "[images]\nrequire_signature = true\nsignature_keys = [\"{KEY}\"]\nsignature_key_file = {:?}\n",
        keys.display()
    );
    let server = configured(&home, &text);
    let by_key = signed(&home, KEY, "/a b.jpg?w=40", &[]);
    let by_old_key = signed(&home, OLD_KEY, "/a%20b.jpg?w=41", &["--expires", "1h"]);
    let by_other_key = signed(&home, OTHER_KEY, "/a%20b.jpg?w=42", &[]);
    let of_original = signed(&home, KEY, "/b.jpg", &[]);
    assert!(by_key.starts_with("/a%20b.jpg?w=40&sig="), "{by_key}");
    let (parameters, signature) = by_key.split_once("&sig=").expect("it is signed");
    let for_b = format!("/b.jpg?w=40&sig={signature}");
    let wider = by_key.replace("w=40", "w=43");
    let more = format!("{by_key}&q=50");
    let longer = by_old_key.replace("expires=1", "expires=2");
    let reordered = format!("/a%20b.jpg?sig={signature}&w=40");
    // `pelton sign` makes no signature that has expired.
    let key = SignatureKey::parse(KEY).expect("a sound key");
    let signature = key.sign("/a%20b.jpg", "w=44&expires=1000");
    let expired = format!("/a%20b.jpg?w=44&expires=1000&sig={signature}");
    check(
        &server,
        &[
            ("/b.jpg", 200, ""),
            (&of_original, 200, ""),
            ("/b.jpg?format=auto&other=1", 200, ""),
            ("/b.jpg?w=40", 403, "unsigned"),
            ("/b.jpg?w=40&expires=99999999999", 403, "unsigned"),
            (&by_key, 200, ""),
            (&reordered, 200, ""),
            (&by_old_key, 200, ""),
            (&by_other_key, 403, "signature"),
            (&for_b, 403, "signature"),
            (&wider, 403, "signature"),
            (&more, 403, "signature"),
            (&longer, 403, "signature"),
            (parameters, 403, "unsigned"),
            (&expired, 403, "expired"),
            ("/b.jpg?w=40&sig=", 403, "signature"),
            ("/b.jpg?w=40&sig=1&sig=2", 400, ""),
            ("/b.jpg?w=40&expires=soon&sig=1", 400, ""),
            ("/missing.jpg?w=40", 403, "unsigned"),
            ("/b.jpg?w=240", 403, "unsigned"),
            ("/b.jpg?h=240", 200, ""),
        ],
    );
    let (title, detail) = problem(&server.get(&expired), 403);
    assert_eq!(title, "the signature of the URL has expired");
    assert_eq!(detail, "");
    // The first refusal for each reason is logged; the others of this minute are only counted.
    const MESSAGE: &str = "request refused by a rule of the operator";
    let line = server.event("INFO", MESSAGE);
    assert_eq!([&line["reason"], &line["path"]], ["expired", "/a%20b.jpg"]);
    assert_eq!(
        [&line["client"], &line["count"]],
        [&Value::from("127.0.0.1"), &1.into()]
    );
    assert_eq!(server.logged("INFO", MESSAGE), 3);
    // The response to a signed request is ready for the same request, and for no other.
    let hit = server.get(&by_key);
    assert_eq!(hit.field("cache-status"), Some("Pelton; hit"));
    assert_eq!(server.get(parameters).status, 403);
    assert_eq!(server.get(&more).status, 403);
    server.stop();
}

#[test]
fn a_signed_url_works_until_it_expires() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let flags = [
        "--images-signature-keys",
        KEY,
        "--images-require-signature",
        "true",
    ];
    let server = Server::plain(&home, &flags);
    let target = signed(&home, KEY, "/a.jpg?w=40", &["--expires", "3s"]);
    let first = server.get(&target);
    let age_s = |response: &Response| {
        assert_eq!(response.status, 200, "{}", response.text());
        let value = response.field("cache-control").expect("the field");
        let age = value.strip_prefix("public, max-age=").expect("an age");
        age.parse::<u64>().expect("a number")
    };
    assert!(age_s(&first) <= 3, "caches drop the response in time");
    let hit = server.get(&target);
    assert_eq!(hit.field("cache-status"), Some("Pelton; hit"));
    assert!(age_s(&hit) <= 3);
    let unlimited = signed(&home, KEY, "/a.jpg?w=40", &[]);
    assert_eq!(age_s(&server.get(&unlimited)), 86_400);
    // The response is still ready when it expires.
    eventually("the URL expires", || {
        let response = server.get(&target);
        (response.status != 200).then(|| problem(&response, 403))
    });
    assert!(0 < denied(&server, "expired"));
    assert_eq!(server.metrics().jobs(), 1);
    server.stop();
}

#[test]
fn keys_are_replaced_while_requests_are_served() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let keys =
        |listed: &str| format!("[images]\nrequire_signature = true\nsignature_keys = [{listed}]\n");
    let server = configured(&home, &keys(&format!("\"{OLD_KEY}\"")));
    let (old, new) = (
        signed(&home, OLD_KEY, "/a.jpg?w=40", &[]),
        signed(&home, KEY, "/a.jpg?w=40", &[]),
    );
    let statuses = || [&old, &new].map(|target| server.get(target).status);
    assert_eq!(statuses(), [200, 403]);
    for (reloads, listed, expected) in [
        (1, format!("\"{KEY}\", \"{OLD_KEY}\""), [200, 200]),
        (2, format!("\"{KEY}\""), [403, 200]),
    ] {
        let file = home.directory().join("pelton.toml");
        fs::write(file, keys(&listed)).expect("the home can be written");
        signal(server.pid(), Signal::HUP);
        eventually("it is reloaded", || {
            (server.logged("INFO", "configuration reloaded") == reloads).then_some(())
        });
        assert_eq!(statuses(), expected);
    }
    // Neither the log nor the table of `pelton check` contains a key.
    assert!(!server.has_logged(KEY) && !server.has_logged(OLD_KEY));
    let checked = pelton(&home, ["check"])
        .output()
        .expect("the program starts");
    let table = String::from_utf8(checked.stdout).expect("text");
    assert!(
        table.contains("(secret)") && !table.contains(KEY),
        "{table}"
    );
    server.stop();
}

#[test]
fn presets_and_lists() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let lists = "allowed_widths = [40, 80]\nallowed_heights = [30]\nallowed_formats = [\"webp\"]\n\
                 allowed_qualities = [60]\nallowed_operations = [\"w\", \"h\", \"fit\", \"q\", \"format\", \"dpr\"]\n\
                 [images.presets]\nthumb = \"w=33&h=33&fit=cover&format=png\"\nwide = \"w=90\"\n";
    let server = configured(&home, &format!("[images]\n{lists}"));
    check(
        &server,
        &[
            ("/a.jpg", 200, ""),
            ("/a.jpg?w=40", 200, ""),
            ("/a.jpg?w=40&dpr=2", 200, ""),
            ("/a.jpg?w=40&dpr=1.5", 403, "width"),
            ("/a.jpg?w=41", 403, "width"),
            ("/a.jpg?h=31", 403, "height"),
            ("/a.jpg?w=40&q=61", 403, "quality"),
            ("/a.jpg?w=40&q=60&format=webp", 200, ""),
            ("/a.jpg?format=avif", 403, "format"),
            ("/a.jpg?rotate=90", 403, "operation"),
            ("/a.jpg?%72otate=90", 403, "operation"),
            ("/a.jpg?meta=full", 403, "operation"),
            ("/a.jpg?width=40", 403, "operation"),
            ("/a.jpg?preset=thumb", 200, ""),
            ("/a.jpg?p=thumb", 200, ""),
            ("/a.jpg?p=wide&w=80", 200, ""),
            ("/a.jpg?p=wide&q=60", 403, "width"),
            ("/a.jpg?p=other", 400, ""),
            ("/a.jpg?p=thumb&p=thumb", 400, ""),
            // Sizes of Pelton's own page.
            ("/a.jpg?h=240", 200, ""),
            ("/a.jpg?w=480&h=360&fit=cover", 200, ""),
        ],
    );
    let (title, detail) = problem(&server.get("/a.jpg?w=41"), 403);
    assert_eq!(
        title,
        "the operator does not permit this change of the picture"
    );
    assert_eq!(
        detail,
        "the width 41 is not permitted; the permitted widths are 40, 80"
    );
    let thumb = server.get("/a.jpg?p=thumb");
    assert_eq!(
        (thumb.content_type(), thumb.size()),
        ("image/png", (33, 33))
    );
    assert_eq!(thumb.body, server.get("/a.jpg?preset=thumb").body);
    assert_eq!(server.get("/a.jpg?p=wide&w=80").size(), (80, 53));
    server.stop();
    let server = configured(&home, &format!("[images]\npresets_only = true\n{lists}"));
    check(
        &server,
        &[
            ("/a.jpg?w=40", 403, "presets_only"),
            ("/a.jpg?p=wide&w=80", 403, "presets_only"),
            ("/a.jpg?p=wide&other=1", 200, ""),
            ("/a.jpg?h=480", 200, ""),
        ],
    );
    server.stop();
}

#[test]
fn pages_of_other_hosts_show_no_pictures() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1)), ("t.txt", b"text")]);
    let flags = [
        "--images-allowed-referrers",
        "example.org",
        "--allowed-types",
        "txt",
    ];
    let server = Server::plain(&home, &flags);
    let status = |target: &str, referrer: &str| {
        server
            .send("GET", target, &format!("referer: {referrer}\r\n"))
            .status
    };
    for target in ["/a.jpg", "/a.jpg?w=40"] {
        let jobs = server.metrics().jobs();
        assert_eq!(status(target, "https://evil.org/"), 403);
        assert_eq!(server.metrics().jobs(), jobs, "{target}");
        assert_eq!(status(target, "https://example.org/page"), 200);
        assert_eq!(
            status(target, "http://pelton/-/"),
            200,
            "a page of the server itself"
        );
        assert_eq!(server.get(target).status, 200);
        // The response is ready now, and still not for every page.
        assert_eq!(status(target, "https://evil.org/"), 403);
    }
    assert_eq!(denied(&server, "referrer"), 4);
    assert_eq!(
        status("/t.txt", "https://evil.org/"),
        200,
        "only pictures are meant"
    );
    server.stop();
    let flags = [&flags[..], &["--images-empty-referrer", "false"]].concat();
    let server = Server::plain(&home, &flags);
    assert_eq!(server.get("/a.jpg").status, 403);
    assert_eq!(
        server
            .send("GET", "/a.jpg", "sec-fetch-site: same-origin\r\n")
            .status,
        200
    );
    assert_eq!(server.get("/a.jpg").status, 403);
    server.stop();
}

#[test]
fn an_address_has_a_quota_of_conversions() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--limits-address-conversions-max", "2"]);
    let of = |client: &str, target: &str| {
        server.send("GET", target, &format!("x-forwarded-for: {client}\r\n"))
    };
    for width in [40, 41] {
        assert_eq!(of("192.0.2.1", &format!("/a.jpg?w={width}")).status, 200);
    }
    let refused = of("192.0.2.1", "/a.jpg?w=42");
    let (title, _) = problem(&refused, 429);
    assert_eq!(title, "this address has requested too many conversions");
    let after = refused.field("retry-after").expect("it says when");
    assert!(
        (1..=30).contains(&after.parse::<u64>().expect("in seconds")),
        "{after}"
    );
    assert_eq!(
        of("192.0.2.1", "/a.jpg?meta=full").status,
        200,
        "the placeholder is known"
    );
    assert_eq!((denied(&server, "rate"), server.metrics().jobs()), (1, 2));
    // Hits, other clients and the sizes of the page are not affected.
    assert_eq!(of("192.0.2.1", "/a.jpg?w=40").status, 200);
    assert_eq!(of("192.0.2.1", "/a.jpg?h=240").status, 200);
    assert_eq!(of("192.0.2.2", "/a.jpg?w=42").status, 200);
    assert_eq!(
        of("192.0.2.1", "/a.jpg?w=42").status,
        200,
        "it is converted now"
    );
    // The proxy itself, and what it requests without naming a client, are not limited.
    for width in 43..47 {
        assert_eq!(server.get(&format!("/a.jpg?w={width}")).status, 200);
    }
    server.stop();
}

/// Creates a library with an album and a photograph, and a user.
fn library() -> Home {
    let home = Home::with(&[
        ("Band/Album/1 - One.flac", FLAC),
        ("Band/Album/cover.jpg", &media::photo(200, 200, 2)),
        ("photo.jpg", &media::photo(480, 320, 1)),
    ]);
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    home
}

/// Returns the id of the album, once it is indexed.
fn album(server: &Server) -> String {
    eventually("the album is indexed", || {
        let found = ask(server, "search3?query=");
        let song = found["searchResult3"]["song"].as_array()?.first()?;
        Some(song["albumId"].as_str().expect("text").to_owned())
    })
}

#[test]
fn the_page_players_and_shares_work_under_all_rules() {
    let home = library();
    let (code, key) = user(&home, &["key", "ann", "test"], "");
    assert_eq!(code, Some(0));
    let key = format!("authorization: Bearer {}\r\n", key.trim());
    let text = format!(
        "require_login = \"all\"\n[images]\nrequire_signature = true\nsignature_keys = [\"{KEY}\"]\n\
         presets_only = true\nallowed_widths = [1]\nallowed_heights = [1]\nallowed_operations = [\"w\"]\n\
         allowed_referrers = [\"example.org\"]\n[images.presets]\nthumb = \"w=33\"\n\
         [limits]\naddress_conversions_max = 1\n"
    );
    let server = configured(&home, &text);
    let album = album(&server);
    let get = |target: &str| {
        let browser = "sec-fetch-site: same-origin\r\nx-forwarded-for: 192.0.2.1\r\n";
        let fields = format!("{key}{browser}");
        server.send("GET", target, &fields)
    };
    let photo = eventually("the picture is indexed", || {
        let list: Value = serde_json::from_str(get("/-/api/pictures").text()).expect("JSON");
        let items = list["items"].as_array()?.clone();
        let item = items
            .into_iter()
            .find(|item| item["file"] == "/photo.jpg")?;
        Some(item["id"].as_str().expect("an id").to_owned())
    });
    assert_eq!(server.get("/-/").status, 200);
    let cover = |query: &str| format!("/-/cover/{album}?{query}");
    let compare = |query: &str| format!("/-/api/pictures/{photo}/compare?{query}");
    for target in [
        "/-/file/photo.jpg?h=240".to_owned(),
        "/-/file/photo.jpg?w=960".to_owned(),
        "/-/file/photo.jpg?w=320&h=240&fit=cover".to_owned(),
        "/-/file/photo.jpg".to_owned(),
        cover("w=300"),
        cover("w=360&h=360&fit=cover"),
        compare("w=960"),
    ] {
        let response = get(&target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
    }
    // Clients cannot use these ways for other sizes.
    let jobs = || Metrics::parse(get("/-/metrics").text()).jobs();
    let before = jobs();
    for target in [
        "/-/file/photo.jpg?w=77".to_owned(),
        cover("w=77"),
        compare("w=77"),
    ] {
        problem(&get(&target), 403);
    }
    problem(&server.send("GET", "/photo.jpg?w=77", &key), 403);
    assert_eq!(jobs(), before);
    // A signed URL works there, too.
    let signed_cover = signed(&home, KEY, &cover("p=thumb"), &[]);
    let response = get(&signed_cover);
    assert_eq!((response.status, response.size().0), (200, 33));
    // Players choose sizes freely, because the server composes their requests after a login.
    let target = format!("/rest/getCoverArt?id={album}&size=77&{ANN}");
    assert_eq!(server.get(&target).status, 200);
    // The same response is now ready, but only for players.
    let target = "/Band/Album/cover.jpg?w=77&h=77&fit=inside";
    problem(&server.send("GET", target, &key), 403);
    let share = server.send(
        "POST",
        &format!("/-/api/shares?item={photo}"),
        &format!("{key}content-length: 0\r\n"),
    );
    let share: Value = serde_json::from_str(share.text()).expect("JSON");
    let link = share["url"].as_str().expect("a link");
    let photo = |height: u32| format!("{link}/{photo}/{height}");
    for target in [link.to_owned(), photo(240), photo(480), photo(1440)] {
        let fields = "referer: https://mail.example.net/\r\n";
        let status = server.send("GET", &target, fields).status;
        assert_eq!(status, 200, "{target}");
    }
    server.stop();
}

#[test]
fn pelton_sign_signs_and_verifies() {
    let home = Home::new();
    let (_, signed, _) = sign(
        &home,
        &["https://h/a b.jpg?w=40", "--key", KEY, "--expires", "1h"],
    );
    assert!(
        signed.starts_with("https://h/a%20b.jpg?w=40&expires="),
        "{signed}"
    );
    let (code, stdout, _) = sign(&home, &["--check", &signed, "--key", KEY]);
    assert!(
        code == 0 && stdout.starts_with("the signature is valid until the Unix time "),
        "{stdout}"
    );
    let keys = format!("{KEY},{OLD_KEY}");
    let rows: [(&[&str], i32, &str); 6] = [
        (
            &["--check", &signed, "--key", OLD_KEY],
            1,
            "the signature does not match any of the keys",
        ),
        (
            &["--check", &signed, "--images-signature-keys", &keys],
            0,
            "",
        ),
        (
            &["--check", "/a.jpg?w=40", "--key", KEY],
            1,
            "the URL has no signature",
        ),
        (&["/a.jpg"], 2, "no key is configured"),
        (
            &["a.jpg", "--key", KEY],
            2,
            "neither a URL nor a path that begins with /",
        ),
        (
            &["/a.jpg", "--key", "abc"],
            2,
            "--key: key 1: a key has the form KEY or KEY:SALT",
        ),
    ];
    for (words, expected, message) in rows {
        let (code, _, stderr) = sign(&home, words);
        assert_eq!(code, expected, "{words:?}: {stderr}");
        assert!(stderr.contains(message), "{words:?}: {stderr}");
    }
}
