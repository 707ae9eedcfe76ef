//! Originals that kill.

use super::{DEATHS_MAX, Quarantine, SUSPECTS_MAX};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;

fn original(text: &str) -> (File, u64) {
    let memory = memfd_create("original", MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.expect("memory for a few bytes"));
    file.write_all(text.as_bytes())
        .expect("memory for a few bytes");
    (file, text.len() as u64)
}

fn holds(quarantine: &Quarantine, text: &str) -> bool {
    let (file, bytes) = original(text);
    quarantine.holds(&file, bytes).expect("memory can be read")
}

fn note(quarantine: &Quarantine, text: &str) {
    let (file, bytes) = original(text);
    quarantine.note(&file, bytes).expect("memory can be read");
}

#[test]
fn n12_what_killed_often_enough_is_held_whatever_it_is_called() {
    let quarantine = Quarantine::new();
    for _ in 0..DEATHS_MAX {
        assert!(!holds(&quarantine, "evil"));
        note(&quarantine, "evil");
    }
    assert!(holds(&quarantine, "evil"));
    assert!(!holds(&quarantine, "good"), "as long, but another one");
    assert!(!holds(&quarantine, "evil and long"));
}

#[test]
fn no_number_of_suspects_grows_it_without_bound() {
    let quarantine = Quarantine::new();
    for number in 0..100 {
        for _ in 0..DEATHS_MAX {
            note(&quarantine, &format!("{number:04}"));
        }
    }
    let held = (0..100).filter(|number| holds(&quarantine, &format!("{number:04}")));
    assert_eq!(held.count(), SUSPECTS_MAX);
}
