use std::fs;

use super::*;

#[test]
fn the_major_version_is_read() {
    for (text, expected) in [
        ("v20.20.2\n", Some(20)),
        ("v9.1.0", Some(9)),
        ("20.1.0", None),
        ("v20", None),
        ("vx.1", None),
    ] {
        assert_eq!(major(text), expected, "{text}");
    }
}

#[test]
fn a_link_replaces_whatever_had_its_name() {
    let folder = std::env::temp_dir().join(format!("toolkit-node-{}", std::process::id()));
    let (target, place) = (folder.join("packages"), folder.join("node_modules"));
    fs::create_dir_all(&target).expect("the folder is created");
    let same = || fs::read_link(&place).is_ok_and(|present| present == target);
    link(&target, &place).expect("nothing is there");
    assert!(same());
    link(&target, &place).expect("the link is there");
    assert!(same());
    fs::remove_file(&place).expect("the link is removed");
    symlink("elsewhere", &place).expect("another link is there");
    link(&target, &place).expect("another link is there");
    assert!(same());
    fs::remove_file(&place).expect("the link is removed");
    fs::create_dir_all(place.join("preact")).expect("a folder is there");
    link(&target, &place).expect("a folder is there");
    assert!(same());
    fs::remove_dir_all(&folder).expect("the folder is removed");
}
