//! Access of guests, users, admins, and visitors with the link of a share, for each value of
//! `require_login`.

use serde_json::Value;

use crate::harness::{Client, Home, Server, eventually, media};
use crate::players::{ANN, ask, user};

const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");
/// Authorization field of `ann`, who is an admin, with the password `sesame`.
const AS_ANN: &str = "authorization: Basic YW5uOnNlc2FtZQ==\r\n";
/// Authorization field of `bob`, who is not an admin, with the password `secret`.
const AS_BOB: &str = "authorization: Basic Ym9iOnNlY3JldA==\r\n";

/// Statuses that a guest, a user and an admin get.
type Statuses = [u16; 3];

/// Targets, and the statuses for the values `off`, `music` and `all` of `require_login`.
const TABLE: [(&str, [Statuses; 3]); 17] = [
    ("/-/", [[200; 3]; 3]),
    ("/-/settings", [[200; 3]; 3]),
    ("/-/live", [[200; 3]; 3]),
    ("/-/api/session", [[200; 3]; 3]),
    ("/-/share/none", [[404; 3]; 3]),
    ("/a/photo.jpg", [[200; 3], [200; 3], [401, 200, 200]]),
    ("/-/at/", [[200; 3], [200; 3], [401, 200, 200]]),
    ("/a/", [[200; 3], [200; 3], [401, 200, 200]]),
    ("/Band/1.flac", [[200; 3], [401, 200, 200], [401, 200, 200]]),
    (
        "/-/file/Band/1.flac",
        [[200; 3], [401, 200, 200], [401, 200, 200]],
    ),
    (
        "/-/file/a/photo.jpg",
        [[200; 3], [401, 200, 200], [401, 200, 200]],
    ),
    (
        "/-/plain/music",
        [[200; 3], [401, 200, 200], [401, 200, 200]],
    ),
    (
        "/-/api/timeline",
        [[200; 3], [401, 200, 200], [401, 200, 200]],
    ),
    (
        "/-/api/albums",
        [[200; 3], [401, 200, 200], [401, 200, 200]],
    ),
    ("/-/api/shares", [[401, 200, 200]; 3]),
    ("/-/api/ops", [[401, 403, 200]; 3]),
    ("/-/metrics", [[200; 3], [401, 403, 200], [401, 403, 200]]),
];

/// Creates a share, and returns the path of its link.
fn share(server: &Server, key: &str, query: &str) -> String {
    let target = format!("/-/api/shares?{query}");
    let made = server.send("POST", &target, &format!("{key}content-length: 0\r\n"));
    assert_eq!(made.status, 200, "{query}: {}", made.text());
    let made: Value = serde_json::from_str(made.text()).expect("JSON");
    made["url"].as_str().expect("text").to_owned()
}

fn status(server: &Server, target: &str, fields: &str) -> u16 {
    server.send("GET", target, fields).status
}

#[test]
fn everyone_sees_what_the_settings_and_the_roles_allow() {
    let home = Home::with(&[
        ("Band/1.flac", FLAC),
        ("a/photo.jpg", &media::photo(48, 32, 1)),
        ("b/secret.jpg", &media::photo(64, 32, 2)),
    ]);
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    assert_eq!(user(&home, &["add", "bob"], "secret\n").0, Some(0));
    let key = |name| {
        let (_, key) = user(&home, &["key", name, "page"], "");
        format!("authorization: Bearer {}\r\n", key.trim())
    };
    let (ann, bob) = (key("ann"), key("bob"));
    for (place, need) in ["off", "music", "all"].into_iter().enumerate() {
        let server = Server::plain(&home, &["--require-login", need]);
        let album = eventually("the song is indexed", || {
            let found = ask(&server, "search3?query=");
            let song = found["searchResult3"]["song"].as_array()?.first()?;
            song["albumId"].as_str().map(str::to_owned)
        });
        for (target, expected) in TABLE {
            // Requests for shares need a session or an API key. The other targets in the table also
            // accept a name with a password.
            let (as_user, as_admin) = match target {
                "/-/api/shares" => (&*bob, &*ann),
                _ => (AS_BOB, AS_ANN),
            };
            let found = ["", as_user, as_admin].map(|fields| status(&server, target, fields));
            assert_eq!(found, expected[place], "{target}, require_login = {need}");
        }
        // Music players bring their own credentials.
        for (query, code) in [
            (ANN, None),
            ("u=bob&p=secret&f=json", None),
            ("u=ann&p=wrong&f=json", Some(40)),
        ] {
            let response = server.get(&format!("/rest/ping?{query}"));
            let response: Value = serde_json::from_str(response.text()).expect("JSON");
            let error = &response["subsonic-response"]["error"]["code"];
            assert_eq!(error.as_i64(), code, "{query}, require_login = {need}");
        }
        visitors_see_only_what_is_shared(&server, &bob, &album, need);
        server.stop();
    }
}

