//! Access control: internal paths of covers and avatars, logins, the administration, and host
//! names.

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::covers::with_picture;
use crate::harness::{Home, Http2, Response, Server, eventually, media, pelton};
use crate::players::{ANN, ask, user};

/// Credentials `ann:sesame`, of an admin.
const AS_ANN: &str = "authorization: Basic YW5uOnNlc2FtZQ==\r\n";
/// Credentials `bob:secret`, of a user who is not an admin.
const AS_BOB: &str = "authorization: Basic Ym9iOnNlY3JldA==\r\n";
/// Credentials `ann:wrong`.
const WRONG: &str = "authorization: Basic YW5uOndyb25n\r\n";
const TOKEN: &str = "0123456789abcdef-token";
const SONG: &str = "/Band/Album/1%20-%20One.flac";

/// Creates a library with a photograph and an album. The album has one track, with an embedded
/// picture.
fn home() -> Home {
    Home::with(&[
        (
            "Band/Album/1 - One.flac",
            &with_picture(&media::png(96, 64)),
        ),
        ("photo.jpg", &media::photo(48, 32, 1)),
    ])
}

/// Returns the ids of the album and of the song, once they are indexed.
fn ids(server: &Server) -> (String, String) {
    eventually("the song is indexed", || {
        let found = ask(server, "search3?query=");
        let song = found["searchResult3"]["song"].as_array()?.first()?;
        let id = |name: &str| song[name].as_str().expect("text").to_owned();
        Some((id("albumId"), id("id")))
    })
}

/// Returns the paths of the files in the subfolders of `folder`, relative to `folder`.
fn files_below(folder: &Path) -> Vec<String> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let files = entries(folder).flat_map(|shelf| entries(&shelf));
    let names = files.map(|file| {
        let name = file.strip_prefix(folder).expect("it lies there");
        name.to_str().expect("text").to_owned()
    });
    names.collect()
}

