use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Key, Kind, OriginalKey, Purged, StillLoading, Variants, Verdict};
use crate::sealed::Sealed;
use image_plan::Target;

const WEBP: Kind = Kind::Picture(Target::Webp);

/// Temporary data directory of one test, removed when dropped.
struct Data(PathBuf);

impl Data {
    fn new() -> Data {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("pelton-variants-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("temporary directory");
        Data(path)
    }

    /// Returns an index that has loaded the directory, as after a restart.
    fn loaded(&self, bytes_max: u64) -> Variants {
        let variants = Variants::new(&self.0, bytes_max);
        variants.load().expect("directory can be read");
        variants
    }

    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.join("variants")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)
                .expect("exists")
                .map(|entry| entry.expect("readable"))
            {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.push(entry.file_name().into_string().expect("ours are ASCII"));
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("own directory");
    }
}

fn key(first: u8) -> Key {
    Key([first; 16])
}

fn sealed(data: &Data, bytes: &[u8]) -> Sealed {
    let path = data.0.join("body");
    let mut file = fs::File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(path)
        .expect("file");
    file.write_all(bytes).expect("room");
    // Extra bytes, since the memory file of a sandbox is longer than the result that it contains.
    file.write_all(b"rest").expect("room");
    Sealed {
        file: Arc::new(file),
        start: 0,
        bytes: bytes.len() as u64,
        cpu_us: 0,
    }
}

#[test]
fn a_variant_outlives_the_process_with_its_bytes_and_kind() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    variants
        .store(key(1), WEBP, Some(&sealed(&data, b"picture")), 5)
        .expect("writable");
    variants
        .store(key(2), Kind::LARGER, None, 5)
        .expect("writable");
    assert_eq!(
        data.files(),
        [
            "01010101010101010101010101010101-7.webp",
            "02020202020202020202020202020202-0.larger"
        ]
    );

    let variants = data.loaded(1 << 20);
    let found = variants.find(&key(1), 0).expect("loaded").expect("kept");
    assert_eq!((found.kind, found.bytes), (WEBP, 7));
    assert_eq!(&*variants.read(&found).expect("whole"), b"picture");
    let verdict = variants.find(&key(2), 0).expect("loaded").expect("kept");
    assert_eq!((verdict.kind, verdict.bytes), (Kind::LARGER, 0));
    assert_eq!(
        variants
            .find(&key(3), 0)
            .expect("loaded")
            .map(|variant| variant.key),
        None
    );
}

#[test]
fn before_the_directory_was_read_only_the_disk_knows() {
    let data = Data::new();
    data.loaded(1 << 20)
        .store(key(1), WEBP, Some(&sealed(&data, b"picture")), 5)
        .expect("writable");
    let variants = Variants::new(&data.0, 1 << 20);
    assert_eq!(variants.find(&key(1), 0).map(|_| ()), Err(StillLoading));
    assert_eq!(
        variants
            .find_on_disk(&key(1), 0)
            .map(|variant| variant.bytes),
        Some(7)
    );
    assert!(variants.find(&key(1), 0).expect("adopted").is_some());
    assert!(variants.find_on_disk(&key(9), 0).is_none());
    variants.load().expect("directory can be read");
    assert_eq!(variants.stats().entries, 1, "adopting twice counts once");
}

#[test]
fn what_a_crash_left_short_or_unnamed_is_removed_and_not_served() {
    let data = Data::new();
    data.loaded(1 << 20)
        .store(key(1), WEBP, Some(&sealed(&data, b"picture")), 5)
        .expect("writable");
    let shard_folder = data.0.join("variants/01/01");
    fs::write(
        shard_folder.join("01010101010101010101010101010102-9.avif"),
        b"short",
    )
    .expect("file");
    fs::write(
        shard_folder.join("01010101010101010101010101010103-0.avif.part"),
        b"",
    )
    .expect("file");
    fs::create_dir_all(data.0.join("variants/tmp")).expect("directory");
    fs::write(data.0.join("variants/tmp/1-1"), b"half").expect("file");
    let variants = data.loaded(1 << 20);
    assert_eq!(data.files(), ["01010101010101010101010101010101-7.webp"]);
    assert_eq!(variants.stats().entries, 1);
}

#[test]
fn a_file_that_vanished_or_shrank_is_forgotten_not_served() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    let stored = variants
        .store(key(1), WEBP, Some(&sealed(&data, b"picture")), 5)
        .expect("writable");
    fs::write(
        data.0.join("variants/01/01").join(stored.file_name()),
        b"pic",
    )
    .expect("file");
    assert!(variants.read(&stored).is_err());
    assert!(variants.find(&key(1), 0).expect("loaded").is_none());
    assert_eq!(variants.stats().bytes, 0);
}

#[test]
fn the_least_recently_used_leaves_first_and_the_order_survives_a_restart() {
    let data = Data::new();
    let body = [7; 1000];
    let variants = data.loaded(1 << 20);
    for (number, used_ms) in [(1, 10_000), (2, 20_000), (3, 30_000)] {
        variants
            .store(key(number), WEBP, Some(&sealed(&data, &body)), used_ms)
            .expect("writable");
    }
    variants
        .find(&key(1), 0)
        .expect("loaded")
        .expect("kept")
        .touch(40_000);
    variants.persist_uses(0);

    // There is room for three and a half variants, so the fourth one evicts the least recently used
    // one, which is the second.
    let variants = data.loaded(3 * 1512 + 756);
    variants
        .store(key(4), WEBP, Some(&sealed(&data, &body)), 50_000)
        .expect("writable");
    let kept = |number: &u8| variants.find(&key(*number), 0).expect("loaded").is_some();
    let left: Vec<u8> = (1..=4).filter(kept).collect();
    assert_eq!(left, [1, 3, 4]);
    assert_eq!(data.files().len(), left.len());
}

