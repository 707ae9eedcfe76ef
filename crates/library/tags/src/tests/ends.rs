//! Tests of tags at the end of a file, and of durations without a header that counts frames.

use super::{read, sine, summary};
use crate::{Field, Mime, PictureKind, read_cover};
use expect_test::expect;

fn id3v1(title: &str) -> Vec<u8> {
    let mut tag = b"TAG".to_vec();
    tag.extend(title.as_bytes());
    tag.resize(128, 0);
    tag[126] = 7;
    tag[127] = 8;
    tag
}

pub(super) fn ape(items: &[(&str, &str)]) -> Vec<u8> {
    let mut tag = Vec::new();
    for (key, value) in items {
        tag.extend((value.len() as u32).to_le_bytes());
        let kind = if key.starts_with("Cover") { 2u32 } else { 0 };
        tag.extend(kind.to_le_bytes());
        tag.extend(key.as_bytes());
        tag.push(0);
        tag.extend(value.as_bytes());
    }
    let bytes = tag.len() as u32 + 32;
    tag.extend(b"APETAGEX\xd0\x07\0\0");
    tag.extend(bytes.to_le_bytes());
    tag.extend((items.len() as u32).to_le_bytes());
    tag.extend([0; 12]);
    tag
}

#[test]
fn tags_at_the_end_fill_what_the_first_leaves_open() {
    let file = [
        sine("mp3"),
        &ape(&[
            ("Title", "from ape"),
            ("Artist", "One\0Two"),
            ("Year", "1999"),
        ]),
        &id3v1("from id3v1"),
    ]
    .concat();
    expect![[r#"Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("title", "from ape"), ("artist", "One"), ("artist", "Two"), ("date", "1999"), ("tracknumber", "7"), ("genre", "Jazz")] 0 pictures []"#]].assert_eq(&summary(&file));
    let bare = read(sine("mp3")).expect("a sound file");
    assert_eq!(
        bare.audio_hash,
        read(&file).expect("a sound file").audio_hash
    );
}

#[test]
fn a_cover_in_an_ape_tag() {
    let file = [
        sine("mp3"),
        &ape(&[("Cover Art (Front)", "a.png\0a picture")]),
    ]
    .concat();
    let media = read(&file).expect("a sound file");
    let cover = media.cover().expect("the tag has one");
    assert_eq!((cover.kind, cover.mime), (PictureKind::FRONT, Mime::Png));
    let read = read_cover(&file[..], file.len() as u64, cover, 100);
    assert_eq!(read.expect("it is there"), b"a picture");
}

/// Returns a silent layer III frame at the bit rate of this index, 44.1 kHz, mono.
fn frame(rate_index: u8) -> Vec<u8> {
    let kbps = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128][usize::from(rate_index)];
    let mut frame = vec![0xff, 0xfb, rate_index << 4, 0xc0];
    frame.resize(144 * kbps * 1000 / 44_100, 0);
    frame
}

#[test]
fn a_constant_rate_is_exact_and_a_varying_one_estimated() {
    let constant = frame(9).repeat(500);
    expect!["Mp3 13031 ms 44100 Hz 1 ch 0 bit 128 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&constant));
    // 1,000 frames of 26.1 ms each.
    let varying: Vec<u8> = (0..1000)
        .flat_map(|n| frame(if n % 2 == 0 { 1 } else { 9 }))
        .collect();
    let audio = read(&varying).expect("a sound file").audio;
    assert!(!audio.exact);
    assert!(
        audio.duration_ms.abs_diff(26_122) < 9_000,
        "{}",
        audio.duration_ms
    );
}

/// Returns an MPEG audio stream whose first frame contains the bytes `head` at offset `at`. Only
/// `head` states the duration of the stream.
fn headed(at: usize, head: &[u8]) -> Vec<u8> {
    let mut first = frame(9);
    first[at..at + head.len()].copy_from_slice(head);
    [first, frame(1), frame(9), frame(1)].concat()
}

#[test]
fn heads_of_varying_rates_tell_the_duration() {
    // 1,000 frames of 1,152 samples at 44.1 kHz, in 400,000 bytes. The Xing header is at offset 21
    // of a mono frame: after the frame's header and 17 bytes of side information.
    let counts = [1000_u32.to_be_bytes(), 400_000_u32.to_be_bytes()].concat();
    let xing = [&b"Xing\0\0\0\x03"[..], &counts].concat();
    expect!["Mp3 26122 ms 44100 Hz 1 ch 0 bit 122 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&headed(21, &xing)));
    // This header also has a seek table and a quality: 104 bytes, which are skipped.
    let long = [&b"Info\0\0\0\x0f"[..], &counts, &[7; 104]].concat();
    // The delay and padding that LAME states, 576 and 1,152 samples or 39 ms, are not part of the
    // duration.
    let lame = [&long[..], b"LAME3.100", &[0; 12], &[0x24, 0x04, 0x80]].concat();
    expect!["Mp3 26083 ms 44100 Hz 1 ch 0 bit 122 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&headed(21, &lame)));
    let vbri = [
        &b"VBRI\0\x01\0\0\0\x32"[..],
        &400_000_u32.to_be_bytes(),
        &1000_u32.to_be_bytes(),
    ];
    expect!["Mp3 26122 ms 44100 Hz 1 ch 0 bit 122 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&headed(36, &vbri.concat())));
    // A header whose counts are zero is ignored.
    let nothing = b"Xing\0\0\0\x03\0\0\0\0\0\0\0\0";
    assert!(summary(&headed(21, nothing)).contains("about"));
}

#[test]
fn junk_before_the_first_frame_is_stepped_over() {
    let file = [
        b"ID3\x03\0\0\0\0\0\0".to_vec(),
        vec![0; 3000],
        frame(5).repeat(9),
    ]
    .concat();
    expect!["Mp3 234 ms 44100 Hz 1 ch 0 bit 64 kbit/s [] 0 pictures []"].assert_eq(&summary(&file));
}

#[test]
fn a_stream_that_was_recorded_from_its_middle_on_is_music() {
    // The bytes before the first frame may be the rest of a frame, or any bytes up to the limit of
    // the search. A frame header that no other frame follows does not count as a frame.
    let rests = [
        frame(9)[100..].to_vec(),
        b"\xff\xfb\x90\xc0 alone".repeat(10),
        vec![0x55; 100_000],
    ];
    for rest in rests {
        let file = [rest, frame(5).repeat(9)].concat();
        expect!["Mp3 234 ms 44100 Hz 1 ch 0 bit 64 kbit/s [] 0 pictures []"]
            .assert_eq(&summary(&file));
    }
    let few = |frames: usize| summary(&[b"rest of".to_vec(), frame(5).repeat(frames)].concat());
    assert!(few(2).starts_with("Mp3 52 ms"), "{}", few(2));
    expect!["Unknown: the music format of the file is unknown"].assert_eq(&few(1));
    let late = [vec![0x55; 200_000], frame(5).repeat(9)].concat();
    expect!["Unknown: the music format of the file is unknown"].assert_eq(&summary(&late));
    let aac = [&[0x55; 5_000], sine("aac")].concat();
    assert!(summary(&aac).starts_with("Aac 640 ms"), "{}", summary(&aac));
}

#[test]
fn layer_i_is_read() {
    // At 32 kbit/s and 44.1 kHz, a layer I frame has 8 slots of four bytes and 384 samples.
    let frame = [&b"\xff\xff\x10\xc0"[..], &[0; 28]].concat();
    expect!["Mp1 1000 ms 44100 Hz 1 ch 0 bit 32 kbit/s [] 0 pictures []"]
        .assert_eq(&summary(&frame.repeat(125)));
}

#[test]
fn names_of_three_letters_in_a_tag_of_2_3() {
    let frame = |name: &[u8; 4], body: &[u8]| {
        [&name[..], &[0, 0, 0, body.len() as u8, 0, 0], body].concat()
    };
    let frames = [
        frame(b"TT2\0", b"\0Title"),
        frame(b"PIC\0", b"\0PNG\x03\0pixels"),
        frame(b"TYE\0", b"\x001999"),
        frame(b"TPE1", b"\0Artist"),
    ]
    .concat();
    let head = [&b"ID3\x03\0\0\0\0\0"[..], &[frames.len() as u8]].concat();
    let file = [&head[..], &frames, sine("mp3")].concat();
    expect![[r#"Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [("title", "Title"), ("artist", "Artist"), ("date", "1999")] 1 pictures []"#]].assert_eq(&summary(&file));
    let media = read(&file).expect("a sound file");
    let cover = media.cover().expect("the tag has one");
    assert_eq!((cover.kind, cover.mime), (PictureKind::FRONT, Mime::Png));
    let read = read_cover(&file[..], file.len() as u64, cover, 100);
    assert_eq!(read.expect("it is there"), b"pixels");
}

/// Splits an MP4 file into its boxes.
fn boxes(file: &[u8]) -> Vec<(&[u8], &[u8])> {
    let (mut boxes, mut rest) = (Vec::new(), file);
    while let Some(length) = rest.first_chunk() {
        let (one, behind) = rest.split_at(u32::from_be_bytes(*length) as usize);
        boxes.push((&one[4..8], one));
        rest = behind;
    }
    boxes
}

#[test]
fn mp4_that_is_cut_in_its_sound_is_music() {
    let whole = sine("m4a");
    let boxes = boxes(whole);
    let one = |kind: &[u8]| {
        boxes
            .iter()
            .find(|(found, _)| *found == kind)
            .expect("a box")
            .1
    };
    let (moov, mdat) = (one(b"moov"), one(b"mdat"));
    let head = [one(b"ftyp"), moov].concat();
    let file = [&head[..], mdat].concat();
    for cut in [1, 20, mdat.len() / 2, mdat.len() - 8] {
        let summary = summary(&file[..file.len() - cut]);
        assert!(summary.starts_with("Aac 523 ms"), "{summary}");
        assert!(summary.ends_with("[\"the mp4 is truncated\"]"), "{summary}");
    }
    let cut = summary(&file[..head.len() - 1]);
    expect!["Truncated: a box of the mp4 is longer than its parent"].assert_eq(&cut);
}

#[test]
fn flac_behind_an_id3_tag() {
    let frames = b"TIT2\0\0\0\x06\0\0\x03Title";
    let tag = [&b"ID3\x03\0\0\0\0\0"[..], &[frames.len() as u8], frames].concat();
    let media = read(&[&tag[..], sine("flac")].concat()).expect("a sound file");
    assert_eq!(media.tags.first(Field::Title), Some("Title"));
    assert_eq!(
        media.audio_hash,
        read(sine("flac")).expect("a sound file").audio_hash
    );
}

#[test]
fn a_tag_that_is_unsynchronised_as_a_whole() {
    // FF E0 would look like the sync of an audio frame, so a zero byte is inserted between the two.
    // The length of the frame does not include this zero byte.
    let frames = b"TIT2\0\0\0\x04\0\0\0\xff\0\xe0xTALB\0\0\0\x02\0\0\0A";
    let tag = [&b"ID3\x03\0\x80\0\0\0"[..], &[frames.len() as u8], frames].concat();
    let media = read(&[&tag[..], sine("mp3")].concat()).expect("a sound file");
    assert_eq!(media.tags.first(Field::Title), Some("ÿàx"));
    assert_eq!(media.tags.first(Field::Album), Some("A"));
}

#[test]
fn a_cover_in_such_a_tag_is_the_picture_alone() {
    // In the tag, a zero byte follows each FF of the picture. The tag also has another frame, after
    // or before the picture.
    let picture = b"\xff\xd8\xff\x00pixels\xff\xff\xe0\xff";
    let stored = b"\xff\x00\xd8\xff\x00\x00pixels\xff\x00\xff\x00\xe0\xff\x00";
    let body = b"\0image/jpeg\0\x03\xff\0description\0";
    let length = (body.len() - 1 + picture.len()) as u8;
    let frame = [b"APIC\0\0\0", &[length, 0, 0][..], body, stored].concat();
    let disc = b"TPOS\0\0\0\x04\0\0\x001/2";
    let file = |frames: &[&[u8]]| {
        let frames = frames.concat();
        let head = [&b"ID3\x03\0\x80\0\0\0"[..], &[frames.len() as u8]].concat();
        [&head[..], &frames, sine("mp3")].concat()
    };
    for file in [file(&[&frame, disc]), file(&[disc, &frame])] {
        let media = read(&file).expect("a sound file");
        assert_eq!(media.tags.first(Field::DiscNumber), Some("1/2"));
        let cover = media.cover().expect("the tag has one");
        let read = read_cover(&file[..], file.len() as u64, cover, 100);
        assert_eq!(read.expect("it is there"), picture);
    }
}
