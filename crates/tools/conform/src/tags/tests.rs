//! Tests that generate a small library, from the payloads that the tests of `tags` use, and read it
//! with `tags`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mediagen::{Art, Cover, Expected, Kind, LibraryParameters, Line, MANIFEST, Payloads, generate};

use super::{differences, on_disk};

/// Temporary folder, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pelton-media-{name}-{}", std::process::id()));
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the test made it");
    }
}

fn payloads() -> Payloads {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library/tags/testdata");
    let mut payloads = Payloads::default();
    for (kind, name) in [
        (Kind::Flac, "sine.flac"),
        (Kind::Mp3, "sine.mp3"),
        (Kind::Aac, "sine.m4a"),
        (Kind::Alac, "sine-alac.m4a"),
        (Kind::Opus, "sine.opus"),
        (Kind::Vorbis, "sine.ogg"),
    ] {
        payloads.add(
            kind,
            &fs::read(folder.join(name)).expect("it is in the repository"),
        );
    }
    payloads
}

/// Returns pictures with arbitrary bytes. These tests do not decode the pictures.
fn art() -> Art {
    let picture = |bytes: usize, is_png| Cover {
        is_png,
        bytes: (0..bytes).map(|n| ((n * n) >> 3) as u8).collect(),
    };
    Art::from_pictures(vec![
        picture(50_000, false),
        picture(90_000, true),
        picture(400_000, false),
    ])
}

fn library(scratch: &Scratch, seed: u64) -> Vec<Line> {
    let parameters = LibraryParameters {
        tracks: 400,
        seed,
        out: &scratch.0,
        payloads: &payloads(),
        art: &art(),
    };
    generate(&parameters).expect("a folder for temporary files");
    let text = fs::read_to_string(scratch.0.join(MANIFEST)).expect("written last");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of the manifest"));
    lines.collect()
}

#[test]
fn every_file_says_what_the_manifest_says() {
    let scratch = Scratch::new("read");
    let lines = library(&scratch, 1);
    let found = differences(&scratch.0, &lines).expect("readable files");
    assert_eq!(found, [""; 0]);
    let verdicts = lines
        .iter()
        .filter(|line| matches!(line.expected, Expected::Verdict(_)));
    assert_eq!((lines.len(), verdicts.count()), (408, 8));
    let kinds: BTreeSet<_> = lines
        .iter()
        .filter_map(|line| line.path.rsplit('.').next())
        .collect();
    assert!(kinds.len() >= 4, "{kinds:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let (one, two, three) = (
        Scratch::new("one"),
        Scratch::new("two"),
        Scratch::new("three"),
    );
    let lines = library(&one, 5);
    assert_eq!(lines, library(&two, 5));
    for line in &lines {
        assert_eq!(
            fs::read(on_disk(&one.0, line)).ok(),
            fs::read(on_disk(&two.0, line)).ok()
        );
    }
    assert_ne!(lines, library(&three, 6));
}
