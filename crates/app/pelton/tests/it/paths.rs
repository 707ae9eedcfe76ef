//! Paths that must, and paths that must not, lead to a file.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::harness::{Home, Server, media, pelton};

/// Spellings of `..` in a URL path.
const PARENTS: [&str; 14] = [
    "..",
    "%2e%2e",
    "%2E%2E",
    ".%2e",
    "%2e.",
    "%252e%252e",
    "%25%32%65%25%32%65",
    "..;",
    "..%00",
    "...",
    "....",
    "%c0%ae%c0%ae",
    "%uff0e%uff0e",
    "..%20",
];
/// Spellings of the separator between two segments of a URL path.
const SEPARATORS: [&str; 8] = ["/", "%2f", "%2F", "\\", "%5c", "//", "/./", "%252f"];

/// Content of a file outside the library, which no response may contain.
const SECRET: &[u8] = b"GIF89a hidden content";

fn home() -> Home {
    let home = Home::with(&[("folder/p.jpg", &media::photo(48, 32, 1))]);
    fs::write(home.directory().join("secret.gif"), SECRET).expect("the home can be written");
    home
}

#[test]
fn no_spelling_leads_out_of_the_library() {
    let home = home();
    let server = Server::plain(&home, &["--allowed-types", "*"]);
    let mut spellings = 0;
    for up in PARENTS {
        for between in SEPARATORS {
            for target in [
                format!("/{up}{between}secret.gif"),
                format!("/folder/{up}{between}{up}{between}secret.gif"),
                format!("/{up}{between}{up}{between}{up}{between}etc{between}passwd"),
            ] {
                let response = server.get(&target);
                assert_eq!(response.status, 404, "{target}");
                assert!(!contains(&response.body, b"nobody may"), "{target}");
                spellings += 1;
            }
        }
    }
    assert_eq!(spellings, 336);
    assert_eq!(server.get("/folder/p.jpg").status, 200);
    server.stop();
}

#[test]
fn other_ways_out_lead_nowhere() {
    let home = home();
    let server = Server::plain(&home, &["--allowed-types", "*"]);
    let absolute = home.directory().join("secret.gif");
    let absolute = absolute.to_str().expect("paths of tests are text");
    let targets = [
        absolute.to_owned(),
        format!("/{absolute}"),
        format!("/{}", absolute.replace('/', "%2f")),
        "/etc/passwd".to_owned(),
        "//etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        "/folder/p.jpg/".to_owned() + "x",
        "/folder/p.jpg%00.txt".to_owned(),
        "/folder/%00".to_owned(),
        "/folder/p.jpg%".to_owned(),
        "/folder/p.jpg%2".to_owned(),
        "/folder/p.jpg%zz".to_owned(),
        "/FOLDER/P.JPG".to_owned(),
        format!("/{}", "x/".repeat(3_000)),
        format!("/{}", "x".repeat(300)),
        format!("/{}p.jpg", "folder/../".repeat(100)),
    ];
    for target in targets {
        let response = server.get(&target);
        assert_eq!(response.status, 404, "{target}");
        assert!(!contains(&response.body, b"nobody may"), "{target}");
    }
    for target in ["http://h/../secret.gif", "http://h/%2e%2e/secret.gif"] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    server.stop();
}

