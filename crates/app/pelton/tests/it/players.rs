//! Music players: users added on the command line, music over `/rest/`, and user data that survives
//! kills of the server.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Home, Http2, Server, eventually, media, pelton, signal};

const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");
pub(crate) const ANN: &str = "u=ann&p=sesame&f=json";

fn home() -> Home {
    Home::with(&[
        ("Band/Album/1 - One.flac", FLAC),
        ("Band/Album/cover.png", &media::png(96, 64)),
        ("Band/Album/1 - One.lrc", b"[00:01.00]la\n"),
    ])
}

pub(crate) fn user(home: &Home, words: &[&str], input: &str) -> (Option<i32>, String) {
    let mut command = pelton(home, ["user"]);
    command.args(words).arg("--data").arg(home.data());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it was asked for");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let ended = child.wait_with_output().expect("it ends");
    let stdout_text = String::from_utf8(ended.stdout).expect("text");
    (ended.status.code(), stdout_text)
}

pub(crate) fn ask(server: &Server, request: &str) -> Value {
    let mark = if request.contains('?') { '&' } else { '?' };
    let response = server.get(&format!("/rest/{request}{mark}{ANN}"));
    assert_eq!(response.status, 200, "{request}");
    let json: Value = serde_json::from_str(response.text()).expect("JSON");
    json["subsonic-response"].clone()
}

/// Returns the only song, once it is indexed.
fn song(server: &Server) -> Value {
    eventually("the song is indexed", || {
        let found = ask(server, "search3?query=");
        let songs = found["searchResult3"]["song"].as_array()?;
        songs.first().cloned()
    })
}

#[test]
fn a_player_comes_in_once_a_user_is_made_and_hears_music() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let refused = ask(&server, "ping");
    assert_eq!(refused["error"]["code"], 40);
    let message = refused["error"]["message"].as_str().expect("text");
    assert!(message.contains("pelton user add"), "{message}");
    // The running server notices the new user by itself.
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    assert_eq!(ask(&server, "ping")["status"], "ok");
    let song = song(&server);
    let id = song["id"].as_str().expect("text");
    let target = format!("/rest/stream?id={id}&{ANN}");
    let whole = server.get(&target);
    assert_eq!((whole.status, whole.content_type()), (200, "audio/flac"));
    assert_eq!(whole.body, FLAC);
    let part = server.send("GET", &target, "range: bytes=4-9\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &FLAC[4..10]));
    let head = server.send("HEAD", &target, "");
    assert_eq!(head.etag(), whole.etag());
    let mut http2 = Http2::connect(server.address());
    let part = http2.send("GET", &target, "range: bytes=4-9\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &FLAC[4..10]));
    let album = song["albumId"].as_str().expect("text");
    let cover = format!("/rest/getCoverArt?id={album}&size=32&{ANN}");
    assert_eq!(server.get(&cover).size(), (32, 21));
    let lyrics = ask(&server, &format!("getLyricsBySongId?id={id}"));
    assert_eq!(
        lyrics["lyricsList"]["structuredLyrics"][0]["line"][0]["start"],
        1000
    );
    let mut client = server.connect();
    let form = format!("{ANN}&id={id}");
    let fields = format!(
        "content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n",
        form.len()
    );
    client.request("POST", "/rest/getSong.view", &fields);
    client.send(form);
    assert!(client.response().text().contains("\"status\":\"ok\""));
    let statistics = server.get("/-/api/statistics");
    let statistics: Value = serde_json::from_str(statistics.text()).expect("JSON");
    assert_eq!(
        (&statistics["tracks"], &statistics["users"]),
        (&1.into(), &1.into())
    );
    server.stop();
}

#[test]
fn lyrics_are_found_in_any_encoding_and_beside_any_name() {
    let utf16: Vec<u8> = "\u{feff}[00:02.00]夜\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let home = Home::with(&[
        ("a/mark.flac", FLAC),
        ("a/mark.lrc", "\u{feff}[00:01.00]one\n".as_bytes()),
        ("a/UPPER.FLAC", FLAC),
        ("a/UPPER.LRC", &utf16),
        ("a/other.flac", FLAC),
        ("a/other.Txt", b"\xe9t\xe9\n"),
    ]);
    for (name, bytes) in [(&b"a/\xe9.flac"[..], FLAC), (b"a/\xe9.lrc", b"[00:03]x")] {
        let path = home.library().join(OsStr::from_bytes(name));
        std::fs::write(path, bytes).expect("the home can be written");
    }
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let server = Server::plain(&home, &[]);
    let songs = eventually("the songs are indexed", || {
        let found = ask(&server, "search3?query=&songCount=9");
        let songs = found["searchResult3"]["song"].as_array()?;
        (songs.len() == 4).then(|| songs.clone())
    });
    let mut sung: Vec<String> = songs
        .iter()
        .map(|song| {
            let id = song["id"].as_str().expect("text");
            let lyrics = ask(&server, &format!("getLyricsBySongId?id={id}"));
            let line = &lyrics["lyricsList"]["structuredLyrics"][0]["line"][0];
            let path = song["path"].as_str().expect("text");
            format!("{path} {} {}", line["start"], line["value"])
        })
        .collect();
    sung.sort();
    assert_eq!(
        sung,
        [
            "a/UPPER.FLAC 2000 \"夜\"",
            "a/mark.flac 1000 \"one\"",
            "a/other.flac null \"été\"",
            "a/\u{fffd}.flac 3000 \"x\"",
        ]
    );
    server.stop();
}

