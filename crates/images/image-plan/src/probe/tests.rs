mod avif;
mod bmp;
mod gif;
mod jpeg;
mod png;
mod prop;
mod stills;
mod svg;
mod webp;
mod write;

use std::io;

use super::*;
use crate::Orientation;
use expect_test::{Expect, expect};
use std::cell::RefCell;
use write::*;

/// File that consists of `bytes` followed by zeros, with a total length of `len_bytes`. It records
/// the size of each read.
struct Sparse<'a> {
    bytes: &'a [u8],
    len_bytes: u64,
    reads: RefCell<Vec<usize>>,
}

impl<'a> Sparse<'a> {
    fn new(bytes: &'a [u8], len_bytes: u64) -> Sparse<'a> {
        Sparse {
            bytes,
            len_bytes,
            reads: RefCell::default(),
        }
    }

    fn count_and_sum(&self) -> (usize, usize) {
        let reads = self.reads.borrow();
        (reads.len(), reads.iter().sum())
    }
}

impl ReadAt for Sparse<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.reads.borrow_mut().push(buf.len());
        let bytes_left = self.len_bytes.saturating_sub(offset);
        let count = buf
            .len()
            .min(usize::try_from(bytes_left).unwrap_or(usize::MAX));
        buf[..count].fill(0);
        self.bytes.read_at(offset, &mut buf[..count])?;
        Ok(count)
    }
}

/// Formats the facts on one line, without those that have the default value.
fn line(facts: &Facts) -> String {
    let Facts {
        format,
        stored,
        colour,
        bit_depth,
        ..
    } = facts;
    let mut line = format!(
        "{format:?} {}x{} {colour:?} {bit_depth}",
        stored.width_px, stored.height_px
    );
    let words = [
        facts
            .subsampling
            .map(|subsampling| format!("{subsampling:?}")),
        (facts.orientation != Orientation::Upright).then(|| format!("{:?}", facts.orientation)),
        facts.animated.then(|| match facts.frames {
            Frames::Exactly(frames) => format!("animated:{frames}"),
            Frames::AtLeast(frames) => format!("animated:{frames}+"),
        }),
        facts.alpha.then(|| "alpha".to_owned()),
        facts.lossless.then(|| "lossless".to_owned()),
        facts.progressive.then(|| "progressive".to_owned()),
        facts
            .profile()
            .then(|| format!("profile:{}", facts.profile_bytes)),
        facts.jpeg_quality.map(|quality| format!("q{quality}")),
        facts.unsupported.map(|why| format!("unsupported:{why:?}")),
        (facts.pages != 1).then(|| format!("pages:{}", facts.pages)),
    ];
    for word in words.into_iter().flatten() {
        line.push(' ');
        line.push_str(&word);
    }
    line
}

fn outcome(bytes: &[u8]) -> String {
    match probe(bytes, bytes.len() as u64) {
        Ok(facts) => line(&facts),
        Err(err) => format!("{:?}: {err}", err.kind),
    }
}

fn check(files: &[(&str, Vec<u8>)], expect: Expect) {
    let mut table = String::new();
    for (name, bytes) in files {
        table.push_str(&format!("{name}: {}\n", outcome(bytes)));
    }
    expect.assert_eq(&table);
}

const SIZE: (u16, u16) = (640, 480);

