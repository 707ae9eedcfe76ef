//! Tests of the quarantine of originals that crash workers.

use super::{CRASHES_MAX, Crash, Quarantine, Quarantined, SUSPECTS_MAX, folder, lift, list};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Data directory of one test, removed when dropped.
struct Data(PathBuf);

impl Data {
    fn new() -> Data {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pelton-quarantine-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("temporary directory");
        Data(path)
    }

    fn open(&self) -> Quarantine {
        Quarantine::open(&self.0)
    }

    fn listed(&self) -> Vec<Quarantined> {
        list(&self.0).expect("the folder can be listed")
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("own directory");
    }
}

fn original(text: &str) -> (File, u64) {
    let memory = memfd_create("original", MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.expect("memory for a few bytes"));
    file.write_all(text.as_bytes())
        .expect("memory for a few bytes");
    (file, text.len() as u64)
}

fn contains_for(quarantine: &Quarantine, text: &str, is_improvement: bool) -> bool {
    let (file, bytes) = original(text);
    let held = quarantine.contains(&file, bytes, is_improvement);
    held.expect("memory can be read")
}

fn contains(quarantine: &Quarantine, text: &str) -> bool {
    contains_for(quarantine, text, false)
}

fn note_one(quarantine: &Quarantine, text: &str, is_improvement: bool) {
    let (file, bytes) = original(text);
    let crash = Crash {
        path: Path::new("folder/\u{1b}odd\n.jpg"),
        cause: "cell: crashed: killed by signal 11".to_owned(),
        is_improvement,
    };
    let noted = quarantine.note(&file, bytes, &crash);
    noted.expect("memory can be read");
}

fn note(quarantine: &Quarantine, text: &str) {
    note_one(quarantine, text, false);
}

#[test]
fn n12_what_killed_often_enough_is_held_whatever_it_is_called() {
    let data = Data::new();
    let quarantine = data.open();
    for _ in 0..CRASHES_MAX {
        assert!(!contains(&quarantine, "evil"));
        note(&quarantine, "evil");
    }
    assert!(contains(&quarantine, "evil"));
    assert!(!contains(&quarantine, "good"), "as long, but another one");
    assert!(!contains(&quarantine, "evil and long"));
    assert_eq!(quarantine.count(), 1);
}

#[test]
fn the_number_of_suspects_is_bounded() {
    let data = Data::new();
    let quarantine = data.open();
    for number in 0..100 {
        for _ in 0..CRASHES_MAX {
            note(&quarantine, &format!("{number:04}"));
        }
    }
    let held = (0..100).filter(|number| contains(&quarantine, &format!("{number:04}")));
    assert_eq!(held.count(), SUSPECTS_MAX);
}

#[test]
fn crashed_improvements_stop_only_improvements() {
    let data = Data::new();
    let quarantine = data.open();
    for _ in 0..10 * CRASHES_MAX {
        note_one(&quarantine, "odd", true);
    }
    assert!(contains_for(&quarantine, "odd", true));
    assert!(!contains(&quarantine, "odd"), "requests go on");
    assert_eq!((quarantine.count(), data.listed()), (0, vec![]));
    for _ in 0..CRASHES_MAX {
        note(&quarantine, "odd");
    }
    assert!(contains(&quarantine, "odd"));
}

#[test]
fn what_is_held_is_listed_and_outlives_the_process() {
    let data = Data::new();
    let quarantine = data.open();
    for _ in 0..CRASHES_MAX {
        note(&quarantine, "evil");
    }
    let [entry] = &data.listed()[..] else {
        panic!("{:?}", data.listed());
    };
    assert_eq!(entry.path, "folder/\\u{1b}odd\\n.jpg");
    assert_eq!(entry.cause, "cell: crashed: killed by signal 11");
    assert_eq!(entry.bytes, 4);
    assert_eq!(entry.hash, blake3::hash(b"evil").to_string());
    let next = data.open();
    assert!(contains(&next, "evil"));
    assert!(!contains(&next, "good"));
}

#[test]
fn a_running_server_retries_lifted_originals() {
    for by_path in [true, false] {
        let data = Data::new();
        let quarantine = data.open();
        for _ in 0..CRASHES_MAX {
            note(&quarantine, "evil");
        }
        let entry = data.listed().remove(0);
        let name = if by_path { &entry.path } else { &entry.hash };
        assert_eq!(lift(&data.0, "another").expect("can be read"), []);
        assert!(contains(&quarantine, "evil"));
        let lifted = lift(&data.0, name).expect("can be removed");
        assert_eq!(lifted, std::slice::from_ref(&entry));
        assert!(!contains(&quarantine, "evil"));
        assert_eq!((quarantine.count(), data.listed()), (0, vec![]));
        // Lifting the quarantine has reset the count: only `CRASHES_MAX` further crashes put the
        // original into quarantine again.
        for _ in 0..CRASHES_MAX {
            assert!(!contains(&quarantine, "evil"));
            note(&quarantine, "evil");
        }
        assert!(contains(&quarantine, "evil"));
    }
}

#[test]
fn a_new_encoder_version_lifts_the_quarantine() {
    let data = Data::new();
    let quarantine = data.open();
    for _ in 0..CRASHES_MAX {
        note(&quarantine, "evil");
    }
    let file = folder(&data.0).join(blake3::hash(b"evil").to_string());
    let text = fs::read_to_string(&file).expect("was written");
    let line = text.lines().nth(1).expect("it has a second line");
    let older = text.replace(line, "encoders 0");
    fs::write(&file, older).expect("own directory");
    assert!(!contains(&data.open(), "evil"));
    assert_eq!(data.listed(), []);
}

#[test]
fn files_without_a_description_are_ignored() {
    let data = Data::new();
    fs::create_dir_all(folder(&data.0)).expect("own directory");
    fs::write(folder(&data.0).join("note"), "pelton quarantine 1\npath").expect("own directory");
    assert_eq!(data.listed(), []);
    assert_eq!(data.open().count(), 0);
}