#[test]
fn music_is_given_in_parts_and_only_where_it_is_what_the_player_has() {
    let home = home();
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let server = Server::plain(&home, &[]);
    let song = song(&server);
    let id = song["id"].as_str().expect("text");
    let last = FLAC.len() - 1;
    for name in ["stream", "download"] {
        let target = format!("/rest/{name}?id={id}&{ANN}");
        let whole = server.get(&target);
        let etag = whole.etag().to_owned();
        let modified = whole.field("last-modified").expect("a date").to_owned();
        assert_eq!(whole.field("accept-ranges"), Some("bytes"), "{name}");
        let ask = |method: &str, fields: &str| server.send(method, &target, fields);
        for (range, expected) in [
            ("0-0", &FLAC[..1]),
            ("100-", &FLAC[100..]),
            ("-7", &FLAC[last - 6..]),
            (&format!("{last}-99999999"), &FLAC[last..]),
        ] {
            let part = ask("GET", &format!("range: bytes={range}\r\n"));
            assert_eq!(
                (part.status, &part.body[..]),
                (206, expected),
                "{name} {range}"
            );
            let range_sent = part.field("content-range").expect("where it lies");
            assert!(
                range_sent.ends_with(&format!("/{}", FLAC.len())),
                "{name} {range}: {range_sent}"
            );
        }
        let beyond = ask("GET", &format!("range: bytes={}-\r\n", FLAC.len()));
        let range_sent = format!("bytes */{}", FLAC.len());
        assert_eq!(
            (beyond.status, beyond.field("content-range")),
            (416, Some(&*range_sent))
        );
        // Two versions of a file may have the same modification date. So the response is the whole
        // file if If-Range contains only a date.
        for (validator, status) in [(&etag[..], 206), (&modified, 200), ("\"other\"", 200)] {
            let part = ask(
                "GET",
                &format!("range: bytes=4-9\r\nif-range: {validator}\r\n"),
            );
            assert_eq!(part.status, status, "{name} {validator}");
        }
        let held = ask("GET", &format!("if-none-match: {etag}\r\n"));
        assert_eq!((held.status, held.body.len()), (304, 0), "{name}");
        let head = ask("HEAD", "range: bytes=4-9\r\n");
        assert_eq!((head.status, head.body.len()), (200, 0), "{name}");
        let length = FLAC.len().to_string();
        assert_eq!(head.field("content-length"), Some(&*length), "{name}");
    }
}

#[test]
fn users_and_keys_are_made_listed_and_removed() {
    let home = Home::new();
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    assert_eq!(user(&home, &["add", "ann"], "other\n").0, Some(2));
    assert_eq!(user(&home, &["add", "bob"], "\n").0, Some(2));
    assert_eq!(user(&home, &["add", "bob"], "secret").0, Some(0));
    let (code, key) = user(&home, &["key", "bob", "phone"], "");
    assert_eq!((code, key.trim().len()), (Some(0), 48));
    let (_, listed) = user(&home, &["list"], "");
    assert_eq!(listed, "ann\tadmin\t\nbob\tuser\tphone\n");
    let server = Server::plain(&home, &[]);
    let with_key = format!("/rest/tokenInfo?f=json&apiKey={}", key.trim());
    assert!(server.get(&with_key).text().contains("\"bob\""));
    assert_eq!(user(&home, &["remove-key", "bob", "phone"], "").0, Some(0));
    assert!(server.get(&with_key).text().contains("\"code\":44"));
    assert_eq!(user(&home, &["password", "ann"], "open\n").0, Some(0));
    assert_eq!(ask(&server, "ping")["error"]["code"], 40);
    assert_eq!(user(&home, &["remove", "ann"], "").0, Some(0));
    assert_eq!(user(&home, &["remove", "ann"], "").0, Some(2));
    server.stop();
}