/// Shares a photograph, a folder and an album, and checks what visitors without a login get.
fn visitors_see_only_what_is_shared(server: &Server, key: &str, album: &str, need: &str) {
    let timeline = |folder: &str| {
        let target = format!("/-/api/pictures?folder={folder}");
        let list = server.send("GET", &target, key);
        let list: Value = serde_json::from_str(list.text()).expect("JSON");
        list["items"][0]["id"].as_str().expect("an id").to_owned()
    };
    let (photo, secret) = (timeline("a"), timeline("b"));
    let tracks = server.send("GET", &format!("/-/api/albums/{album}"), key);
    let tracks: Value = serde_json::from_str(tracks.text()).expect("JSON");
    let track = tracks["tracks"][0]["id"].as_str().expect("an id");
    let one = share(server, key, &format!("item={photo}"));
    let folder = share(server, key, "folder=a&originals=1");
    let music = share(server, key, &format!("item={album}"));
    for (target, expected) in [
        (one.clone(), 200),
        (format!("{one}/{photo}/240"), 200),
        (format!("{one}/{photo}/1440"), 200),
        (format!("{one}/{photo}"), 404),
        (format!("{one}/{photo}/original"), 404),
        (format!("{one}/{secret}/240"), 404),
        (format!("{one}/{track}"), 404),
        (folder.clone(), 200),
        (format!("{folder}/{photo}/480"), 200),
        (format!("{folder}/{photo}/original"), 200),
        (format!("{folder}/{secret}/480"), 404),
        (format!("{folder}/{secret}/original"), 404),
        (format!("{folder}/../b/secret.jpg"), 404),
        (music.clone(), 200),
        (format!("{music}/{track}"), 200),
        (format!("{music}/0"), 404),
        (format!("{music}/{photo}/240"), 404),
    ] {
        let found = status(server, &target, "");
        assert_eq!(found, expected, "{target}, require_login = {need}");
    }
    // The link opens nothing but its own page and files, and changes nothing.
    let (_, token) = one.rsplit_once('/').expect("a path");
    let as_key = format!("authorization: Bearer {token}\r\n");
    assert_eq!(status(server, "/-/api/shares", &as_key), 401);
    assert_eq!(server.send("DELETE", &one, "").status, 405);
    let revoke = format!("/-/api/shares/{token}");
    assert_eq!(server.send("DELETE", &revoke, "").status, 401);
    // A page of another site cannot share in the name of a user.
    let foreign = format!("{key}origin: http://evil.example\r\ncontent-length: 0\r\n");
    let refused = server.send("POST", "/-/api/shares?folder=a", &foreign);
    assert_eq!(refused.status, 403);
    // Shared caches must not store the files of a share, because a revoked link must show nothing.
    let file = format!("{one}/{photo}/240");
    let cached = server.get(&file);
    let caching = cached.field("cache-control").expect("the field");
    assert!(caching.starts_with("private"), "{caching}");
    assert_eq!(server.send("DELETE", &revoke, key).status, 200);
    for target in [&one, &file] {
        assert_eq!(status(server, target, ""), 404, "{target}");
    }
    let mut client: Client = server.connect();
    client.request("GET", &folder, "");
    let page = client.response();
    let policy = page.field("content-security-policy").expect("a policy");
    assert!(policy.contains("script-src 'nonce-"), "{policy}");
    assert_eq!(page.field("referrer-policy"), Some("no-referrer"));
}
