use std::time::Duration;

use super::*;

const LOCK: &str = r#"version = 4

[[package]]
name = "bytes"
version = "1.12.0"
checksum = "aa"

[[package]]
name = "libaom-sys"
version = "0.17.2"
checksum = "bb"
dependencies = [
 "cmake",
]
"#;

#[test]
fn key_follows_the_compiler_and_the_codecs_only() {
    let base = key("rustc 1.95.0", LOCK);
    let same = |lock: &str| key("rustc 1.95.0", lock) == base;
    assert!(same(&LOCK.replace("1.12.0", "1.13.0")));
    assert!(same(&LOCK.replace("\"cmake\"", "\"cc\"")));
    assert!(!same(&LOCK.replace("0.17.2", "0.17.3")));
    assert!(!same(&LOCK.replace("\"bb\"", "\"cc\"")));
    assert_ne!(key("rustc 1.96.0", LOCK), base);
}

/// Creates an empty folder that no other test uses.
fn empty_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_folder_knows_the_checkout_before() {
    let folder = empty_folder("claims");
    let (one, two) = (Path::new("/srv/one"), Path::new("/srv/two"));
    for (checkout, from) in [
        (one, None),
        (one, None),
        (two, Some("/srv/one")),
        (two, None),
        (one, Some("/srv/two")),
    ] {
        let mut folder_lock = FolderLock::wait(&folder, checkout).unwrap();
        assert_eq!(folder_lock.from.as_deref(), from);
        folder_lock.sign(checkout).unwrap();
    }
}

#[test]
fn the_newest_builds_and_those_in_use_stay() {
    let cache = empty_folder("builds");
    fs::create_dir(cache.join("cargo-deny-1")).unwrap();
    fs::create_dir(cache.join("build-unfinished")).unwrap();
    let mut folder_locks = Vec::new();
    for (day, name) in ["build-used", "build-old", "build-new", "build-newest"]
        .iter()
        .enumerate()
    {
        let folder_lock = FolderLock::wait(&cache.join(name), &cache).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * (1 + day as u64));
        folder_lock.owner.set_modified(modified).unwrap();
        folder_locks.push(folder_lock);
    }
    folder_locks.truncate(1);
    prune(&cache, "build").unwrap();

    let entries = fs::read_dir(&cache).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(
        names,
        ["build-new", "build-newest", "build-used", "cargo-deny-1"]
    );
}