#[test]
fn an_album_is_one_file_and_a_share_is_heard_without_a_login() {
    let home = home();
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let server = Server::plain(&home, &[]);
    let song = song(&server);
    let album = song["albumId"].as_str().expect("text");
    let target = format!("/rest/download?id={album}&{ANN}");
    let whole = server.get(&target);
    assert_eq!(
        (whole.status, whole.content_type()),
        (200, "application/zip")
    );
    let length = whole.body.len().to_string();
    assert_eq!(whole.field("content-length"), Some(&*length));
    assert!(whole.body.starts_with(b"PK\x03\x04"));
    assert!(whole.body.windows(FLAC.len()).any(|bytes| bytes == FLAC));
    let head = server.send("HEAD", &target, "");
    assert_eq!(
        (head.body.len(), head.field("content-length")),
        (0, Some(&*length))
    );
    let mut http2 = Http2::connect(server.address());
    assert_eq!(http2.send("GET", &target, "").body, whole.body);
    let id = song["id"].as_str().expect("text");
    let made = ask(&server, &format!("createShare?id={id}"));
    let url = made["shares"]["share"][0]["url"].as_str().expect("text");
    let (_, path) = url.split_once("/-/").expect("a link of this server");
    let page = server.get(&format!("/-/{path}"));
    assert_eq!(
        (page.status, page.content_type()),
        (200, "text/html; charset=utf-8")
    );
    assert_eq!(server.get(&format!("/-/{path}/{id}")).body, FLAC);
    assert_eq!(server.get("/-/share/none").status, 404);
    server.stop();
}

/// If many clients request long lists, the server renders only `limits.player_responses_max` lists
/// at a time.
#[test]
fn many_long_lists_at_once_take_the_memory_of_a_few() {
    const ASKED: usize = 24;
    let home = home();
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let server = Server::plain(&home, &["--limits-player-responses-max", "1"]);
    let song = song(&server);
    let id = song["id"].as_str().expect("text");
    let form = format!("name=long&{ANN}{}", format!("&songId={id}").repeat(30_000));
    let mut client = server.connect();
    client.send(format!(
        "POST /rest/createPlaylist HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\
         content-type: application/x-www-form-urlencoded\r\n\r\n{form}",
        form.len()
    ));
    let made = client.response();
    let json: Value = serde_json::from_str(made.text()).expect("JSON");
    let list = &json["subsonic-response"]["playlist"];
    assert_eq!(list["songCount"], 30_000);
    let target = format!(
        "/rest/getPlaylist?id={}&{ANN}",
        list["id"].as_str().expect("text")
    );
    let length = server.get(&target).body.len() as u64;
    assert!(10_000_000 < length, "{length} bytes");
    let before = server.memory("VmHWM");
    std::thread::scope(|scope| {
        let ask = || assert_eq!(server.get(&target).body.len() as u64, length);
        for _ in 0..ASKED {
            scope.spawn(ask);
        }
    });
    // Rendering a list needs two buffers when the buffer grows: the old one and the larger new one.
    // Each response is held in memory until its client has received it.
    let more = server.memory("VmHWM") - before;
    assert!(
        more < 16 * length,
        "{more} bytes more, for answers of {length}"
    );
    server.stop();
}

#[test]
fn listing_users_of_a_damaged_journal_tells_so_and_writes_nothing() {
    let home = Home::new();
    assert_eq!(user(&home, &["list"], ""), (Some(0), String::new()));
    let folder = home.data().join("users");
    assert!(!folder.exists(), "listing made a folder");
    for name in ["ann", "bob", "cid"] {
        assert_eq!(user(&home, &["add", name], "sesame\n").0, Some(0));
    }
    let journal = folder.join("journal");
    let mut bytes = fs::read(&journal).expect("it is there");
    let at = bytes.windows(5).position(|word| word == b"\"bob\"");
    bytes[at.expect("bob is in it") + 1] ^= 1;
    fs::write(&journal, &bytes).expect("it is ours");
    let listed = (Some(1), "ann\tadmin\t\ncid\tuser\t\n".to_owned());
    assert_eq!(user(&home, &["list"], ""), listed);
    assert_eq!(fs::read(&journal).expect("it is there"), bytes);
    let server = Server::plain(&home, &[]);
    let metric = "pelton_users_journal_damaged_total 1";
    eventually("the damage is counted", || {
        server
            .get("/-/metrics")
            .text()
            .contains(metric)
            .then_some(())
    });
    server.stop();
    assert_eq!(fs::read(&journal).expect("it is there"), bytes);
    assert_eq!(user(&home, &["add", "bob"], "sesame\n").0, Some(0));
    let kept = fs::read(folder.join("journal.bad"));
    assert_eq!(kept.expect("it is kept"), bytes);
    assert_eq!(user(&home, &["list"], "").0, Some(0));
}