#[test]
fn a_verdict_in_memory_expires() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    variants.remember(key(1), Verdict::Faulty, 1_000);
    assert!(variants.find(&key(1), 60_999).expect("loaded").is_some());
    assert!(variants.find(&key(1), 61_000).expect("loaded").is_none());
    assert!(!data.0.join("variants").exists());
}

#[test]
fn a_disk_that_takes_nothing_is_an_error_and_changes_nothing() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    fs::write(data.0.join("variants"), b"a file in the way").expect("file");
    assert!(
        variants
            .store(key(1), WEBP, Some(&sealed(&data, b"picture")), 5)
            .is_err()
    );
    assert!(variants.find(&key(1), 0).expect("loaded").is_none());
    assert_eq!(variants.stats().write_errors, 1);
    fs::remove_file(data.0.join("variants")).expect("file");
    variants
        .store(key(1), WEBP, Some(&sealed(&data, b"picture")), 5)
        .expect("writable again");
    assert!(variants.find(&key(1), 0).expect("loaded").is_some());
}

#[test]
fn what_was_too_costly_is_tried_again_by_the_next_process() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    variants.remember_costly(key(1), 1_000, None);
    let costly = Kind::Verdict(Verdict::TooCostly);
    let known = variants.find(&key(1), u64::MAX).expect("is loaded");
    assert_eq!(known.map(|known| known.kind), Some(costly));
    // Earlier versions wrote this verdict to the disk, as a file of this name. Loading removes the
    // file.
    let shard_folder = data.0.join("variants/02/02");
    fs::create_dir_all(&shard_folder).expect("own directory");
    let name = format!("{}-0.costly", key(2));
    fs::write(shard_folder.join(name), "").expect("own directory");
    let next = data.loaded(1 << 20);
    for number in [1, 2] {
        let known = next.find(&key(number), 1_000).expect("is loaded");
        assert!(known.is_none());
    }
    assert_eq!(data.files(), Vec::<String>::new());
}

#[test]
fn what_a_busy_machine_did_not_get_done_is_tried_again_later() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    variants.remember_costly(key(1), 1_000, Some(5_000));
    let is_known = |now_ms| {
        let known = variants.find(&key(1), now_ms).expect("is loaded");
        known.is_some()
    };
    assert_eq!((is_known(4_999), is_known(5_000)), (true, false));
}

#[test]
fn a_variant_in_sealed_memory_is_not_read_from_the_disk() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    let body = sealed(&data, b"a picture");
    let stored = variants.store(key(1), WEBP, Some(&body), 1);
    let variant = stored.expect("the disk has room");
    fs::remove_dir_all(data.0.join("variants")).expect("own directory");
    let read = variants.read_sealed(&variant, &body);
    let read = read.expect("the memory file can be read");
    assert_eq!(&read[..], b"a picture");
    // A second reader shares the bytes while the first one holds them.
    let shared = variants.read(&variant).expect("the bytes are in memory");
    assert!(Arc::ptr_eq(&read, &shared));
    drop((read, shared));
    assert!(variants.read(&variant).is_err(), "the file is gone");
}

#[test]
fn a_purge_removes_the_files_of_the_named_originals_and_then_all() {
    let data = Data::new();
    let variants = data.loaded(1 << 20);
    let body = [7; 100];
    for number in 1..=3 {
        variants
            .store(key(number), WEBP, Some(&sealed(&data, &body)), 0)
            .expect("writable");
    }
    variants
        .store(key(4), Kind::LARGER, None, 0)
        .expect("writable");
    let wanted = [
        OriginalKey([2; 8]),
        OriginalKey([4; 8]),
        OriginalKey([9; 8]),
    ];
    let purged = variants.purge(Some(&wanted.into())).expect("loaded");
    assert_eq!((purged.entries, purged.bytes), (2, 100));
    let kept = |number: &u8| variants.find(&key(*number), 0).expect("loaded").is_some();
    assert_eq!((1..=4).filter(kept).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(data.files().len(), 2);

    let all = Purged {
        entries: 2,
        bytes: 200,
    };
    assert_eq!(variants.purge(None), Ok(all));
    assert_eq!(data.files(), Vec::<String>::new());
    let stats = variants.stats();
    assert_eq!((stats.entries, stats.bytes, stats.purged), (0, 0, 4));
}

#[test]
fn nothing_is_purged_before_the_directory_was_read() {
    let data = Data::new();
    let variants = Variants::new(&data.0, 1 << 20);
    assert_eq!(variants.purge(None), Err(StillLoading));
}

#[test]
fn the_keys_of_one_original_begin_alike_and_those_of_another_do_not() {
    let identity = |inode| crate::library::Identity {
        device: 1,
        inode,
        size_bytes: 3,
        modified_s: 4,
        modified_ns: 5,
        inode_changed_s: 6,
        inode_changed_ns: 7,
    };
    let plan = |bit_rate_bps| audio_plan::Plan {
        codec: audio_plan::Codec::Flac,
        channels: 2,
        bit_rate_bps,
        start_ms: 0,
        duration_ms: 1_000,
        gain: audio_plan::Gain::default(),
        title: String::new(),
        artist: String::new(),
        album: String::new(),
    };
    let keys = [64, 128].map(|kbps| Key::of_sound(&identity(1), &plan(kbps)));
    assert_ne!(keys[0], keys[1]);
    assert_eq!(
        keys.map(|key| key.original()),
        [OriginalKey::new(&identity(1)); 2]
    );
    assert_ne!(
        OriginalKey::new(&identity(1)),
        OriginalKey::new(&identity(2))
    );
}
