//! Tests of truncated and modified files, and of files with false values. The reader stays within
//! its limits.

use super::{SINES, read, sine, summary};
use crate::{ErrorKind, Limits, Reader};
use expect_test::expect;
use proptest::prelude::*;

/// Reads a file and asserts that the reader stays within its limits.
fn survive(bytes: &[u8]) {
    let limits = Limits::default();
    let mut reader = Reader::new(limits.clone());
    let outcome = reader.read(bytes, bytes.len() as u64);
    let spent = reader.spent();
    assert!(spent.reads <= limits.reads_max && spent.bytes <= limits.read_bytes_max);
    if let Ok(media) = outcome {
        assert!(media.pictures.len() <= limits.pictures_max);
        for picture in media.pictures {
            assert!(
                picture.offset + picture.bytes <= bytes.len() as u64,
                "{picture:?}"
            );
        }
    }
}

#[test]
fn every_cut_ends_in_a_verdict() {
    for (_, bytes) in SINES {
        for cut in 0..bytes.len() {
            survive(&bytes[..cut]);
        }
    }
}

#[test]
fn a_file_that_shrank_since_its_size_was_asked_is_cut() {
    for (name, bytes) in SINES {
        let summary = Reader::new(Limits::default()).read(&bytes[..8], bytes.len() as u64);
        let err = summary.expect_err("nothing but the magic is there");
        assert_eq!(err.kind, ErrorKind::Truncated, "{name}: {err}");
    }
}

#[test]
fn reasons() {
    let id3 = |frames: &[u8]| {
        let size = frames.len() as u32;
        let size = [size >> 21, size >> 14, size >> 7, size].map(|part| part as u8 & 0x7f);
        [&b"ID3\x04\0\0"[..], &size, frames, sine("mp3")].concat()
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("one byte", vec![b'f']),
        ("text", b"no music at all".to_vec()),
        ("magic alone", b"fLaC".to_vec()),
        (
            "flac that ends in a lie",
            [&sine("flac")[..42], &[4, 255, 255, 255]].concat(),
        ),
        ("id3 alone", b"ID3\x04\0\0\0\0\0\0".to_vec()),
        (
            "id3 longer than its file",
            [b"ID3\x04\0\0\x7f\x7f\x7f\x7f", sine("mp3")].concat(),
        ),
        (
            "a frame longer than its tag",
            id3(b"TIT2\0\0\x7f\x7f\0\0\x03abc"),
        ),
        (
            "a frame of no bytes",
            id3(b"TIT2\0\0\0\0\0\0TALB\0\0\0\x02\0\0\x03a"),
        ),
        (
            "text of half a unit",
            id3(b"TIT2\0\0\0\x04\0\0\x01\xff\xfea"),
        ),
        (
            "latin-1 that is utf-8",
            id3(b"TIT2\0\0\0\x03\0\0\0\xc3\xa9"),
        ),
        ("latin-1", id3(b"TIT2\0\0\0\x02\0\0\0\xe9")),
        (
            "numbered genres",
            id3(b"TCON\0\0\0\x0f\0\0\x03(17)(4)Own\0RX\x0017"),
        ),
        ("people", id3(b"TIPL\0\0\0\x0e\0\0\x03producer\0Ann\0")),
        (
            "mp4 in itself",
            [&b"\0\0\0\x08ftyp"[..], &b"\0\0\0\x08moov".repeat(5000)].concat(),
        ),
        (
            "ogg of empty pages",
            b"OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0".repeat(9000),
        ),
        (
            "chunks of no bytes",
            [&b"RIFF\0\0\0\0WAVE"[..], &b"abcd\0\0\0\0".repeat(9000)].concat(),
        ),
    ];
    let lines: Vec<String> = cases
        .iter()
        .map(|(name, bytes)| format!("{name}: {}\n", summary(bytes)))
        .collect();
    expect![[r#"
        nothing: Truncated: file is empty
        one byte: Unknown: unknown music format
        text: Unknown: unknown music format
        magic alone: Truncated: file ends too early
        flac that ends in a lie: Truncated: flac metadata is cut off
        id3 alone: Malformed: the file has no mpeg audio frame where the audio should begin
        id3 longer than its file: Malformed: the file has no mpeg audio frame where the audio should begin
        a frame longer than its tag: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [] 0 pictures ["an id3 frame is longer than its tag"]
        a frame of no bytes: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("album", "a")] 0 pictures []
        text of half a unit: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [] 0 pictures []
        latin-1 that is utf-8: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("title", "é")] 0 pictures []
        latin-1: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("title", "é")] 0 pictures []
        numbered genres: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("genre", "Rock"), ("genre", "Disco"), ("genre", "Own"), ("genre", "Remix")] 0 pictures []
        people: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("producer", "Ann")] 0 pictures []
        mp4 in itself: Limit: the file has more parts than the limit allows
        ogg of empty pages: Unknown: ogg stream of a codec other than vorbis, opus, flac or speex
        chunks of no bytes: Limit: the file has more parts than the limit allows
    "#]].assert_eq(&lines.concat());
}

