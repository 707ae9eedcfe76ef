//! Tests of the commands that have no test file of their own, and of the start and end of `pelton
//! serve`.

use std::fs;
use std::net::TcpStream;
use std::process::{Command, Output};

use crate::harness::{Home, Server, eventually, media, pelton};

/// A sine tone of half a second.
const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");

fn run(home: &Home, words: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = pelton(home, words).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes text");
    let code = status.code().expect("the program was not killed");
    (code, text(stdout), text(stderr))
}

/// Returns the format and the displayed size of the picture `name` in the test's directory.
fn facts(home: &Home, name: &str) -> (&'static str, (u32, u32)) {
    let bytes = fs::read(home.directory().join(name)).expect("the file is there");
    let facts = image_plan::probe(&bytes[..], bytes.len() as u64).expect("a picture");
    let size = facts.oriented();
    (facts.format.extension(), (size.width_px, size.height_px))
}

#[test]
fn convert_writes_one_picture() {
    let home = Home::with(&[
        ("p.jpg", &media::turned_photo(96, 64, 6)),
        ("s.png", &media::png(96, 64)),
    ]);
    for (input, output, query, made) in [
        ("p.jpg", "a.avif", "", ("avif", (64, 96))),
        ("p.jpg", "a.webp", "w=32", ("webp", (32, 48))),
        (
            "p.jpg",
            "a.jpeg",
            "w=30&h=30&fit=cover&q=50",
            ("jpg", (30, 30)),
        ),
        ("p.jpg", "a.PNG", "max_width=32", ("png", (32, 48))),
        ("s.png", "a.avif", "w=200&enlarge=1", ("avif", (200, 133))),
    ] {
        let input = format!("library/{input}");
        let mut words = vec!["convert", &input, output];
        if !query.is_empty() {
            words.extend(["--query", query]);
        }
        let (code, stdout, stderr) = run(&home, &words);
        assert_eq!((code, &stdout[..]), (0, ""), "{stderr}");
        assert_eq!(facts(&home, output), made, "{query}");
        let (width, height) = made.1;
        let begin = format!("{output}: {width} x {height} pixels, ");
        assert!(stderr.starts_with(&begin), "{stderr}");
    }
}

#[test]
fn convert_writes_many_pictures_and_a_table() {
    let home = Home::with(&[
        ("a.jpg", &media::photo(96, 64, 1)),
        ("b.png", &media::png(64, 96)),
        ("broken.jpg", b"\xff\xd8\xff\xe0garbage"),
        ("notes.txt", b"notes"),
    ]);
    let names = ["a.jpg", "broken.jpg", "b.png", "notes.txt"];
    let inputs = names.map(|name| format!("library/{name}"));
    let mut words = vec!["convert", "--to", "webp", "--out", "new/small", "--score"];
    words.extend(["--query", "w=32"]);
    words.extend(inputs.iter().map(String::as_str));
    let (code, stdout, stderr) = run(&home, &words);
    assert_eq!(code, 1, "{stderr}");
    assert_eq!(facts(&home, "new/small/a.webp"), ("webp", (32, 21)));
    assert_eq!(facts(&home, "new/small/b.webp"), ("webp", (32, 48)));
    let errors: Vec<_> = stderr.lines().collect();
    assert_eq!(errors.len(), 2, "{stderr}");
    assert!(
        errors[0].starts_with("pelton: cannot read library/broken.jpg: "),
        "{stderr}"
    );
    assert!(
        errors[1].starts_with("pelton: cannot read library/notes.txt: not a picture"),
        "{stderr}"
    );
    let rows: Vec<Vec<_>> = stdout
        .lines()
        .map(|it| it.split_whitespace().collect())
        .collect();
    let column = |row: usize, column: usize| rows[row][column];
    assert_eq!(rows.len(), 4, "{stdout}");
    assert_eq!(column(0, 0), "output");
    assert_eq!(
        (column(1, 0), column(1, 6)),
        ("new/small/a.webp", "32x21"),
        "{stdout}"
    );
    assert_eq!(
        (column(2, 0), column(2, 6)),
        ("new/small/b.webp", "32x48"),
        "{stdout}"
    );
    for row in [1, 2] {
        let score: f64 = column(row, 8).parse().expect("a score");
        assert!((60.0..=100.0).contains(&score), "{stdout}");
    }
    assert_eq!(rows[3][..2], ["2", "pictures"]);
}

