use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Library, LibraryPath, Missing, Mount, Wait};

/// Temporary directory of one test, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("pelton-library-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("temporary directory");
        Scratch(path)
    }

    fn library(&self, mounts: &[(&str, &str)]) -> Library {
        let mount = |(prefix, directory): &(&str, &str)| Mount {
            prefix: (*prefix).to_owned(),
            directory: self.0.join(directory),
            is_internal: *prefix == "ours",
        };
        let mounts: Vec<_> = mounts.iter().map(mount).collect();
        Library::open(&mounts, &self.0.join("root/data")).expect("mounts exist")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("own directory");
    }
}

fn found(library: &Library, target: &str) -> bool {
    let Some(path) = LibraryPath::from_target(target) else {
        return false;
    };
    match library.identify(&path, Wait::Allowed) {
        Ok(_) => true,
        Err(Missing::NotFound) => false,
        Err(other) => panic!("{target}: {other:?}"),
    }
}

#[test]
fn targets_become_paths_or_nothing() {
    let cases = [
        ("/a.jpg", Some("a.jpg")),
        ("/a/b.jpg", Some("a/b.jpg")),
        ("//a.jpg", None),
        ("/a//b.jpg", None),
        ("/a/b.jpg/", None),
        ("/a/b.jpg///", None),
        ("/a%20b.jpg", Some("a b.jpg")),
        ("/a+b.jpg", Some("a+b.jpg")),
        ("/100%25.jpg", Some("100%.jpg")),
        ("/a%23b%3Fc.jpg", Some("a#b?c.jpg")),
        ("/a%252e.jpg", Some("a%2e.jpg")),
        ("/%2Fetc%2Fpasswd", None),
        ("/a%2fb.jpg", None),
        ("/a\\..\\b", Some("a\\..\\b")),
        ("/", None),
        ("/..", None),
        ("/../a", None),
        ("/a/../b", None),
        ("/a/..%2fb", None),
        ("/%2e%2e/a", None),
        ("/.%2e/a", None),
        ("/a/%2e", None),
        ("/.git/config", None),
        ("/a/.hidden.jpg", None),
        ("/a%00.jpg", None),
        ("/a%", None),
        ("/a%4", None),
        ("/a%zz", None),
    ];
    for (target, expected) in cases {
        let path = LibraryPath::from_target(target);
        assert_eq!(
            path.as_ref().map(LibraryPath::as_path),
            expected.map(Path::new),
            "{target}"
        );
    }
    let long = format!("/{}", "a".repeat(4096));
    assert_eq!(LibraryPath::from_target(&long), None);
}

#[test]
fn no_link_and_no_special_file_leads_out() {
    let scratch = Scratch::new("links");
    fs::create_dir_all(scratch.0.join("root/sub")).expect("directories");
    fs::write(scratch.0.join("root/a.jpg"), "a").expect("file");
    fs::write(scratch.0.join("secret.jpg"), "s").expect("file");
    let link = |to: &str, name: &str| symlink(to, scratch.0.join("root").join(name)).expect("link");
    link("a.jpg", "inside.jpg");
    link("../a.jpg", "sub/up.jpg");
    link("../secret.jpg", "out.jpg");
    link("/etc/passwd", "absolute.jpg");
    link("..", "parent");
    link("loop.jpg", "loop.jpg");
    link("/proc/self/root", "magic");
    let library = scratch.library(&[("", "root")]);

    for target in ["/a.jpg", "/inside.jpg", "/sub/up.jpg"] {
        assert!(found(&library, target), "{target}");
    }
    let refused = [
        "/out.jpg",
        "/absolute.jpg",
        "/parent/secret.jpg",
        "/loop.jpg",
        "/magic/etc/passwd",
        "/sub",
        "/none.jpg",
    ];
    for target in refused {
        assert!(!found(&library, target), "{target}");
    }
}

#[test]
fn our_own_data_inside_the_root_is_not_served() {
    let scratch = Scratch::new("data");
    fs::create_dir_all(scratch.0.join("root/data/variants")).expect("directories");
    fs::create_dir_all(scratch.0.join("root/database")).expect("directories");
    for file in [
        "root/data/variants/v.webp",
        "root/data.jpg",
        "root/database/a.jpg",
    ] {
        fs::write(scratch.0.join(file), "x").expect("file");
    }
    let library = scratch.library(&[("", "root")]);
    assert!(!found(&library, "/data/variants/v.webp"));
    assert!(found(&library, "/data.jpg"));
    assert!(found(&library, "/database/a.jpg"));
}

#[test]
fn the_longest_prefix_wins() {
    let scratch = Scratch::new("mounts");
    for (directory, file) in [("root", "a.jpg"), ("one", "b.jpg"), ("two", "c.jpg")] {
        fs::create_dir_all(scratch.0.join(directory)).expect("directory");
        fs::write(scratch.0.join(directory).join(file), "x").expect("file");
    }
    let library = scratch.library(&[("", "root"), ("/one/", "one"), ("/one/two", "two")]);
    let cases = [
        ("/a.jpg", true),
        ("/one/b.jpg", true),
        ("/one/two/c.jpg", true),
        ("/one/c.jpg", false),
        ("/onemore/b.jpg", false),
        ("/one", false),
    ];
    for (target, expected) in cases {
        assert_eq!(found(&library, target), expected, "{target}");
    }
}

#[test]
fn a_changed_original_is_another() {
    let scratch = Scratch::new("changed");
    fs::create_dir_all(scratch.0.join("root")).expect("directory");
    let file = scratch.0.join("root/a.jpg");
    fs::write(&file, "one").expect("file");
    let library = scratch.library(&[("", "root")]);
    let path = LibraryPath::from_target("/a.jpg").expect("plain");
    let before = library.identify(&path, Wait::Allowed).expect("there");
    assert_eq!(library.open_original(&path).expect("there").1, before);
    fs::write(&file, "three").expect("file");
    let after = library.identify(&path, Wait::Allowed).expect("there");
    assert_ne!(before, after);
    assert_ne!(before.etag(), after.etag());
}
