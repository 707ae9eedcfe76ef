//! CPU profiles of a serving Pelton.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use host::{Roots, Sampling};

use crate::harness::{Client, Home, Response, Server, eventually, media, pelton};
use crate::players::user;

const AVIF: &str = "accept: image/avif\r\n";

/// Returns a library with pictures whose conversion takes a while.
fn home() -> Home {
    let photos: Vec<_> = (0..6)
        .map(|seed| media::photo(1_600, 1_200, seed))
        .collect();
    let names = ["0.jpg", "1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg"];
    let originals = names.iter().zip(&photos);
    let originals: Vec<(&str, &[u8])> = originals
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .collect();
    Home::with(&originals)
}

/// Returns whether this host lets a process sample itself. Prints the reason if it does not.
fn can_sample() -> bool {
    match Sampling::start(&Roots::default(), std::process::id(), 99) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("skipped: this host does not let a process sample itself: {error:?}");
            false
        }
    }
}

/// Asks for a profile, and has pictures converted and then sent from the cache until the profile is
/// complete.
fn profile(server: &Server, query: &str) -> Response {
    let mut client = Client::connect(server.address());
    client.request("GET", &format!("/-/profile?{query}"), "");
    let response = while_busy(server, || client.response());
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

/// Has pictures converted and then sent from the cache until `work` is complete.
fn while_busy<T>(server: &Server, work: impl FnOnce() -> T) -> T {
    let is_complete = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            for index in (0..6).cycle() {
                let sent = server.send("GET", &format!("/{index}.jpg?w=900"), AVIF);
                assert_eq!(sent.content_type(), "image/avif");
                if is_complete.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let result = work();
        is_complete.store(true, Ordering::Relaxed);
        busy.join().expect("the pictures are sent");
        result
    })
}

#[test]
fn a_profile_names_functions_of_the_server_and_of_the_codecs() {
    if !can_sample() {
        return;
    }
    let home = home();
    let server = Server::plain(&home, &[]);
    let response = profile(&server, "seconds=3&format=folded");
    let folded = response.text();
    let has = |begin: &str, function: &str| {
        let mut lines = folded.lines();
        lines.any(|line| line.starts_with(begin) && line.contains(function))
    };
    // libaom is C code in a worker, which was forked from a zygote and has ended.
    assert!(has("workers;", "av1_"), "{folded}");
    // The whole chain of callers is known, from the worker's main function to the encoder.
    let is_whole = |line: &str| line.contains("worker::main") && line.contains("av1_");
    assert!(folded.lines().any(is_whole), "{folded}");
    assert!(has("server;", "server::"), "{folded}");
    server.stop();
}

#[test]
fn a_profile_is_pprof_unless_the_query_says_otherwise() {
    if !can_sample() {
        return;
    }
    let home = home();
    let server = Server::plain(&home, &[]);
    let response = profile(&server, "seconds=3&of=workers");
    assert_eq!(response.content_type(), "application/octet-stream");
    let file = home.directory().join("profile.pb.gz");
    fs::write(&file, &response.body).expect("the profile is written");
    let svg = server.send("GET", "/-/profile?seconds=1&format=svg", "");
    assert_eq!(svg.content_type(), "image/svg+xml");
    assert!(svg.text().starts_with("<svg "), "{}", svg.text());
    server.stop();
    let go = ["go", "/usr/local/go/bin/go"].iter().find_map(|go| {
        let mut command = Command::new(go);
        command.args(["tool", "pprof", "-top", "-nodecount=50"]);
        command.arg(&file).output().ok()
    });
    let Some(top) = go else {
        eprintln!("skipped: there is no go tool pprof");
        return;
    };
    let text = String::from_utf8_lossy(&top.stdout);
    assert!(top.status.success(), "{text}");
    assert!(text.contains("File: pelton"), "{text}");
    assert!(text.contains("Type: cpu"), "{text}");
    assert!(text.contains("av1_"), "{text}");
}