#[test]
fn convert_to_a_folder_keeps_its_pictures() {
    let photo = media::photo(96, 64, 1);
    let home = Home::with(&[("a.jpg", &photo), ("b.jpg", &photo)]);
    for out in ["./library", "library/../library", "new/../library"] {
        let words = [
            "convert",
            "--to",
            "jpg",
            "--out",
            out,
            "library/a.jpg",
            "library/b.jpg",
        ];
        let (code, _, stderr) = run(&home, &words);
        assert_eq!(code, 2, "{out}: {stderr}");
        assert!(stderr.contains("would overwrite"), "{out}: {stderr}");
        let kept = fs::read(home.directory().join("library/a.jpg")).expect("the picture");
        assert!(kept == photo, "{out}");
    }
}

#[test]
fn convert_reports_the_size_of_a_trimmed_picture() {
    let home = Home::with(&[("p.png", &media::png(96, 64))]);
    let framed = [
        "convert",
        "library/p.png",
        "f.png",
        "--query",
        "pad=10&bg=ff00ff",
    ];
    let trimmed = ["convert", "f.png", "a.png", "--query", "trim=5"];
    for (words, size) in [(framed, (116, 84)), (trimmed, (96, 64))] {
        let (code, _, stderr) = run(&home, &words);
        assert_eq!(code, 0, "{stderr}");
        assert_eq!(facts(&home, words[2]), ("png", size));
        let begin = format!("{}: {} x {} pixels, ", words[2], size.0, size.1);
        assert!(stderr.starts_with(&begin), "{stderr}");
    }
}

