//! Tests on the local file system. They also pass if the file system supports neither FIEMAP nor
//! leases.

mod cards;
mod messages;
mod tree;

use std::fs::{self, File};
use std::io::Write as _;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::{Mapped, first_extent, rotates};

#[test]
fn a_reopened_file_has_the_same_extent_and_an_empty_one_none() {
    let path = std::env::temp_dir().join(format!("pelton-host-{}", std::process::id()));
    let mut file = File::create(&path).expect("a file of our own");
    if let Ok(no_extent) = first_extent(&file) {
        assert_eq!(no_extent, None);
        file.write_all(&[1; 1 << 16]).expect("a file of our own");
        file.sync_all().expect("a file of our own");
        let again = File::open(&path).expect("a file of our own");
        let both = [&file, &again]
            .map(|file| first_extent(file).expect("the file system reported an extent before"));
        assert_eq!(both[0], both[1]);
    }
    fs::remove_file(&path).expect("a file of our own");
}

#[test]
fn a_device_has_no_extent() {
    let null = File::open("/dev/null").expect("every system has one");
    assert!(first_extent(&null).is_err());
}

#[test]
fn a_missing_device_has_no_rotation_property() {
    assert_eq!(rotates(0xfff << 32 | 0xffff), None);
}

/// Temporary file, deleted when this value is dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, bytes: &[u8]) -> TempFile {
        let path = std::env::temp_dir().join(format!("pelton-{name}-{}", std::process::id()));
        fs::write(&path, bytes).expect("a file of our own");
        TempFile(path)
    }

    fn map(&self) -> std::io::Result<Mapped> {
        Mapped::open(File::open(&self.0).expect("a file of our own"))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).expect("a file of our own");
    }
}

#[test]
fn truncating_a_mapped_file_does_not_change_the_mapping() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at / 7) as u8).collect();
    let file = TempFile::new("cut", &bytes);
    let Ok(mapped) = file.map() else {
        eprintln!("this file system gives no leases");
        return;
    };
    assert!(mapped.as_ref() == bytes);
    let started = Instant::now();
    thread::scope(|scope| {
        // Without a lease, this write would truncate the file at once. Reading the mapping beyond
        // its first page would then end the process.
        let cut = scope.spawn(|| fs::write(&file.0, b"cut").expect("a file of our own"));
        while !cut.is_finished() {
            assert!(mapped.as_ref() == bytes);
            assert!(started.elapsed() < Duration::from_secs(60), "never let go");
            thread::park_timeout(Duration::from_millis(1));
        }
    });
    assert_eq!(fs::read(&file.0).expect("a file of our own"), b"cut");
    assert!(mapped.as_ref() == bytes);
}

#[test]
fn dropping_a_mapping_gives_up_the_lease() {
    let file = TempFile::new("let-go", &[7; 5000]);
    let Ok(mapped) = file.map() else {
        eprintln!("this file system gives no leases");
        return;
    };
    let again = file.map().expect("two may read");
    assert!(mapped.as_ref() == again.as_ref());
    drop((mapped, again));
    let written = File::options().append(true).open(&file.0);
    let written = written.expect("a file of our own");
    assert!(file.map().is_err(), "somebody may write to it");
    drop(written);
    assert!(file.map().is_ok());
}

#[test]
fn empty_files_are_not_mapped() {
    assert!(TempFile::new("empty", b"").map().is_err());
    assert!(Mapped::open(File::open("/dev/null").expect("every system has one")).is_err());
}