/// Each file has one path, on which caches and access rules can rely.
#[test]
fn a_path_has_one_spelling() {
    let home = home();
    home.put("a b.jpg", &media::photo(48, 32, 1));
    let server = Server::plain(&home, &[]);
    for (target, leads) in [
        ("/folder/p.jpg/", "/folder/p.jpg"),
        ("/folder/p.jpg///", "/folder/p.jpg"),
        ("//folder/p.jpg", "/folder/p.jpg"),
        ("///folder//p.jpg?w=20&h=10", "/folder/p.jpg?w=20&h=10"),
        ("//a%20b.jpg/", "/a%20b.jpg"),
    ] {
        for method in ["GET", "HEAD"] {
            let mut client = server.connect();
            client.request(method, target, "");
            let response = client.head();
            let status_and_location = (response.status, response.or_dash("location"));
            assert_eq!(status_and_location, (308, leads), "{method} {target}");
        }
        assert_eq!(server.get(leads).status, 200, "{leads}");
    }
    for target in [
        "//missing.jpg",
        "//",
        "/folder%2Fp.jpg",
        "//evil.example/",
        "/folder/p.jpg/x",
    ] {
        let response = server.get(target);
        let status_and_location = (response.status, response.field("location"));
        assert_eq!(status_and_location, (404, None), "{target}");
    }
    server.stop();
}

#[test]
fn folders_lead_people_to_their_page() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let browser = "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    for (target, location) in [
        ("/folder", "-/folders/folder/"),
        ("/folder/", "../-/folders/folder/"),
        ("//folder//", "../../../-/folders/folder/"),
    ] {
        let response = server.send("GET", target, browser);
        let status_and_location = (response.status, response.or_dash("location"));
        assert_eq!(status_and_location, (308, location), "{target}");
        assert_eq!(server.get_as(target, "image/webp,*/*").status, 404);
    }
    // Clients whose Accept field does not name HTML, such as curl, get a page without scripts. This
    // page has the path of the folder.
    home.put("folder/sub/q.jpg", &media::photo(48, 32, 2));
    home.put("folder/.git/r.jpg", &media::photo(48, 32, 3));
    for accept in ["", "accept: */*\r\n"] {
        for (target, location) in [
            ("/folder", "folder/"),
            ("//folder//", "../../../folder/"),
            ("/folder/sub", "../folder/sub/"),
        ] {
            let response = server.send("GET", target, accept);
            let status_and_location = (response.status, response.or_dash("location"));
            assert_eq!(status_and_location, (308, location), "{target} {accept}");
        }
        let page = server.send("GET", "/folder/", accept);
        let head = (page.status, page.content_type(), page.or_dash("vary"));
        assert_eq!(
            head,
            (200, "text/html; charset=utf-8", "Accept, Accept-Encoding"),
            "{accept}"
        );
        for link in [
            "<a href=\"../-/at/\">Pelton</a>/ folder</nav>",
            "href=\"../-/at/folder/sub/\"",
            "href=\"../folder/p.jpg\"",
        ] {
            assert!(page.text().contains(link), "{link}: {}", page.text());
        }
        assert!(!page.text().contains(".git"), "{}", page.text());
        assert_eq!(server.send("GET", "/folder/.git/", accept).status, 404);
    }
    let mut client = server.connect();
    client.request("HEAD", "/folder/", "");
    assert_eq!(client.head().status, 200);
    // The owner of another site can make its name resolve to this server. A page of that site still
    // cannot list the folder.
    let stranger = "GET /folder/ HTTP/1.1\r\nhost: evil.example\r\n\r\n";
    let mut client = server.connect();
    client.send(stranger);
    assert_eq!(client.head().status, 421);
    let view = server.send("GET", "/-/folders/folder/", browser);
    assert!(
        view.text().contains("href=\"../../../-/at/folder/\""),
        "{}",
        view.text()
    );
    assert_eq!(server.send("GET", "/-/at/folder/", browser).status, 200);
    assert_eq!(server.send("GET", "/missing/", browser).status, 404);
    assert_eq!(server.send("GET", "/%2e%2e/", browser).status, 404);
    server.stop();
}

