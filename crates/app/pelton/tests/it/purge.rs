//! `pelton purge`, and tags of paths.

use std::fs;
use std::process::Output;

use crate::harness::{Home, Server, media, pelton};
use crate::players::user;

const WEBP: &str = "accept: image/webp\r\n";

fn home() -> Home {
    Home::with(&[
        ("a/1.jpg", &media::photo(480, 320, 1)),
        ("b/2.jpg", &media::photo(480, 320, 2)),
        ("b/3.jpg", &media::photo(480, 320, 3)),
    ])
}

/// Runs `pelton purge` with the API key of an admin.
fn purge(home: &Home, server: &Server, words: &[&str]) -> (Option<i32>, String, String) {
    let key = home.directory().join("key");
    let url = format!("http://{}", server.address());
    let mut command = pelton(home, ["purge", "--url", &url]);
    let command = command.arg("--key-file").arg(key).args(words);
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_command_purges_a_path_a_tag_or_everything() {
    let home = home();
    let added = user(&home, &["add", "ann", "--admin"], "sesame\n");
    assert_eq!(added.0, Some(0));
    let key = user(&home, &["key", "ann", "purge"], "").1;
    fs::write(home.directory().join("key"), key).expect("a writable folder");
    let server = Server::plain(&home, &["--tags", "best=/b/2.jpg|best=/a"]);
    let convert = |path| assert_eq!(server.send("GET", path, WEBP).status, 200);
    let purged = |words: &[&str]| {
        for path in ["/a/1.jpg?w=90", "/b/2.jpg?w=90", "/b/3.jpg?w=90"] {
            convert(path);
        }
        let (code, out, err) = purge(&home, &server, words);
        assert_eq!((code, &*err), (Some(0), ""), "{words:?}");
        let number = out
            .strip_prefix("purged ")
            .and_then(|it| it.split(' ').next());
        let number = number.and_then(|number| number.parse::<u64>().ok());
        // A core may send a response from its memory until `limits.revalidate_after` has passed on
        // its clock, which advances twice per second.
        std::thread::sleep(std::time::Duration::from_millis(2_200));
        number.expect("a number")
    };
    let (one, two) = (purged(&["/a/1.jpg"]), purged(&["--tag", "best"]));
    assert!(0 < one && one < two, "{one} {two}");
    let folder = purged(&["b"]);
    assert!(one < folder && folder < purged(&["--all"]), "{folder}");
    let refusals = [
        (
            &["none.jpg"][..],
            "responded with 404: no such file or folder",
        ),
        (
            &["--tag", "worst"],
            "responded with 404: no file or folder has this tag",
        ),
        (&["/a/../b"], "responded with 400: the query must be empty"),
    ];
    for (words, refusal) in refusals {
        let (code, out, err) = purge(&home, &server, words);
        assert_eq!((code, &*out), (Some(2), ""), "{words:?}");
        assert!(err.contains(refusal), "{err}");
    }
    fs::write(home.directory().join("key"), "wrong").expect("a writable folder");
    let (code, _, err) = purge(&home, &server, &["--all"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("responded with 401"), "{err}");
    let url = format!("http://{}", server.address());
    server.stop();
    let stopped = pelton(&home, ["purge", "--all", "--url", &url]).output();
    assert_eq!(stopped.expect("it starts").status.code(), Some(3));
}

#[test]
fn exactly_one_selection_is_required() {
    let home = home();
    for words in [&[][..], &["--all", "--tag", "a"], &["b", "--all"]] {
        let output = pelton(&home, ["purge"]).args(words).output();
        assert_eq!(
            output.expect("it starts").status.code(),
            Some(2),
            "{words:?}"
        );
    }
}

#[test]
fn responses_name_the_tags_of_their_path() {
    let home = home();
    let server = Server::plain(&home, &["--tags", "best=/b/2.jpg|archive=/b"]);
    let tags = |target: &str| {
        let response = server.send("GET", target, WEBP);
        assert_eq!(response.status, 200, "{}", response.text());
        ["cache-tag", "surrogate-key"].map(|name| response.or_dash(name).to_owned())
    };
    assert_eq!(tags("/b/2.jpg?w=90"), ["archive,best", "archive best"]);
    assert_eq!(tags("/b/3.jpg"), ["archive", "archive"]);
    assert_eq!(tags("/a/1.jpg"), ["-", "-"]);
    server.stop();
}
