//! Tests of durations and bit rates that headers omit, state in other units, or state wrongly.

use super::rare::element;
use super::{read, sine, summary};
use crate::{Limits, Media};
use expect_test::expect;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the file with `bytes` written at offset `at`.
fn with(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// Returns the duration of a file in milliseconds, and whether the duration is exact.
fn duration(file: &[u8]) -> (u64, bool) {
    let Media { audio, .. } = read(file).expect("a sound file");
    (audio.duration_ms, audio.exact)
}

#[test]
fn flac_from_a_pipe_is_as_long_as_its_last_frame_says() {
    // In STREAMINFO, the upper four bits of the sample count share a byte with the sample size,
    // which stays unchanged.
    let sine = sine("flac");
    let open = with(sine, 21, &[sine[21] & 0xf0, 0, 0, 0, 0]);
    assert_eq!(duration(&open), (500, true));
    let tagged = [&open[..], b"TAG", &[0; 125]].concat();
    assert_eq!(duration(&tagged), (500, true));
    // Without the last frame the duration is shorter; without any frame it is unknown.
    let (shorter_ms, exact) = duration(&open[..open.len() - 1000]);
    assert!((300..500).contains(&shorter_ms) && exact, "{shorter_ms}");
    let metadata_end = open.windows(2).position(|two| two == b"\xff\xf8");
    let metadata_end = metadata_end.expect("a frame");
    assert_eq!(duration(&open[..metadata_end]), (0, false));
}

#[test]
fn wavpack_from_a_pipe_is_as_long_as_its_last_block_says() {
    let sine = sine("wv");
    let second = with(sine, 16, &4000_u32.to_le_bytes());
    for open in [u32::MAX, 0] {
        let first = with(sine, 12, &open.to_le_bytes());
        assert_eq!(duration(&first), (500, true));
        assert_eq!(duration(&[&first[..], &second].concat()), (1000, true));
        // A truncated block does not count towards the duration.
        let cut = [&first[..], &second[..second.len() - 1]].concat();
        assert_eq!(duration(&cut), (500, true));
    }
    // A sample count in the header of the first block takes precedence over the last block.
    assert_eq!(duration(&[sine, &second].concat()), (500, true));
}

/// Returns one second of DSD in WavPack, given the index of its rate and the number of doublings.
fn dsd_in_wavpack(rate: u32, doublings: u8, bytes_per_second: u32) -> Vec<u8> {
    let content = [&[0x8e, 4, 0, 0, doublings][..], &[0x55; 7]].concat();
    let mut file = b"wvpk".to_vec();
    let bytes = 24 + content.len() as u32;
    let flags = 1 << 31 | rate << 23 | 3 << 11;
    file.extend(words(&[
        bytes,
        0x410,
        bytes_per_second,
        0,
        bytes_per_second,
        flags,
        0,
    ]));
    file.extend(content);
    file
}

#[test]
fn dsd_in_wavpack_counts_bytes_at_a_rate_that_doubles() {
    let lines = [
        dsd_in_wavpack(12, 2, 352_800),
        dsd_in_wavpack(9, 3, 352_800),
        dsd_in_wavpack(12, 3, 705_600),
        dsd_in_wavpack(13, 3, 768_000),
    ]
    .map(|file| summary(&file) + "\n");
    expect![[r#"
        WavPack 1000 ms 2822400 Hz 2 ch 1 bit 0 kbit/s [] 0 pictures []
        WavPack 1000 ms 2822400 Hz 2 ch 1 bit 0 kbit/s [] 0 pictures []
        WavPack 1000 ms 5644800 Hz 2 ch 1 bit 0 kbit/s [] 0 pictures []
        WavPack 1000 ms 6144000 Hz 2 ch 1 bit 0 kbit/s [] 0 pictures []
    "#]]
    .assert_eq(&lines.concat());
}

/// Returns a WAV file of two seconds at 22,050 Hz, given its codec, bytes per second, bytes per
/// frame, samples per frame, and the sample count that it states, if any.
fn wav(coding: u16, rate: u32, frame: u16, frame_samples: u16, counted: Option<u32>) -> Vec<u8> {
    let mut format = coding.to_le_bytes().to_vec();
    format.extend(1_u16.to_le_bytes());
    format.extend(words(&[22_050, rate]));
    for half in [frame, 4, 2, frame_samples] {
        format.extend(half.to_le_bytes());
    }
    let chunk =
        |name: &[u8], body: &[u8]| [name, &(body.len() as u32).to_le_bytes(), body].concat();
    let counted = counted.map_or_else(Vec::new, |count| chunk(b"fact", &count.to_le_bytes()));
    let chunks = [
        chunk(b"fmt ", &format),
        counted,
        chunk(b"data", &[0x55; 22_528]),
    ];
    [&b"RIFF\0\0\0\0WAVE"[..], &chunks.concat()].concat()
}

#[test]
fn coded_samples_in_wav_last_as_long_as_their_frames() {
    let lines = [
        // IMA ADPCM, 22 frames of 2,041 samples, with and without a sample count in the header.
        wav(17, 11_100, 1024, 2041, Some(44_100)),
        wav(17, 11_100, 1024, 2041, None),
        // The stated count is ignored, since it is implausible: it counts bytes of PCM.
        wav(17, 11_100, 1024, 2041, Some(4_410_000)),
        // MP3 in WAV: with a mean bit rate and a sample count, with only the bit rate, with only
        // the sample count, and with neither.
        wav(0x55, 11_250, 1, 0, Some(44_100)),
        wav(0x55, 11_250, 1, 0, None),
        wav(0x55, 0, 1152, 0, Some(44_100)),
        wav(0x55, 0, 1152, 0, None),
        // A-law has one byte per sample, so the sample count in the header is not used.
        wav(6, 22_050, 1, 0, Some(1)),
    ]
    .map(|file| summary(&file) + "\n");
    expect![[r#"
        Other 2000 ms 22050 Hz 1 ch 4 bit 90 kbit/s about [] 0 pictures []
        Other 2036 ms 22050 Hz 1 ch 4 bit 88 kbit/s about [] 0 pictures []
        Other 2036 ms 22050 Hz 1 ch 4 bit 88 kbit/s about [] 0 pictures []
        Other 2000 ms 22050 Hz 1 ch 4 bit 90 kbit/s about [] 0 pictures []
        Other 2002 ms 22050 Hz 1 ch 4 bit 90 kbit/s about [] 0 pictures []
        Other 2000 ms 22050 Hz 1 ch 4 bit 90 kbit/s about [] 0 pictures []
        Other 0 ms 22050 Hz 1 ch 4 bit 0 kbit/s about [] 0 pictures []
        Other 1022 ms 22050 Hz 1 ch 4 bit 176 kbit/s about [] 0 pictures []
    "#]]
    .assert_eq(&lines.concat());
}

/// Returns a second of IMA ADPCM in AIFF-C, whose header states `frames` frames.
fn aifc(frames: u32) -> Vec<u8> {
    let mut common = vec![0, 1];
    common.extend(frames.to_be_bytes());
    common.extend(b"\0\x10\x40\x0e\xac\x44\0\0\0\0\0\0ima4\0\0");
    let sound = vec![0x55; 8 + 690 * 34];
    let mut file = b"FORM\0\0\0\0AIFCCOMM".to_vec();
    file.extend((common.len() as u32).to_be_bytes());
    file.extend(common);
    file.extend(b"SSND");
    file.extend((sound.len() as u32).to_be_bytes());
    file.extend(sound);
    file
}

#[test]
fn packets_of_aiff_are_distinguished_from_samples() {
    assert_eq!(duration(&aifc(690)).0, 1001);
    assert_eq!(duration(&aifc(44_160)).0, 1001);
}

#[test]
fn a_duration_that_no_file_can_have_is_unknown() {
    // True Audio with a sample rate of 1 Hz and the largest possible count.
    let mut tta = b"TTA1\x01\0\x01\0\x10\0".to_vec();
    tta.extend(words(&[1, u32::MAX, 0]));
    tta.resize(60_000, 0x55);
    expect![[
        r#"TrueAudio 0 ms 1 Hz 1 ch 16 bit 0 kbit/s about [] 0 pictures ["the duration is implausible for the file's size"]"#
    ]]
    .assert_eq(&summary(&tta));
    // Some codecs store an hour of silence in few bytes, so this duration is accepted.
    let hour = with(&tta, 14, &3_600_u32.to_le_bytes());
    assert_eq!(duration(&hour), (3_600_000, true));
}

/// Half a second of audio as ffmpeg writes it to a pipe: in four MP4 fragments, and in WebM. `FILM`
/// is a film of the same duration.
const FRAGMENTS: &[u8] = include_bytes!("../../testdata/sine-fragments.m4a");
const LIVE: &[u8] = include_bytes!("../../testdata/sine-live.webm");
const FILM: &[u8] = include_bytes!("../../testdata/film.mp4");

/// Returns the offsets of the first and the last occurrence of these bytes in a file.
fn offsets(file: &[u8], bytes: &[u8]) -> (usize, usize) {
    let mut found = file.windows(bytes.len()).enumerate();
    let mut found = found.by_ref().filter(|(_, window)| *window == bytes);
    let (first, _) = found.next().expect("they are there");
    (first, found.last().map_or(first, |(last, _)| last))
}

#[test]
fn mp4_without_a_duration_lasts_as_long_as_its_samples() {
    let sine = sine("m4a");
    let (mdhd, _) = offsets(sine, b"mdhd");
    let stated = duration(sine).0;
    for unknown in [0, u32::MAX] {
        let file = with(sine, mdhd + 20, &unknown.to_be_bytes());
        let (found_ms, exact) = duration(&file);
        assert!(stated.abs_diff(found_ms) < 200 && exact, "{found_ms}");
    }
}

#[test]
fn mp4_in_fragments_lasts_until_the_last_one_ends() {
    expect![[r#"Aac 628 ms 8000 Hz 1 ch 0 bit 24 kbit/s [("title", "Sine"), ("artist", "Ann")] 0 pictures []"#]].assert_eq(&summary(FRAGMENTS));
    // In a file with many fragments, the reader does not parse every fragment, but searches for the
    // last fragment from the end of the file. The last fragment of this file states its own start.
    let (first, last) = offsets(FRAGMENTS, b"moof");
    let (tfdt, _) = offsets(&FRAGMENTS[last..], b"tfdt");
    let end = offsets(FRAGMENTS, b"mfra").0 - 4;
    let fragment = &FRAGMENTS[last - 4..end];
    let late = with(fragment, tfdt + 4 + 8, &(8_000_u64 * 3_600).to_be_bytes());
    let head = &FRAGMENTS[..first - 4];
    let many = [head, &fragment.repeat(5_000), &late].concat();
    let (ms, exact) = duration(&many);
    assert!((3_600_000..3_600_200).contains(&ms) && exact, "{ms}");
    // A truncated file lasts as long as its complete fragments. Without a complete fragment, the
    // duration is unknown.
    let cut = duration(&FRAGMENTS[..last + 20]);
    assert!((300..600).contains(&cut.0), "{cut:?}");
    assert_eq!(duration(head), (0, false));
}

#[test]
fn moving_pictures_are_distinguished_from_chapter_pictures() {
    let moves = |file: &[u8]| crate::has_video(file, file.len() as u64, &Limits::default());
    assert!(moves(FILM).expect("a whole file"));
    let (format, _) = offsets(FILM, b"mp4v");
    assert!(!moves(&with(FILM, format, b"jpeg")).expect("a whole file"));
    assert!(!moves(sine("m4a")).expect("a whole file"));
}

#[test]
fn matroska_from_a_pipe_lasts_until_its_last_block() {
    expect![[
        r#"Opus 501 ms 48000 Hz 1 ch 0 bit 30 kbit/s about [("title", "Sine")] 0 pictures []"#
    ]]
    .assert_eq(&summary(LIVE));
    // If the file has several clusters, the last cluster states its own start.
    let (cluster, _) = offsets(LIVE, b"\x1f\x43\xb6\x75");
    let (timestamp, _) = offsets(&LIVE[cluster..], b"\xe7");
    let one = &LIVE[cluster..];
    let late = element(b"\xe7", &3_600_000_u32.to_be_bytes());
    let late = [
        &b"\x1f\x43\xb6\x75\x01\xff\xff\xff\xff\xff\xff\xff"[..],
        &late,
        &element(b"\xa3", b"\x81\x00\x14\x80sound"),
        &element(b"\xa0", &element(b"\xa1", b"\x81\x00\x28\x80sound")),
    ]
    .concat();
    assert!(timestamp < 16);
    assert_eq!(
        duration(&[&LIVE[..cluster], one, one, &late].concat()),
        (3_600_040, false)
    );
    assert_eq!(duration(&LIVE[..cluster]), (0, false));
}

#[test]
fn wav_and_aiff_from_a_pipe_last_as_long_as_their_files() {
    let wav = sine("wav");
    let (data, _) = offsets(wav, b"data");
    assert_eq!(duration(&with(wav, data + 4, &[0; 4])), duration(wav));
    // The first file has no samples. The second file has an empty chunk that another chunk follows.
    assert_eq!(duration(&with(&wav[..data + 8], data + 4, &[0; 4])).0, 0);
    let none = [&wav[..data + 4], &[0; 4], b"LIST\x04\0\0\0INFO"].concat();
    assert_eq!(duration(&none).0, 0);
    let broadcast = with(wav, 0, b"BW64");
    assert_eq!(duration(&broadcast), duration(wav));
    let aiff = sine("aiff");
    let (common, sound) = (offsets(aiff, b"COMM").0, offsets(aiff, b"SSND").0);
    let open = with(&with(aiff, common + 10, &[0; 4]), sound + 4, &[0; 4]);
    assert_eq!(duration(&open), duration(aiff));
}
