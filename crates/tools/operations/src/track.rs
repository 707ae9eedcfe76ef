//! Tag readers, each run on a test file of the crate `tags`.

use std::hint::black_box;

use tags::{Limits, Reader};

use crate::Operation;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../library/tags/testdata/", $name))
    };
}

const COUNT: usize = 200;

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "tags-flac",
        count: COUNT,
        run: |count| repeat(count, file!("sine.flac")),
    },
    Operation {
        name: "tags-mp3",
        count: COUNT,
        run: |count| repeat(count, file!("sine.mp3")),
    },
    Operation {
        name: "tags-mp4",
        count: COUNT,
        run: |count| repeat(count, file!("sine.m4a")),
    },
    Operation {
        name: "tags-ogg",
        count: COUNT,
        run: |count| repeat(count, file!("sine.ogg")),
    },
    Operation {
        name: "tags-opus",
        count: COUNT,
        run: |count| repeat(count, file!("sine.opus")),
    },
];

fn repeat(count: usize, file: &[u8]) -> u64 {
    let mut reader = Reader::new(Limits::default());
    let reads = (0..count).map(|_| {
        let read = reader.read(black_box(file), file.len() as u64);
        let media = read.expect("a sound file");
        media.audio.duration_ms + media.tags.all(tags::Field::Title).count() as u64
    });
    reads.sum()
}