#[test]
fn ogg_without_a_page_of_sound_cannot_be_read() {
    // The file's three pages begin at the offsets 0, 58 and 3,536. The first contains the header,
    // the second the comments and the setup, the third all audio.
    let vorbis = sine("ogg");
    for end in [200, 3_536, 3_540] {
        expect!["Truncated: ogg ends before its audio begins"].assert_eq(&summary(&vorbis[..end]));
    }
    // The second page of the Opus file contains only the comments and ends at the offset 841.
    let opus = sine("opus");
    for end in [100, 841] {
        expect!["Truncated: ogg ends before its audio begins"].assert_eq(&summary(&opus[..end]));
    }
    // A file with broken comments can be read nevertheless.
    let mut broken = vorbis.to_vec();
    broken[58 + 27 + 15 + 7..][..4].copy_from_slice(&[0xff; 4]);
    expect![[
        r#"Vorbis 500 ms 44100 Hz 1 ch 0 bit 65 kbit/s [] 0 pictures ["the comment packet is broken"]"#
    ]]
    .assert_eq(&summary(&broken));
}

#[test]
fn aiff_lasts_as_long_as_the_samples_that_are_there() {
    // The header has 54 bytes and states 4,000 samples of one byte at 8 kHz. Only 1,000 of these
    // samples exist.
    expect![[
        r#"Pcm 125 ms 8000 Hz 1 ch 8 bit 64 kbit/s [] 0 pictures ["a chunk is longer than the file"]"#
    ]]
    .assert_eq(&summary(&sine("aiff")[..1_054]));
}

#[test]
fn a_disk_that_fails_is_no_verdict_on_the_file() {
    struct Failing;
    impl crate::ReadAt for Failing {
        fn read_at(&self, _: u64, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("failing disk"))
        }
    }
    let err = Reader::new(Limits::default()).read(&Failing, 1000);
    assert_eq!(err.expect_err("nothing can be read").kind, ErrorKind::Io);
}

#[test]
fn a_long_value_is_kept_in_part() {
    let lyrics = "x".repeat(100_000);
    let comment = format!("LYRICS={lyrics}");
    let mut block = [&0u32.to_le_bytes()[..], &2u32.to_le_bytes()].concat();
    for comment in [&comment[..], "TITLE=behind"] {
        block.extend((comment.len() as u32).to_le_bytes());
        block.extend(comment.as_bytes());
    }
    let mut file = sine("flac")[..42].to_vec();
    file.extend([0x84, 0, (block.len() >> 8) as u8, block.len() as u8]);
    file[43] = (block.len() >> 16) as u8;
    file.extend(block);
    let media = read(&file).expect("a sound file");
    assert_eq!(media.tags.first(crate::Field::Title), Some("behind"));
    let kept = media.tags.first(crate::Field::Lyrics).expect("a beginning");
    assert!(kept.len() < lyrics.len() && lyrics.starts_with(kept));
    assert_eq!(
        media.issues,
        ["a value is longer than the limit; its beginning is kept"]
    );
}

#[test]
fn more_values_than_the_limit_are_refused() {
    let genres: Vec<String> = (0..20_000).map(|number| format!("{number:x}")).collect();
    let text = genres.join("\0");
    let mut frames = Vec::new();
    for part in text.as_bytes().chunks(16 << 10) {
        let bytes = (part.len() + 1) as u32;
        let size = [bytes >> 21, bytes >> 14, bytes >> 7, bytes].map(|part| part as u8 & 0x7f);
        frames.extend([&b"TCON"[..], &size, &[0, 0, 3], part].concat());
    }
    let bytes = frames.len();
    let size = [bytes >> 21, bytes >> 14, bytes >> 7, bytes].map(|part| part as u8 & 0x7f);
    let file = [&b"ID3\x04\0\0"[..], &size, &frames, sine("mp3")].concat();
    let err = read(&file).expect_err("nobody has as many");
    assert_eq!(err.kind, ErrorKind::Limit);
    assert_eq!(err.detail, "more values than the limit allows");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Reads files in which a few bytes are changed, and which may be truncated or doubled.
    #[test]
    fn mutants_survive(
        which in 0..SINES.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        front in any::<bool>(),
        cut in any::<prop::sample::Index>(),
        twice in any::<bool>(),
    ) {
        let mut bytes = SINES[which].1.to_vec();
        // Half of the cases change only the first bytes, since wrong values matter most in headers.
        let reach = if front { bytes.len().min(400) } else { bytes.len() };
        for (at, byte) in edits {
            bytes[at.index(reach)] = byte;
        }
        if twice {
            bytes.extend_from_slice(SINES[which].1);
        } else {
            bytes.truncate(bytes.len() - cut.index(bytes.len()) / 4);
        }
        survive(&bytes);
    }
}
