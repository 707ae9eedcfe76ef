use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rustix::fs::{Advice, fadvise};

use super::{CachedRanges, is_cached, load, read_cached};

const BYTES: u64 = 3 << 20;

/// Returns a file whose cached pages the kernel was advised to drop. On a file system in memory,
/// the kernel keeps the pages nevertheless.
fn cold_file() -> File {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "reactor-cold-{}-{}",
        std::process::id(),
        FILES.fetch_add(1, Relaxed)
    );
    let path = std::env::temp_dir().join(name);
    let mut file = File::create_new(&path).expect("a name of our own");
    file.write_all(&vec![7; BYTES as usize])
        .expect("there is room");
    file.sync_all().expect("the disk takes it");
    let file = File::open(&path).expect("just written");
    std::fs::remove_file(&path).expect("just written");
    fadvise(&file, 0, None, Advice::DontNeed).expect("advice is taken");
    file
}

#[test]
fn loaded_ranges_are_cached() {
    let file = cold_file();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        // Columns: offset and length of the range in bytes.
        let parts = [
            (0, 1),
            (4_095, 2),
            (1 << 20, 1 << 20),
            (0, BYTES),
            (BYTES, 0),
        ];
        for (offset, len) in parts {
            load(&file, offset, len).await.expect("the disk is sound");
            let last = (offset + len).saturating_sub(1);
            assert!(is_cached(&file, last).expect("the disk is sound"));
        }
        // A range that ends beyond the end of the file is not an error.
        load(&file, BYTES - 1, 1 << 20)
            .await
            .expect("the disk is sound");
        load(&file, BYTES + 9, 1 << 20)
            .await
            .expect("the disk is sound");
    });
}

#[test]
fn cached_bytes_are_read_and_others_are_not_waited_for() {
    let file = cold_file();
    let mut buffer = [0; 4096];
    // The kernel may or may not have dropped the pages. If it kept them, the bytes must be correct.
    if let Some(read) = read_cached(&file, 0, &mut buffer).expect("the disk is sound") {
        assert!(buffer[..read].iter().all(|byte| *byte == 7));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let loaded = runtime.expect("a runtime").block_on(load(&file, 0, BYTES));
    loaded.expect("the disk is sound");
    for (offset, expected) in [(0, 4096), (BYTES - 5, 5), (BYTES, 0)] {
        let read = read_cached(&file, offset, &mut buffer);
        assert_eq!(read.expect("the disk is sound"), Some(expected));
    }
}

#[test]
fn cached_ranges_are_remembered_for_a_tick() {
    let (one, other) = (cold_file(), cold_file());
    let found = CachedRanges::default();
    assert!(!found.contains(&one, 5, 1_000));
    found.note(&one, 5, 1_000);
    assert!(found.contains(&one, 5, 1_000));
    assert!(!found.contains(&one, 6, 1_000));
    assert!(!found.contains(&other, 5, 1_000));
    assert!(!found.contains(&one, 5, 1_500));
}