#[test]
fn pictures_of_our_own_are_found_under_no_spelling() {
    let home = home();
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    let face = home.directory().join("face.png");
    fs::write(&face, media::png(64, 32)).expect("the home can be written");
    let face = face.to_str().expect("text");
    assert_eq!(user(&home, &["avatar", "ann", face], "").0, Some(0));
    let server = Server::plain(&home, &["--allowed-types", "*"]);
    let (album, _) = ids(&server);
    // These requests make the server cache the cover and the avatar. The keys are request targets
    // that clients cannot request.
    let cover = server.get(&format!("/rest/getCoverArt?id={album}&{ANN}"));
    assert_eq!((cover.status, cover.body), (200, media::png(96, 64)));
    let avatar = server.get(&format!("/rest/getAvatar?username=ann&{ANN}"));
    assert_eq!((avatar.status, avatar.body), (200, media::png(64, 32)));
    let arts = files_below(&home.data().join("covers"));
    let art = arts.first().expect("it was taken out");
    let avatars = fs::read_dir(home.data().join("avatars")).expect("a folder");
    let avatar = avatars.map(|entry| entry.expect("an entry").file_name());
    let avatar = avatar.last().expect("the picture that was given");
    let avatar = avatar.to_str().expect("text").to_owned();
    let (shelf, _) = art.split_once('/').expect("a shelf");
    let mut tried = 0;
    for name in [format!("art/{art}"), format!("avatar/{avatar}")] {
        for dash in [
            "/-", "/%2d", "/%2D", "//-", "/-/", "///-/", "/%2d/", "//%2D",
        ] {
            for query in ["", "?meta=full", "?w=8", "?format=png"] {
                let target = format!("{dash}/{name}{query}");
                assert_eq!(server.get(&target).status, 404, "{target}");
                let head = server.send("HEAD", &target, "");
                assert_eq!(head.status, 404, "{target}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 64);
    for folder in [
        format!("/-/at/-/art/{shelf}/"),
        format!("/-/at/%2d/art/{shelf}/"),
        format!("/-/-/art/{shelf}/"),
        "/-/at/-/art/".to_owned(),
        "/-/at/-/avatar/".to_owned(),
    ] {
        assert_eq!(server.get(&folder).status, 404, "{folder}");
    }
    // Music players still get the cover.
    let cover = server.get(&format!("/rest/getCoverArt?id={album}&{ANN}"));
    assert_eq!(cover.status, 200);
    server.stop();
}

/// Starts a server with two users, and waits until its music is indexed.
fn with_users(home: &Home, flags: &[&str]) -> Server {
    assert_eq!(user(home, &["add", "ann"], "sesame\n").0, Some(0));
    assert_eq!(user(home, &["add", "bob"], "secret\n").0, Some(0));
    let server = Server::plain(home, flags);
    ids(&server);
    server
}

/// Returns the response to a GET with this Host field.
fn get_of(server: &Server, host: &str, target: &str) -> Response {
    let mut client = server.connect();
    client.send(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    client.response()
}

/// Requests each of these targets with these fields, and returns the statuses.
fn statuses(server: &Server, targets: &[&str], fields: &str) -> Vec<u16> {
    let status = |target: &&str| server.send("GET", target, fields).status;
    targets.iter().map(status).collect()
}

#[test]
fn a_login_is_needed_for_music_or_for_everything() {
    let home = home();
    let server = with_users(&home, &["--require-login", "music"]);
    let (album, song) = ids(&server);
    let cover = format!("/-/cover/{album}?w=16");
    let closed = [
        "/-/plain/music",
        "/-/api",
        "/-/api/tracks",
        "/-/metrics",
        "/-/status",
        "/-/api/cells",
        &cover,
        SONG,
        "/%42and/Album/1%20-%20One.flac",
    ];
    let open = [
        "/photo.jpg",
        "/photo.jpg?w=8",
        "/-/",
        "/healthz",
        "/-/ready",
    ];
    assert_eq!(statuses(&server, &closed, ""), [401; 9]);
    assert_eq!(statuses(&server, &closed, WRONG), [401; 9]);
    assert_eq!(statuses(&server, &open, ""), [200; 5]);
    assert_eq!(statuses(&server, &closed, AS_ANN), [200; 9]);
    // The cached responses of the previous requests do not bypass the login.
    assert_eq!(statuses(&server, &closed, ""), [401; 9]);
    let bobs = [200, 200, 200, 403, 403, 403, 200, 200, 200];
    assert_eq!(statuses(&server, &closed, AS_BOB), bobs);
    let refused = server.get(SONG);
    let challenge = refused.field("www-authenticate").expect("a challenge");
    assert!(challenge.starts_with("Basic realm="), "{challenge}");
    assert_eq!(refused.field("cache-control"), Some("no-store"));
    let mut http2 = Http2::connect(server.address());
    assert_eq!(http2.send("GET", SONG, "").status, 401);
    assert_eq!(http2.send("GET", SONG, AS_ANN).status, 200);
    // An API key in the Authorization field admits a request as a password does. Requests of
    // players are admitted by credentials in their query.
    let (_, key) = user(&home, &["key", "bob", "page"], "");
    let with_key = format!("authorization: Bearer {}\r\n", key.trim());
    assert_eq!(server.send("GET", SONG, &with_key).status, 200);
    let stream = server.get(&format!("/rest/stream?id={song}&{ANN}"));
    assert_eq!(stream.status, 200);
    server.stop();

    let server = Server::plain(&home, &["--require-login", "all"]);
    let all = [
        "/photo.jpg",
        "/photo.jpg?w=8",
        "/photo.jpg?meta=full",
        "/-/at/",
        "/",
        SONG,
    ];
    assert_eq!(statuses(&server, &all, ""), [401; 6]);
    assert_eq!(
        statuses(&server, &all, AS_BOB),
        [200, 200, 200, 200, 303, 200]
    );
    assert_eq!(statuses(&server, &all, ""), [401; 6]);
    assert_eq!(statuses(&server, &["/healthz", "/-/live"], ""), [200; 2]);
    server.stop();
}

#[test]
fn what_a_login_got_is_kept_by_no_shared_cache() {
    let home = home();
    let server = with_users(&home, &["--require-login", "all"]);
    let (album, song) = ids(&server);
    let cached = |response: &Response| {
        let value = response.field("cache-control").expect("it is said");
        value.split(',').next().expect("a first").to_owned()
    };
    for target in ["/photo.jpg", SONG] {
        for fields in ["", "range: bytes=0-9\r\n"] {
            // The first response is a cache miss, the second a cache hit.
            for _ in 0..2 {
                let response = server.send("GET", target, &format!("{AS_ANN}{fields}"));
                assert_eq!(cached(&response), "private", "{target} {fields}");
            }
        }
        let tag = server.send("GET", target, AS_ANN).etag().to_owned();
        let same = format!("{AS_ANN}if-none-match: {tag}\r\n");
        let same = server.send("GET", target, &same);
        assert_eq!((same.status, &cached(&same)[..]), (304, "private"));
        let mut http2 = Http2::connect(server.address());
        let response = http2.send("GET", target, AS_ANN);
        let value = response.field("cache-control").expect("it is said");
        assert!(value.starts_with("private"), "{value}");
    }
    for target in [
        format!("/rest/stream?id={song}&{ANN}"),
        format!("/rest/download?id={song}&{ANN}"),
        format!("/rest/getCoverArt?id={album}&{ANN}"),
        format!("/rest/stream?id={song}&format=opus&maxBitRate=32&{ANN}"),
    ] {
        assert_eq!(cached(&server.get(&target)), "private", "{target}");
    }
    server.stop();
    let server = Server::plain(&home, &[]);
    assert_eq!(cached(&server.get("/photo.jpg")), "public");
    server.stop();
}

#[test]
fn the_administration_has_a_token_or_an_address_of_its_own() {
    let home = home();
    let file = home.directory().join("token");
    fs::write(&file, format!("{TOKEN}\n")).expect("the home can be written");
    let file = file.to_str().expect("text");
    let inside = ["/-/metrics", "/-/status", "/-/api/cells", "/-/api"];
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    let server = with_users(&home, &["--admin-token-file", file]);
    assert_eq!(statuses(&server, &inside, ""), [401; 4]);
    assert_eq!(statuses(&server, &inside, &bearer), [200; 4]);
    let other = bearer.replace("token", "tokem");
    assert_eq!(statuses(&server, &inside, &other), [401; 4]);
    assert_eq!(statuses(&server, &inside, AS_ANN), [200; 4]);
    assert_eq!(statuses(&server, &inside, AS_BOB), [403, 403, 403, 200]);
    assert_eq!(
        statuses(&server, &["/photo.jpg", "/-/plain/music"], ""),
        [200; 2]
    );
    server.stop();

    let short = home.directory().join("short");
    fs::write(&short, "short").expect("the home can be written");
    let mut command = pelton(&home, ["serve", "library", "--listen", "127.0.0.1:0"]);
    let refused = command.arg("--admin-token-file").arg(&short).output();
    let refused = refused.expect("it ends");
    assert_eq!(refused.status.code(), Some(2));

    let server = Server::plain(&home, &["--admin-listen", "127.0.0.1:0"]);
    assert_eq!(statuses(&server, &inside, ""), [401; 4]);
    let admin = server.addresses()[1];
    let get = |target: &str| {
        let mut client = crate::harness::Client::connect(admin);
        client.request("GET", target, "");
        client.response().status
    };
    assert_eq!(inside.map(get), [200; 4]);
    server.stop();
}

#[test]
fn names_that_a_stranger_may_have_are_answered_no_list() {
    let home = home();
    let server = with_users(&home, &[]);
    let lists = [
        "/-/api",
        "/-/api/tracks",
        "/-/api/cells",
        "/-/at/",
        "/-/at/Band/",
        "/-/plain/music",
        "/-/metrics",
        "/-/status",
    ];
    let port = server.address().port();
    for target in lists {
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:3333",
        ] {
            assert_eq!(get_of(&server, host, target).status, 421, "{host} {target}");
        }
        for host in ["localhost", "nas", "nas.local:3333", "[::1]", "192.168.1.2"] {
            assert_eq!(get_of(&server, host, target).status, 200, "{host} {target}");
        }
        let own = format!("127.0.0.1:{port}");
        assert_eq!(get_of(&server, &own, target).status, 200, "{target}");
        let absolute = format!("http://evil.example{target}");
        assert_eq!(get_of(&server, &own, &absolute).status, 421, "{target}");
    }
    // Files, health checks and requests of players are served under every host name, since a proxy
    // may use its own name.
    for target in ["/photo.jpg", "/healthz", &format!("/rest/ping?{ANN}")] {
        assert_eq!(
            get_of(&server, "cdn.example", target).status,
            200,
            "{target}"
        );
    }
    server.stop();

    let server = Server::plain(&home, &["--hosts", "music.example.org,*.example.net"]);
    for (host, status) in [
        ("music.example.org", 200),
        ("a.example.net:80", 200),
        ("localhost", 200),
        ("example.org", 421),
        ("evil.example", 421),
    ] {
        for target in ["/-/api", "/photo.jpg", "/photo.jpg?w=8", "/photo.jpg"] {
            assert_eq!(
                get_of(&server, host, target).status,
                status,
                "{host} {target}"
            );
        }
        assert_eq!(get_of(&server, host, "/-/live").status, 200, "{host}");
    }
    server.stop();
}

#[test]
fn pages_of_other_origins_read_and_change_nothing() {
    let home = home();
    let server = with_users(&home, &["--origins", "https://player.example.org"]);
    let (_, key) = user(&home, &["key", "ann", "page"], "");
    let bearer = format!("authorization: Bearer {}\r\n", key.trim());
    let allowed = |response: &Response| {
        let field = response.field("access-control-allow-origin");
        field.map(str::to_owned)
    };
    for target in [
        "/-/api",
        "/-/api/tracks",
        "/-/plain/music",
        "/-/",
        "/-/metrics",
    ] {
        for origin in ["https://evil.example", "null", "http://pelton"] {
            let fields = format!("origin: {origin}\r\n");
            let response = server.send("GET", target, &fields);
            assert_eq!(
                (response.status, allowed(&response)),
                (200, None),
                "{target}"
            );
        }
    }
    let own = "https://player.example.org";
    let trusted = format!("origin: {own}\r\n");
    let response = server.send("GET", "/-/api", &trusted);
    assert_eq!(allowed(&response).as_deref(), Some(own));
    assert_eq!(response.field("vary"), Some("Origin"));
    assert_eq!(
        allowed(&server.send("GET", "/-/plain/music", &trusted)),
        None
    );
    let preflight = format!("{trusted}access-control-request-method: POST\r\n");
    let preflight = server.send("OPTIONS", "/-/api/scan", &preflight);
    assert_eq!(
        (preflight.status, allowed(&preflight).as_deref()),
        (204, Some(own))
    );
    for (origin, status) in [
        ("https://evil.example", 403),
        ("null", 403),
        ("https://player.example.org.evil.example", 403),
        (own, 200),
        ("http://pelton", 200),
    ] {
        let fields = format!("{bearer}origin: {origin}\r\ncontent-length: 0\r\n");
        let response = server.send("POST", "/-/api/scan", &fields);
        assert_eq!(response.status, status, "{origin}");
    }
    // Players in a browser may have any origin, since each request contains credentials.
    let ping = server.send(
        "GET",
        &format!("/rest/ping?{ANN}"),
        "origin: https://any.example\r\n",
    );
    assert_eq!(allowed(&ping).as_deref(), Some("*"));
    for target in ["/-/", "/-/plain/music", "/healthz"] {
        let response = server.get(target);
        let policy = response.field("content-security-policy").expect("a policy");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{target}: {policy}"
        );
    }
    server.stop();
}

#[test]
fn only_admins_have_everything_scanned() {
    let home = home();
    let server = with_users(&home, &[]);
    let (_, key) = user(&home, &["key", "bob", "page"], "");
    let bobs = format!(
        "authorization: Bearer {}\r\ncontent-length: 0\r\n",
        key.trim()
    );
    for method in ["POST", "DELETE"] {
        assert_eq!(server.send(method, "/-/api/scan", &bobs).status, 403);
    }
    let refused = server.get("/rest/startScan?u=bob&p=secret&f=json");
    assert!(refused.text().contains("\"code\":50"), "{}", refused.text());
    assert_eq!(ask(&server, "startScan")["status"], "ok");
    server.stop();
}

/// The server logs one warning, which lists the content that other machines can read without a
/// login.
#[test]
fn open_access_is_logged_if_other_machines_can_reach_it() {
    const MESSAGE: &str = "everyone who can reach the server can read some of its parts without a login: set require_login, admin_listen or admin_token_file to protect them";
    let home = home();
    let beyond = |flags: &[&str]| {
        let mut command = pelton(&home, ["serve", "library", "--listen", "0.0.0.0:0"]);
        Server::run(
            command
                .args(["--data", "data", "--improve", "false"])
                .args(flags),
        )
    };
    let server = beyond(&[]);
    assert_eq!(server.logged("WARN", MESSAGE), 1);
    let reported = server.event("WARN", MESSAGE);
    assert_eq!(
        reported["open"],
        "files, /-/at/, /-/plain/music, /-/api, /-/metrics, /-/profile, /-/status"
    );
    server.stop();
    let server = beyond(&["--require-login", "music"]);
    assert_eq!(server.event("WARN", MESSAGE)["open"], "files, /-/at/");
    server.stop();
    for is_quiet in [true, false] {
        let quiet = match is_quiet {
            true => beyond(&["--require-login", "all"]),
            false => Server::plain(&home, &[]),
        };
        assert_eq!(quiet.get("/healthz").status, 200);
        assert!(!quiet.has_logged("can read these without a login"));
        quiet.stop();
    }
}

#[test]
fn adding_the_first_user_names_what_is_public_or_sets_it() {
    let home = home();
    let add = |name: &str, flags: &[&str]| {
        let words = [&["user", "add", name], flags].concat();
        let mut command = pelton(&home, words);
        let command = command.arg("--data").arg(home.data());
        let input = home.directory().join("password");
        fs::write(&input, "sesame\n").expect("the home can be written");
        let input = fs::File::open(input).expect("it was written");
        let ended = command.stdin(input).output().expect("it ends");
        assert!(ended.status.success());
        String::from_utf8(ended.stderr).expect("text")
    };
    let reported = add("ann", &[]);
    assert!(
        reported.contains("set require_login to \"music\" or \"all\""),
        "{reported}"
    );
    assert_eq!(add("bob", &[]), "");
    for name in ["ann", "bob"] {
        assert_eq!(user(&home, &["remove", name], "").0, Some(0));
    }
    let reported = add("ann", &["--require-login", "music"]);
    assert!(reported.contains("users/require_login"), "{reported}");
    let server = Server::plain(&home, &[]);
    assert_eq!(server.get("/-/api").status, 401);
    server.stop();
    // The flag takes precedence over the value of `require_login` that was stored with the first
    // user.
    let server = Server::plain(&home, &["--require-login", "off"]);
    assert_eq!(server.get("/-/api").status, 200);
    server.stop();
}

/// Process of `pelton user add ann`, connected to a pseudo-terminal of the test.
struct Adding {
    terminal: OwnedFd,
    child: Child,
    printed: ChildStderr,
}

impl Adding {
    /// Starts the command, and types the password.
    fn begin(home: &Home) -> Adding {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&terminal)
            .and_then(|()| unlockpt(&terminal))
            .expect("it is ours");
        let name = ptsname(&terminal, Vec::new()).expect("it has a name");
        let name = name.to_str().expect("text");
        let theirs = fs::File::options().read(true).write(true).open(name);
        let mut command = pelton(home, ["user", "add", "ann", "--data"]);
        let command = command.arg(home.data()).stdin(theirs.expect("it is there"));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let printed = child.stderr.take().expect("it was asked for");
        let mut adding = Adding {
            terminal,
            child,
            printed,
        };
        adding.read_until("password: ");
        // The command discards input that arrives before it has turned the terminal's echo off.
        eventually("the password is hidden", || {
            let modes = tcgetattr(&adding.terminal).expect("a terminal").local_modes;
            (!modes.contains(LocalModes::ECHO)).then_some(())
        });
        adding.say("sesame\n");
        adding.read_until("require_login [music]: ");
        adding
    }

    fn read_until(&mut self, end: &str) {
        let mut read_bytes = Vec::new();
        while !read_bytes.ends_with(end.as_bytes()) {
            let mut byte = [0];
            let read = self.printed.read(&mut byte).expect("a pipe");
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&read_bytes));
            read_bytes.extend(byte);
        }
    }

    fn say(&self, line: &str) {
        let written = rustix::io::write(&self.terminal, line.as_bytes());
        assert_eq!(written, Ok(line.len()));
    }
}

#[test]
fn who_adds_the_first_user_at_a_terminal_is_asked() {
    let home = home();
    // If the command's question about `require_login` is not answered, no user is added, and the
    // next attempt shows the question again.
    let mut silent = Adding::begin(&home);
    silent.say("\x04");
    assert_eq!(silent.child.wait().expect("it ends").code(), Some(2));
    assert_eq!(user(&home, &["list"], ""), (Some(0), String::new()));
    let mut adding = Adding::begin(&home);
    adding.say("perhaps\n");
    adding.read_until("require_login [music]: ");
    adding.say("all\n");
    assert!(adding.child.wait().expect("it ends").success());
    let kept = fs::read_to_string(home.data().join("users/require_login"));
    assert_eq!(kept.expect("it is kept"), "all\n");
    let names = fs::read_dir(home.data().join("users")).expect("a folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    assert_eq!(names.count(), 3, "the journal, its key and the answer");
    let server = Server::plain(&home, &[]);
    assert_eq!(statuses(&server, &["/photo.jpg", "/-/api"], ""), [401; 2]);
    assert_eq!(server.send("GET", "/photo.jpg", AS_ANN).status, 200);
    server.stop();
}