#[test]
fn other_files() {
    check(
        &[
            ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec()),
            ("empty", vec![]),
            ("text", b"BMW, GIF and RIFF are words".to_vec()),
        ],
        expect![[r#"
            svg: Svg 100x100 Rgb 8 alpha lossless
            empty: Unknown: not a picture
            text: Unknown: not a picture
        "#]],
    );
}

#[test]
fn bombs_cost_no_more_than_other_headers() {
    const HUGE: u64 = 1 << 40;
    let check = |name: &str, bytes: &[u8], reads: (usize, usize), expect: Expect| {
        let source = Sparse::new(bytes, HUGE);
        let outcome = match probe(&source, HUGE) {
            Ok(facts) => line(&facts),
            Err(err) => format!("{:?}: {err}", err.kind),
        };
        expect.assert_eq(&outcome);
        assert_eq!(source.count_and_sum(), reads, "{name}");
    };
    let png_bomb = png((30_000, 30_000), [8, 2, 0], &[]);
    check(
        "large png",
        &png_bomb,
        (1, 4096),
        expect!["Png 30000x30000 Rgb 8 lossless"],
    );
    let jpeg_bomb = jpeg(&[frame(0xc2, (65_500, 65_500), &[0x22, 0x11, 0x11])]);
    check(
        "large jpeg",
        &jpeg_bomb,
        (1, 4096),
        expect!["Jpeg 65500x65500 Ycc 8 S420 progressive"],
    );
    let mut profile = png((1, 1), [8, 2, 0], &[chunk(b"iCCP", &[])]);
    profile[33..37].copy_from_slice(&i32::MAX.to_be_bytes());
    // The profile is followed by zeros, so the probe finds a chunk without a name after it.
    check(
        "giant profile",
        &profile,
        (2, 8192),
        expect!["Malformed: png chunk without a name"],
    );
    let segments = jpeg(&vec![segment(0xe2, &[0; 65_533]); 40]);
    check(
        "segment after segment",
        &segments,
        (41, 41 * 4096),
        expect!["Malformed: jpeg with a scan before its frame"],
    );
    let chunks = png((1, 1), [8, 2, 0], &vec![chunk(b"teXt", &[0; 4084]); 2000]);
    check(
        "chunk after chunk",
        &chunks,
        (1024, 1024 * 4096),
        expect!["Malformed: reading the header takes too many reads or too many bytes"],
    );
}

/// The GIF and the PNG state 100 megapixels. With fewer than 10,000 bytes they cannot contain that
/// many pixels.
#[test]
fn a_file_too_short_for_its_pixels_is_sparse() {
    let gif = gif((10_000, 10_000), &[gif_image((10_000, 10_000), &[9])]);
    let white = png((10_000, 10_000), [1, 0, 0], &[]);
    for (name, bytes) in [("gif", gif), ("png", white)] {
        for (len_bytes, is_sound) in [(bytes.len() as u64, false), (9_999, false), (10_000, true)] {
            let facts = probe(&Sparse::new(&bytes, len_bytes), len_bytes);
            let facts = facts.expect("its header is sound");
            assert_eq!(!facts.sparse, is_sound, "{name}, {len_bytes} bytes");
        }
    }
    // Small pictures never count as sparse.
    let small = bmp(
        40,
        &[(18, &[0, 8, 0, 0, 0, 8, 0, 0]), (28, &[8]), (30, &[1])],
    );
    let facts = probe(&small[..], small.len() as u64).expect("its header is sound");
    assert!(!facts.sparse);
}

#[test]
fn read_failures_are_distinguished_from_broken_pictures() {
    struct Failing;
    impl ReadAt for Failing {
        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        }
    }
    let err = probe(&Failing, 100).expect_err("nothing can be read");
    assert_eq!(err.kind, ProbeErrorKind::Io);
    let source = std::error::Error::source(&err).expect("the cause is kept");
    assert_eq!(source.to_string(), "permission denied");

    let bytes = png((640, 480), [8, 2, 0], &[]);
    let err = probe(&bytes[..20], bytes.len() as u64).expect_err("the file shrank");
    assert_eq!(err.kind, ProbeErrorKind::Truncated);
}

#[test]
fn short_and_interrupted_reads_are_continued() {
    struct Dripping<'a>(&'a [u8], RefCell<u32>);
    impl ReadAt for Dripping<'_> {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            *self.1.borrow_mut() += 1;
            if *self.1.borrow() % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = buf.len().min(7);
            self.0.read_at(offset, &mut buf[..count])
        }
    }
    let bytes = jpeg(&[segment(0xe1, &exif(true, 6)), frame(0xc0, SIZE, &[0x11])]);
    let whole = probe(bytes.as_slice(), bytes.len() as u64).expect("a sound header");
    let source = Dripping(&bytes, RefCell::new(0));
    let dripped = probe(&source, bytes.len() as u64).expect("the same header");
    assert_eq!(dripped, whole);
    assert_eq!(whole.oriented(), Size::new(480, 640));
}