#[test]
fn convert_reports_errors_even_if_the_table_cannot_be_written() {
    let home = Home::with(&[("broken.jpg", b"\xff\xd8\xff\xe0garbage")]);
    let mut command = pelton(&home, ["convert", "--to", "webp"]);
    command.args(["library/broken.jpg", "missing.jpg"]);
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("a device");
    let output = command.stdout(full).output().expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("text");
    for text in [
        "library/broken.jpg",
        "missing.jpg",
        "cannot write to stdout",
    ] {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
}

#[test]
fn convert_says_what_is_wrong() {
    let home = Home::with(&[
        ("p.jpg", &media::photo(96, 64, 1)),
        ("broken.jpg", b"\xff\xd8\xff\xe0garbage"),
        ("bomb.png", &media::png_bomb()),
        ("notes.txt", b"notes"),
        ("moving.gif", &media::gif(30, 20, 2)),
    ]);
    let rows: [(&[&str], i32, &str); 10] = [
        (
            &["missing.jpg", "a.avif"],
            2,
            "pelton: cannot read missing.jpg: No such file",
        ),
        (
            &["library/notes.txt", "a.avif"],
            1,
            "pelton: cannot read library/notes.txt: not a picture",
        ),
        (
            &["library/broken.jpg", "a.avif"],
            1,
            "pelton: cannot read library/broken.jpg: ",
        ),
        (
            &["library/bomb.png", "a.avif"],
            1,
            "pelton: convert library/bomb.png: original of 900000000 pixels is too large",
        ),
        (
            &["library/moving.gif", "a.avif"],
            1,
            "pelton: convert library/moving.gif: original is animated",
        ),
        (
            &["library/p.jpg", "a.gif"],
            2,
            "pelton: OUT: a.gif: the extension is not an output format",
        ),
        (
            &["library/p.jpg", "a"],
            2,
            "pelton: OUT: a: the extension is not an output format",
        ),
        (
            &["library/p.jpg", "a.avif", "--query", "w=0"],
            2,
            "pelton: --query: w: must be",
        ),
        (
            &["library/p.jpg", "a.avif", "--query", "format=webp"],
            2,
            "pelton: --query: meta and format are not allowed, because OUT or --to selects the format",
        ),
        (
            &["library/p.jpg", "missing/a.avif"],
            3,
            "pelton: cannot write missing/a.avif: ",
        ),
    ];
    for (words, expected, begin) in rows {
        let (code, stdout, stderr) = run(&home, &[&["convert"], words].concat());
        assert_eq!((code, &stdout[..]), (expected, ""), "{stderr}");
        assert!(stderr.starts_with(begin), "{stderr}");
    }
    let names: Vec<_> = fs::read_dir(home.directory())
        .expect("the home can be listed")
        .map(|entry| entry.expect("the home can be listed").file_name())
        .collect();
    assert_eq!(names, ["library"], "nothing was written");
}

/// Returns the line with the summary of `pelton prefetch`. Lines of the log may follow the summary,
/// because another thread writes them.
pub(crate) fn made_line(stderr: &str) -> &str {
    let mut lines = stderr.lines();
    let line = lines.find(|line| line.contains(" variants created ("));
    line.expect("it says what it made")
}

#[test]
fn what_prefetch_makes_is_what_requests_get() {
    let home = Home::with(&[
        ("p.jpg", &media::photo(200, 150, 1)),
        ("folder/s.png", &media::png(96, 64)),
        ("small.jpg", &media::small_photo()),
        ("moving.gif", &media::gif(30, 20, 2)),
        (".hidden.jpg", &media::photo(96, 64, 3)),
        ("notes.txt", b"notes"),
    ]);
    let words = ["prefetch", "library", "--data", "data"];
    let (code, stdout, stderr) = run(&home, &words);
    assert_eq!((code, &stdout[..]), (0, ""), "{stderr}");
    let printed = made_line(&stderr);
    assert!(
        printed.starts_with("5 files, 0 covers: 6 variants created ("),
        "{printed}"
    );
    assert!(
        printed.ends_with("), 0 already existed, 3 no smaller than the original, 0 failed"),
        "{printed}"
    );
    assert_eq!(home.variants().len(), 9);
    let server = Server::start(&home, &[]);
    for (target, accept, media_type) in [
        ("/p.jpg", "image/avif", "image/avif"),
        ("/p.jpg", "image/webp", "image/webp"),
        ("/folder/s.png", "image/avif", "image/avif"),
        ("/folder/s.png", "image/webp", "image/webp"),
        ("/small.jpg", "image/avif", "image/jpeg"),
        ("/small.jpg", "image/webp", "image/jpeg"),
    ] {
        let response = server.get_as(target, accept);
        assert_eq!(
            (response.status, response.content_type()),
            (200, media_type)
        );
        assert_eq!(response.field("cache-status"), Some("Pelton; hit"));
        assert_eq!(
            response.field("cache-control"),
            Some("public, max-age=86400")
        );
    }
    let metrics = server.metrics();
    assert_eq!(
        (metrics.jobs(), metrics.get("pelton_improvements_waiting")),
        (0, 0)
    );
    server.stop();
    let (code, _, stderr) = run(&home, &words);
    let printed = made_line(&stderr);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(
        printed,
        "5 files, 0 covers: 0 variants created (0 B in size, from 0 B of originals), 9 already existed, 0 no smaller than the original, 0 failed"
    );
}

#[test]
fn prefetch_shows_on_a_terminal_how_far_it_is() {
    let home = Home::new();
    for seed in 0..12 {
        let name = format!("{seed}.jpg");
        home.put(&name, &media::photo(400, 300, seed));
    }
    let command = pelton(&home, ["prefetch", "library", "--data", "data"]);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let mut terminal = Command::new("script");
    terminal
        .args([
            "--quiet",
            "--return",
            "--command",
            &words.join(" "),
            "/dev/null",
        ])
        .current_dir(home.directory())
        .env("TERM", "xterm");
    let shown = terminal.output().expect("script is part of Debian");
    let shown = String::from_utf8(shown.stdout).expect("the program writes text");
    assert!(shown.contains("/12 files, "), "{shown}");
    assert!(shown.contains(" left, "), "{shown}");
    assert!(shown.contains("12 files, 0 covers: "), "{shown}");
}

#[test]
fn prefetch_goes_on_behind_what_cannot_be_made() {
    let mut undecodable = media::png(96, 64);
    let pixels = undecodable.windows(4).position(|name| name == b"IDAT");
    let pixels = pixels.expect("a picture has pixels");
    undecodable[pixels + 4..pixels + 40].fill(0xff);
    let home = Home::with(&[
        ("a.png", &undecodable),
        ("b.jpg", &media::photo(96, 64, 1)),
        ("bomb.png", &media::png_bomb()),
    ]);
    let words = ["prefetch", "library", "--data", "data", "--formats", "webp"];
    let (code, _, stderr) = run(&home, &words);
    let printed = made_line(&stderr);
    assert_eq!(code, 1, "{stderr}");
    assert!(
        printed.starts_with("3 files, 0 covers: 1 variants created ("),
        "{printed}"
    );
    assert!(
        printed.ends_with("), 0 already existed, 0 no smaller than the original, 1 failed"),
        "{printed}"
    );
}

#[test]
fn scan_indexes_names_what_it_cannot_read_and_opens_nothing_twice() {
    let home = Home::with(&[
        ("Band/1999 - Album/01 - Song.flac", FLAC),
        ("Band/1999 - Album/cover.png", &media::png(96, 64)),
        ("Band/1999 - Album/02 - Cut.flac", &FLAC[..20]),
        ("mix.m3u", b"Band/1999 - Album/01 - Song.flac\ngone.flac\n"),
    ]);
    let words = ["scan", "library", "--data", "data"];
    let (code, stdout, stderr) = run(&home, &words);
    let fault = "Band/1999 - Album/02 - Cut.flac: the FLAC metadata is truncated\nmix.m3u: this playlist lists a file that is not in the library: gone.flac\n";
    assert_eq!((code, &stderr[..]), (1, fault));
    let printed: Vec<&str> = stdout.lines().collect();
    assert_eq!(
        printed[0],
        "1 tracks, 1 albums, 1 artists, 0 genres, 1 pictures, 1 playlists (1 of their entries are not in the library)"
    );
    let opened =
        "4 files: 0 unchanged, 0 moved, 4 read, 0 removed, 1 unreadable, 0 links not followed";
    assert_eq!(printed[1], opened);
    let (code, stdout, stderr) = run(&home, &words);
    let printed: Vec<&str> = stdout.lines().collect();
    assert_eq!((code, &stderr[..]), (1, fault));
    let opened =
        "4 files: 4 unchanged, 0 moved, 0 read, 0 removed, 1 unreadable, 0 links not followed";
    assert_eq!(printed[1], opened);
    assert!(printed[2].ends_with(", unchanged"), "{stdout}");
}

#[test]
fn scan_names_tracks_with_broken_tags_up_to_a_hundred() {
    let tagged = [b"ID3\x09\0\0\0\0\0\0", FLAC].concat();
    let names: Vec<String> = (0..103).map(|track| format!("{track:03}.flac")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&name[..], &tagged[..])).collect();
    let home = Home::with(&files);
    let words = ["scan", "library", "--data", "data"];
    let (code, stdout, stderr) = run(&home, &words);
    let printed: Vec<&str> = stderr.lines().collect();
    assert_eq!((code, printed.len()), (0, 101), "{stderr}");
    let reason = "the file is indexed as a track, but its tags are broken: the ID3 tag has an unknown version";
    assert_eq!(printed[0], format!("000.flac: {reason}"));
    assert_eq!(printed[99], format!("099.flac: {reason}"));
    assert_eq!(printed[100], "3 more tracks have broken tags");
    assert!(
        stdout.contains("; 103 files have broken tags\n"),
        "{stdout}"
    );
}