#[test]
fn links_are_followed_inside_the_library_only() {
    let home = home();
    let link = |to: &str, name: &str| {
        symlink(to, home.library().join(name)).expect("links can be made");
    };
    link("../secret.gif", "out.gif");
    link("..", "up");
    link("/", "top");
    link("/proc/self/environ", "environ.gif");
    link("loop.gif", "loop.gif");
    link("missing", "dangling.gif");
    link("folder/p.jpg", "inside.jpg");
    link("folder", "other");
    let absolute = home.directory().join("secret.gif");
    link(absolute.to_str().expect("text"), "absolute.gif");
    let server = Server::plain(&home, &["--allowed-types", "*"]);
    for target in [
        "/out.gif",
        "/up/secret.gif",
        "/up/library/folder/p.jpg",
        "/top/etc/passwd",
        "/environ.gif",
        "/loop.gif",
        "/dangling.gif",
        "/absolute.gif",
        "/up",
    ] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    let photo = media::photo(48, 32, 1);
    assert_eq!(server.get("/inside.jpg").body, photo);
    assert_eq!(server.get("/other/p.jpg").body, photo);
    server.stop();
}

/// Data on a file system of its own, mounted below the data directory, is not served. If the host
/// does not permit mounts, the test checks nothing.
#[test]
fn mounts_in_the_data_directory_are_not_served_by_a_link() {
    const MOUNT: &str = "mount -t tmpfs none \"$1\" && echo text >\"$1/t.txt\"";
    let home = Home::with(&[("t.txt", b"text")]);
    let data = home.library().join("data");
    let mounted = data.join("own");
    fs::create_dir_all(&mounted).expect("the home can be written");
    symlink("data/own/t.txt", home.library().join("link.txt")).expect("links can be made");
    symlink("t.txt", home.library().join("inside.txt")).expect("links can be made");
    let apart = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]);
        command.arg(&mounted);
        command
    };
    let can_mount = apart(MOUNT).stderr(Stdio::null()).status();
    if !can_mount.is_ok_and(|status| status.success()) {
        return;
    }
    let mut command = apart(&format!("{MOUNT} && shift && exec \"$@\""));
    let program = pelton(&home, ["serve", "library", "--data", "library/data"]);
    command.arg(program.get_program()).args(program.get_args());
    command.args(["--listen", "127.0.0.1:0", "--allowed-types", "txt"]);
    let server = Server::run(command.current_dir(home.directory()));
    let statuses = ["/t.txt", "/inside.txt", "/link.txt", "/data/own/t.txt"];
    let statuses = statuses.map(|target| server.get(target).status);
    assert_eq!(statuses, [200, 200, 404, 404]);
    server.stop();
}

#[test]
fn hidden_files_and_our_own_data_are_not_served() {
    let photo = media::photo(48, 32, 1);
    let home = Home::with(&[
        ("p.jpg", &photo),
        (".hidden.jpg", &photo),
        (".git/p.jpg", &photo),
        ("pelton-data/inside.jpg", &photo),
        ("pelton-data-too/p.jpg", &photo),
    ]);
    let data = home.library().join("pelton-data");
    let data = data.to_str().expect("paths of tests are text");
    let server = Server::plain(&home, &["--data", data, "--allowed-types", "*"]);
    let made = server.get_as("/p.jpg", "image/webp");
    assert_eq!(made.content_type(), "image/webp");
    let tag = made.etag().trim_matches('"');
    let name = format!(
        "/pelton-data/variants/{}/{}/{tag}-{}.webp",
        &tag[..2],
        &tag[2..4],
        made.body.len()
    );
    assert!(home.library().join(&name[1..]).exists(), "{name}");
    for target in [
        &name[..],
        "/pelton-data/inside.jpg",
        "/pelton-data",
        "//pelton-data/inside.jpg",
        "/pelton%2ddata/inside.jpg",
        "/.hidden.jpg",
        "/%2ehidden.jpg",
        "/.git/p.jpg",
        "/-/pelton-data/",
        "/-/.git/",
    ] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    let page = server.get("/-/at/");
    for hidden in [".hidden", ".git", "/pelton-data/\""] {
        assert!(!page.text().contains(hidden), "{hidden}");
    }
    assert_eq!(server.get("/pelton-data-too/p.jpg").status, 200);
    server.stop();
}

