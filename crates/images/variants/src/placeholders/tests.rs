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
        let path =
            std::env::temp_dir().join(format!("pelton-looks-{}-{number}", std::process::id()));
        Data(path)
    }

    fn looks(&self, looks_max: usize) -> Placeholders {
        Placeholders::open(&self.0, NonZeroUsize::new(looks_max).expect("not zero"))
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.0.join("looks")).expect("written")
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

fn look(number: u8) -> Placeholder {
    Placeholder::new([number, 0, 0], "00", &[number])
}

#[test]
fn looks_outlive_the_process_and_are_written_once() {
    let data = Data::new();
    let looks = data.looks(10);
    assert_eq!(looks.find(&identity(1)), None);
    looks.keep(&identity(1), look(1));
    looks.keep(&identity(2), look(2));
    looks.keep(&identity(1), look(1));
    assert_eq!(data.bytes().len(), 2 * RECORD_BYTES);
    let looks = data.looks(10);
    let found = [1, 2, 3].map(|inode| looks.find(&identity(inode)));
    assert_eq!(found, [Some(look(1)), Some(look(2)), None]);
}

#[test]
fn a_record_that_a_crash_cut_or_somebody_changed_costs_itself_alone() {
    let data = Data::new();
    let looks = data.looks(10);
    (1..=3).for_each(|number| looks.keep(&identity(number.into()), look(number)));
    let mut bytes = data.bytes();
    bytes[RECORD_BYTES + 20] ^= 1;
    bytes.truncate(3 * RECORD_BYTES - 1);
    fs::write(data.0.join("looks"), bytes).expect("writable");
    let looks = data.looks(10);
    let found = [1, 2, 3].map(|inode| looks.find(&identity(inode)));
    assert_eq!(found, [Some(look(1)), None, None]);
    looks.keep(&identity(4), look(4));
    assert_eq!(data.looks(10).find(&identity(4)), Some(look(4)));
    assert_eq!(data.bytes().len(), 2 * RECORD_BYTES);
}

#[test]
fn memory_and_disk_are_bounded_and_the_last_used_stay() {
    let data = Data::new();
    let looks = data.looks(3);
    for number in 1..=50 {
        looks.keep(&identity(number.into()), look(number));
        assert!(looks.find(&identity(1)).is_some(), "used all the time");
        assert!(data.bytes().len() <= 6 * RECORD_BYTES);
    }
    let looks = data.looks(3);
    let kept = |number: &u8| looks.find(&identity((*number).into())).is_some();
    let kept: Vec<u8> = (1..=50).filter(kept).collect();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2], 50);
}
