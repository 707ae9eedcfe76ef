use std::fs::File;
use std::io::Write;

use rustix::fs::{Advice, fadvise};

use super::{is_cached, load};

const BYTES: u64 = 3 << 20;

/// A file whose pages the kernel was told to forget. It may keep them: a memory file system has nowhere else.
fn cold_file() -> File {
    let path = std::env::temp_dir().join(format!("reactor-cold-{}", std::process::id()));
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
fn what_was_loaded_is_cached() {
    let file = cold_file();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
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
        // The end of the file is not this function's to judge.
        load(&file, BYTES - 1, 1 << 20)
            .await
            .expect("the disk is sound");
        load(&file, BYTES + 9, 1 << 20)
            .await
            .expect("the disk is sound");
    });
}