#[test]
fn cell_proves_its_isolation() {
    let home = Home::new();
    let (code, stdout, stderr) = run(&home, &["cell", "--probe"]);
    assert_eq!((code, &stderr[..]), (0, ""));
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines[0], "backend          process");
    for expected in [
        "namespaces ",
        "syscall filter ",
        "landlock ",
        "no new privs     yes",
        "no capabilities  yes",
        "denied syscall   kills the process",
        "start ",
        "empty job ",
        "new memory ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(expected)),
            "{expected}: {stdout}"
        );
    }
}

#[test]
fn a_stopping_server_finishes_open_requests_first() {
    let home = Home::with(&[("large.jpg", &media::photo(2400, 1600, 1))]);
    let mut server = Server::plain(&home, &[]);
    let mut idle = server.connect();
    idle.request("GET", "/healthz", "");
    assert_eq!(idle.response().status, 200);
    let mut busy = server.connect();
    busy.request("GET", "/large.jpg?w=2300&format=png", "");
    eventually("the conversion runs", || {
        (server.metrics().get("pelton_conversions_running") == 1).then_some(())
    });
    assert!(!busy.has_begun(), "still under way");
    server.ask_to_stop();
    let response = busy.response();
    assert_eq!((response.status, response.size()), (200, (2300, 1533)));
    assert_eq!(response.field("connection"), Some("close"));
    assert!(busy.is_ended());
    assert!(idle.is_ended());
    assert_eq!(server.ended().code(), Some(0));
    assert!(
        TcpStream::connect(server.address()).is_err(),
        "nobody listens"
    );
    assert_eq!(server.logged("INFO", "stopped"), 1);
}