#[test]
fn our_own_data_is_served_under_no_other_name() {
    let photo = media::photo(48, 32, 1);
    let home = Home::with(&[
        ("p.jpg", &photo),
        ("own/data/inside.jpg", &photo),
        ("own/data/users/secret.jpg", &photo),
    ]);
    let link = |to: &str, name: &str| {
        symlink(to, home.library().join(name)).expect("links can be made");
    };
    link("own/data", "link");
    link("own", "above");
    link("own/data/users", "people");
    link("own/data/inside.jpg", "inside.jpg");
    link("own/data/users/secret.jpg", "secret.jpg");
    link("p.jpg", "other.jpg");
    let data = home.library().join("own/data");
    let data = data.to_str().expect("paths of tests are text");
    let server = Server::plain(&home, &["--data", data, "--allowed-types", "*"]);
    for target in [
        "/own/data/inside.jpg",
        "/link/inside.jpg",
        "/above/data/inside.jpg",
        "/link/users/secret.jpg",
        "/above/data/users/secret.jpg",
        "/people/secret.jpg",
        "/inside.jpg",
        "/inside.jpg?w=8",
        "/secret.jpg",
        "/-/at/link/",
        "/-/at/link/users/",
        "/-/at/above/data/",
        "/-/at/people/",
    ] {
        // The second request may find a cached response.
        for _ in 0..2 {
            assert_eq!(server.get(target).status, 404, "{target}");
        }
    }
    for target in ["/p.jpg", "/other.jpg", "/-/at/own/", "/-/at/above/"] {
        assert_eq!(server.get(target).status, 200, "{target}");
    }
    server.stop();
}

#[test]
fn names_may_be_anything() {
    let photo = media::photo(48, 32, 1);
    let names = [
        ("100%.jpg", "/100%25.jpg"),
        ("a b+c.jpg", "/a%20b+c.jpg"),
        ("a#b?c.jpg", "/a%23b%3Fc.jpg"),
        ("日本語.jpg", "/%E6%97%A5%E6%9C%AC%E8%AA%9E.jpg"),
        ("\"quoted\"&<tag>.jpg", "/%22quoted%22%26%3Ctag%3E.jpg"),
        ("back\\slash.jpg", "/back%5Cslash.jpg"),
        ("no extension", "/no%20extension"),
        ("%2e%2e.jpg", "/%252e%252e.jpg"),
    ];
    let home = Home::new();
    for (name, _) in names {
        home.put(name, &photo);
    }
    let server = Server::plain(&home, &[]);
    for (name, target) in names {
        let response = server.get(target);
        assert_eq!(response.body, photo, "{name}");
        let webp = server.get_as(&format!("{target}?w=24"), "image/webp");
        assert_eq!(webp.size(), (24, 16), "{name}");
    }
    server.stop();
}

#[test]
fn prefixes_are_served_from_folders_of_their_own() {
    let home = home();
    let other = home.directory().join("other");
    fs::create_dir(&other).expect("the home can be written");
    fs::write(other.join("q.jpg"), media::photo(40, 30, 2)).expect("the home can be written");
    let map = format!("/a/b={}", other.display());
    let server = Server::plain(&home, &["--img-map", &map]);
    assert_eq!(server.get("/a/b/q.jpg").size(), (40, 30));
    for cache in ["Pelton; fwd=uri-miss; stored", "Pelton; hit"] {
        let response = server.get_as("/a/b/q.jpg?w=20", "image/webp");
        assert_eq!(
            (response.size(), response.field("cache-status")),
            ((20, 15), Some(cache))
        );
    }
    assert_eq!(server.get("/folder/p.jpg").size(), (48, 32));
    for target in [
        "/q.jpg",
        "/a/q.jpg",
        "/a/bq.jpg",
        "/a/b/../secret.gif",
        "/a/b",
    ] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    server.stop();
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}