#[test]
fn one_profile_at_a_time_and_only_with_the_token() {
    let home = Home::new();
    let token = home.directory().join("token");
    let secret = "a-token-of-at-least-32-characters-for-profiles";
    fs::write(&token, secret).expect("the token is written");
    let path = token.to_str().expect("UTF-8");
    let server = Server::plain(&home, &["--admin-token-file", path]);
    let bearer = format!("authorization: Bearer {secret}\r\n");
    for target in ["/-/profile?seconds=1", "/debug/pprof/profile?seconds=1"] {
        assert_eq!(server.send("GET", target, "").status, 401, "{target}");
        assert_eq!(server.send("POST", target, &bearer).status, 405, "{target}");
    }
    for query in ["seconds=0", "seconds=61", "format=png", "of=me", "x=1"] {
        let refused = server.send("GET", &format!("/-/profile?{query}"), &bearer);
        assert_eq!(refused.status, 400, "{query}");
    }
    let last = |query: &str, fields: &str| {
        let target = format!("/-/profile/last{query}");
        server.send("GET", &target, fields)
    };
    assert_eq!(last("", "").status, 401);
    assert_eq!(last("", &bearer).status, 204, "there is no profile yet");
    assert_eq!(last("?seconds=1", &bearer).status, 400);
    let mut first = Client::connect(server.address());
    first.request("GET", "/-/profile?seconds=4&format=folded", &bearer);
    if !can_sample() {
        let refused = first.response();
        assert_eq!(refused.status, 503, "{}", refused.text());
        return;
    }
    eventually("the first profile has begun", || {
        let mut names = threads(server.pid());
        names.any(|name| name == "profile").then_some(())
    });
    let second = server.send("GET", "/debug/pprof/profile?seconds=1", &bearer);
    assert_eq!(second.status, 409);
    let wait = second.field("retry-after").and_then(|it| it.parse().ok());
    assert!((1..=5).contains(&wait.unwrap_or(0)), "{wait:?}");
    // The complete profile stays, in all formats.
    let first = first.response();
    assert_eq!(first.status, 200);
    let again = last("?format=folded", &bearer);
    assert_eq!(again.text(), first.text());
    for name in [
        "pelton-profile-begin-ms",
        "pelton-profile-seconds",
        "pelton-profile-samples",
    ] {
        assert!(first.field(name).is_some(), "{name}");
        assert_eq!(again.field(name), first.field(name), "{name}");
    }
    assert_eq!(
        last("", &bearer).content_type(),
        "application/octet-stream",
        "pprof is the default"
    );
    // Another profile can be taken when the first is complete.
    eventually("another profile can be taken", || {
        let third = server.send("GET", "/-/profile?seconds=1", &bearer);
        (third.status == 200).then_some(())
    });
    server.stop();
}

#[test]
fn the_session_of_an_admin_suffices_for_a_profile() {
    let home = Home::new();
    for words in [&["add", "ann", "--admin"][..], &["add", "bob"]] {
        assert_eq!(user(&home, words, "sesame\n").0, Some(0));
    }
    let server = Server::plain(&home, &[]);
    let log_in = |name: &str| {
        let body = format!("{{\"name\":\"{name}\",\"password\":\"sesame\"}}");
        let length = body.len();
        let mut client = server.connect();
        client.send(format!(
            "POST /-/api/session HTTP/1.1\r\nhost: pelton\r\norigin: http://pelton\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        let response = client.response();
        let cookie = response.field("set-cookie").expect("a cookie");
        let pair = cookie.split(';').next().expect("a first part");
        format!("cookie: {pair}\r\n")
    };
    let (ann, bob) = (log_in("ann"), log_in("bob"));
    let ask = |fields: &str| server.send("GET", "/-/profile?seconds=1", fields).status;
    assert_eq!(ask(""), 401);
    assert_eq!(ask(&bob), 403);
    // 503: this host refuses to sample.
    assert!(matches!(ask(&ann), 200 | 503));
    server.stop();
}

#[test]
fn the_command_writes_profiles_of_a_running_server() {
    if !can_sample() {
        return;
    }
    let home = home();
    let token = home.directory().join("token");
    fs::write(&token, "a-token-of-at-least-32-characters-for-profiles").expect("written");
    let token = token.to_str().expect("UTF-8");
    let server = Server::plain(&home, &["--admin-token-file", token]);
    let url = format!("http://{}", server.address());
    let run = |words: &[&str], file: &Path| {
        let mut command = pelton(&home, ["profile", "--seconds", "1", "-o"]);
        let output = command.arg(file).args(words).output().expect("it runs");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code(), stderr)
    };
    let svg = home.directory().join("flames.svg");
    let (code, stderr) = run(&["--url", &url, "--key-file", token], &svg);
    assert_eq!(code, Some(0), "{stderr}");
    let named = format!("{}: ", svg.display());
    assert!(
        stderr.contains(&named) && stderr.contains(" samples, 0 lost"),
        "{stderr}"
    );
    let text = fs::read_to_string(&svg).expect("the profile is written");
    assert!(text.starts_with("<svg "), "{text}");
    // Without the token, the server refuses, and the earlier file stays.
    let (code, stderr) = run(&["--url", &url], &svg);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("responded with 401"), "{stderr}");
    assert_eq!(fs::read_to_string(&svg).expect("it stays"), text);
    // From outside, the token is not needed.
    let folded = home.directory().join("profile.folded");
    let pid = server.pid().to_string();
    let (code, stderr) = while_busy(&server, || run(&["--pid", &pid], &folded));
    assert_eq!(code, Some(0), "{stderr}");
    let text = fs::read_to_string(&folded).expect("the profile is written");
    assert!(
        text.lines().any(|line| line.starts_with("server;")),
        "{text}"
    );
    let absent = home.directory().join("absent").join("profile.svg");
    assert_eq!(run(&["--url", &url], &absent).0, Some(3));
    server.stop();
}

/// Returns the names of a process's threads.
fn threads(pid: u32) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the server runs");
    // A thread that has ended meanwhile has no name.
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned())
}
