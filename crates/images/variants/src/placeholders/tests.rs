use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use image_plan::Placeholder;

use super::{Placeholders, RECORD_BYTES};
use crate::library::Identity;

/// Temporary data directory of one test, removed when dropped.
struct Data(PathBuf);

impl Data {
    fn new() -> Data {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(
            "pelton-placeholders-{}-{number}",
            std::process::id()
        ));
        Data(path)
    }

    fn placeholders(&self, placeholders_max: usize) -> Placeholders {
        Placeholders::open(
            &self.0,
            NonZeroUsize::new(placeholders_max).expect("not zero"),
        )
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.0.join("placeholders")).expect("written")
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("own directory");
    }
}

fn identity(inode: u64) -> Identity {
    Identity {
        device: 1,
        inode,
        size_bytes: 3,
        modified_s: 4,
        modified_ns: 5,
        inode_changed_s: 6,
        inode_changed_ns: 7,
    }
}

fn placeholder(number: u8) -> Placeholder {
    Placeholder::new([number, 0, 0], "00", &[number])
}

#[test]
fn placeholders_outlive_the_process_and_are_written_once() {
    let data = Data::new();
    let placeholders = data.placeholders(10);
    assert_eq!(placeholders.find(&identity(1)), None);
    placeholders.keep(&identity(1), placeholder(1));
    placeholders.keep(&identity(2), placeholder(2));
    placeholders.keep(&identity(1), placeholder(1));
    assert_eq!(data.bytes().len(), 2 * RECORD_BYTES);
    let placeholders = data.placeholders(10);
    let found = [1, 2, 3].map(|inode| placeholders.find(&identity(inode)));
    assert_eq!(found, [Some(placeholder(1)), Some(placeholder(2)), None]);
}

#[test]
fn a_truncated_or_changed_record_costs_itself_alone() {
    let data = Data::new();
    let placeholders = data.placeholders(10);
    (1..=3).for_each(|number| placeholders.keep(&identity(number.into()), placeholder(number)));
    let mut bytes = data.bytes();
    bytes[RECORD_BYTES + 20] ^= 1;
    bytes.truncate(3 * RECORD_BYTES - 1);
    fs::write(data.0.join("placeholders"), bytes).expect("writable");
    let placeholders = data.placeholders(10);
    let found = [1, 2, 3].map(|inode| placeholders.find(&identity(inode)));
    assert_eq!(found, [Some(placeholder(1)), None, None]);
    placeholders.keep(&identity(4), placeholder(4));
    assert_eq!(
        data.placeholders(10).find(&identity(4)),
        Some(placeholder(4))
    );
    assert_eq!(data.bytes().len(), 2 * RECORD_BYTES);
}

#[test]
fn memory_and_disk_are_bounded_and_the_last_used_stay() {
    let data = Data::new();
    let placeholders = data.placeholders(3);
    for number in 1..=50 {
        placeholders.keep(&identity(number.into()), placeholder(number));
        assert!(
            placeholders.find(&identity(1)).is_some(),
            "used all the time"
        );
        assert!(data.bytes().len() <= 6 * RECORD_BYTES);
    }
    let placeholders = data.placeholders(3);
    let kept = |number: &u8| placeholders.find(&identity((*number).into())).is_some();
    let kept: Vec<u8> = (1..=50).filter(kept).collect();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2], 50);
}