#[test]
fn two_servers_do_not_share_a_port() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let address = server.address();
    let words = ["serve", "library", "--listen", &address.to_string()];
    let (code, stdout, stderr) = run(&home, &words);
    assert_eq!((code, &stdout[..]), (3, ""));
    let port = address.port();
    assert_eq!(
        stderr,
        format!(
            "pelton: cannot listen on {address}: Address already in use (os error 98)\n\
             hint:   `ss -ltnp 'sport = :{port}'` shows the process that listens there; stop it or choose another port\n"
        )
    );
    assert_eq!(server.get("/p.jpg").status, 200);
    server.stop();
}

#[test]
fn serve_says_what_is_wrong_before_it_serves() {
    let home = Home::new();
    let (code, _, stderr) = run(&home, &["serve", "missing", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 2);
    assert_eq!(
        stderr,
        "pelton: root: missing: No such file or directory (os error 2)\n\
         hint:   name the folder to serve, as in pelton serve ~/Pictures\n"
    );
}

#[test]
fn webp_server_gos_configuration_is_served() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let config = r#"{
        "HOST": "127.0.0.1", "PORT": "0", "QUALITY": "80", "IMG_PATH": "library",
        "EXHAUST_PATH": "data", "CONVERT_TYPES": ["webp"], "ENABLE_EXTRA_PARAMS": true
    }"#;
    fs::write(home.directory().join("config.json"), config).expect("the home can be written");
    let server = Server::run(&mut pelton(&home, ["serve", "--config", "config.json"]));
    let response = server.get_as("/p.jpg?max_width=48", "image/avif,image/webp");
    assert_eq!(
        (response.status, response.content_type()),
        (200, "image/webp")
    );
    assert_eq!(response.size(), (48, 32));
    assert_eq!(server.get("/healthz").status, 200);
    server.stop();
}