#[test]
fn a_user_has_the_picture_that_the_operator_gave() {
    let home = Home::with(&[
        ("face.png", &media::png(640, 320)),
        ("text.txt", b"no picture"),
    ]);
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let server = Server::plain(&home, &[]);
    let target = format!("/rest/getAvatar?username=ann&{ANN}");
    assert_eq!(ask(&server, "getAvatar?username=ann")["error"]["code"], 70);
    let file = |name: &str| home.library().join(name).to_str().expect("text").to_owned();
    for wrong in ["text.txt", "none.png"] {
        assert_eq!(
            user(&home, &["avatar", "ann", &file(wrong)], "").0,
            Some(2),
            "{wrong}"
        );
    }
    assert_eq!(
        user(&home, &["avatar", "bob", &file("face.png")], "").0,
        Some(2)
    );
    assert_eq!(
        user(&home, &["avatar", "ann", &file("face.png")], "").0,
        Some(0)
    );
    // An avatar is served like any other picture: the Accept field selects the format, and the
    // response has validators.
    let plain = server.get(&target);
    assert_eq!(
        (plain.status, plain.content_type(), plain.size()),
        (200, "image/png", (320, 160))
    );
    assert_eq!(plain.field("vary"), Some("Accept"));
    let webp = server.send("GET", &target, "accept: image/webp\r\n");
    assert_eq!((webp.status, webp.size()), (200, (320, 160)));
    let held = server.send(
        "GET",
        &target,
        &format!("if-none-match: {}\r\n", plain.etag()),
    );
    assert_eq!(held.status, 304);
    assert_eq!(user(&home, &["remove-avatar", "ann"], "").0, Some(0));
    assert_eq!(user(&home, &["remove-avatar", "ann"], "").0, Some(2));
    assert_eq!(ask(&server, "getAvatar?username=ann")["error"]["code"], 70);
    server.stop();
}

#[test]
fn what_was_answered_outlives_a_kill() {
    let home = home();
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let mut kept = Vec::new();
    for round in 0..10 {
        let server = Server::plain(&home, &[]);
        let id = song(&server)["id"].as_str().expect("text").to_owned();
        for number in 0..=round {
            let name = format!("{round}-{number}");
            let made = ask(&server, &format!("createPlaylist?name={name}&songId={id}"));
            assert_eq!(made["status"], "ok");
            kept.push(name);
        }
        signal(server.pid(), Signal::KILL);
        drop(server);
    }
    let server = Server::plain(&home, &[]);
    let lists = ask(&server, "getPlaylists");
    let lists = lists["playlists"]["playlist"].as_array().expect("a list");
    let mut names: Vec<_> = lists.iter().filter_map(|it| it["name"].as_str()).collect();
    names.sort_unstable();
    kept.sort();
    assert_eq!(names, kept);
    server.stop();
}

#[test]
fn every_unreadable_file_and_folder_is_reported_with_its_reason() {
    let deep = ["d"; 66].join("/");
    let home = Home::with(&[
        ("Band/1.flac", FLAC),
        ("Band/empty.flac", b""),
        ("Band/text.mp3", b"no music"),
        ("Band/cut.m4a", b"\0\0\0\x20ftypM4A "),
        ("Band/picture.png", b"no picture"),
        ("Band/odd.m3u8", b"#EXTM3U\n#EXT-X-VERSION:3\na.ts\n"),
        (&format!("{deep}/1.flac"), FLAC),
    ]);
    let patterns = home.library().join("Band/.ndignore");
    std::os::unix::fs::symlink(".ndignore", patterns).expect("a folder of our own");
    let server = Server::plain(&home, &[]);
    let reported = eventually("the scan", || {
        let response = server.get("/-/api/scan");
        let reported: Value = serde_json::from_str(response.text()).expect("JSON");
        (reported["ended"].is_string() && reported["scanning"] == false).then_some(reported)
    });
    let lines: Vec<String> = reported["unreadable"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fault| {
            let text = |name: &str| fault[name].as_str().expect("text").to_owned();
            format!(
                "{}: {}",
                text("path").replace(&deep[..100], "…"),
                text("reason")
            )
        })
        .collect();
    expect_test::expect![[r#"
        [
            "Band/.ndignore: cannot read the ignore file, so it has no effect: Too many levels of symbolic links (os error 40)",
            "Band/cut.m4a: a box of the mp4 is longer than its parent",
            "Band/empty.flac: the file is empty",
            "Band/odd.m3u8: the playlist lists segments of an HLS stream, not tracks",
            "Band/picture.png: not a picture",
            "Band/text.mp3: the music format of the file is unknown",
            "…d/d/d/d/d/d/d/d/d/d/d/d/d/d/d: the folder is nested deeper than the limit allows",
        ]
    "#]].assert_debug_eq(&lines);
}
