//! Against the file system that the tests run on; one that tells nothing passes, too.

use std::fs::{self, File};
use std::io::Write as _;

use crate::{first_extent, rotates};

#[test]
fn a_file_lies_where_it_did_and_an_empty_one_nowhere() {
    let path = std::env::temp_dir().join(format!("pelton-host-{}", std::process::id()));
    let mut file = File::create(&path).expect("a file of our own");
    if let Ok(nowhere) = first_extent(&file) {
        assert_eq!(nowhere, None);
        file.write_all(&[1; 1 << 16]).expect("a file of our own");
        file.sync_all().expect("a file of our own");
        let again = File::open(&path).expect("a file of our own");
        let both = [&file, &again].map(|file| first_extent(file).expect("it told before"));
        assert_eq!(both[0], both[1]);
    }
    fs::remove_file(&path).expect("a file of our own");
}

#[test]
fn what_is_no_file_lies_nowhere() {
    let null = File::open("/dev/null").expect("every system has one");
    assert!(first_extent(&null).is_err());
}

#[test]
fn a_device_that_is_not_there_says_nothing() {
    assert_eq!(rotates(0xfff << 32 | 0xffff), None);
}
