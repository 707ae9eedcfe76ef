//! Formats that few people have, by files that were made for this: what their documents say, byte for byte.

use super::{read, told};
use expect_test::expect;

/// An APEv2 tag with one item.
fn ape_tag(key: &str, value: &str) -> Vec<u8> {
    let mut item = (value.len() as u32).to_le_bytes().to_vec();
    item.extend([0; 4]);
    item.extend(key.as_bytes());
    item.push(0);
    item.extend(value.as_bytes());
    let bytes = item.len() as u32 + 32;
    let mut tag = item;
    tag.extend(b"APETAGEX");
    for word in [2000, bytes, 1, 0, 0, 0] {
        tag.extend(word.to_le_bytes());
    }
    tag
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// Two frames of 73,728 × 4 samples and one of 1,000, at 44.1 kHz.
fn monkey() -> Vec<u8> {
    let mut file = b"MAC ".to_vec();
    file.extend(halves(&[3990, 0]));
    file.extend(words(&[52, 24, 0, 0, 60_000, 0, 0]));
    file.extend([7; 16]);
    file.extend(halves(&[2000, 0]));
    file.extend(words(&[294_912, 1000, 3]));
    file.extend(halves(&[16, 2]));
    file.extend(words(&[44_100]));
    file.extend([0x55; 60_000]);
    file.extend(ape_tag("Title", "Ape"));
    file
}

/// The same before files had a descriptor.
fn old_monkey() -> Vec<u8> {
    let mut file = b"MAC ".to_vec();
    file.extend(halves(&[3970, 2000, 0, 2]));
    file.extend(words(&[44_100, 0, 0, 3, 1000]));
    file.extend([0x55; 60_000]);
    file.extend(ape_tag("Title", "Ape"));
    file
}

/// 130,000 samples of which 1,000 are silence, at 48 kHz.
fn musepack_8() -> Vec<u8> {
    let mut file = b"MPCK".to_vec();
    let mut head = vec![1, 2, 3, 4, 8];
    head.extend([0x87, 0xf7, 0x50, 0x87, 0x68]);
    head.extend([1 << 5 | 20, 1 << 4 | 3]);
    file.extend(b"SH");
    file.push(head.len() as u8 + 3);
    file.extend(head);
    file.extend([0x66; 20_000]);
    file.extend(ape_tag("Artist", "Pack"));
    file
}

/// A hundred frames, the last of 500 samples, at 44.1 kHz.
fn musepack_7() -> Vec<u8> {
    let mut file = b"MP+\x07".to_vec();
    file.extend(words(&[100, 0, 0, 0, 1 << 31 | 500 << 20, 0]));
    file.extend([0x66; 20_000]);
    file.extend(ape_tag("Artist", "Pack"));
    file
}

/// A second of stereo DSD64.
fn dsf() -> Vec<u8> {
    let sound = vec![0x69; 4096];
    let mut file = b"DSD ".to_vec();
    let long = |number: u64| number.to_le_bytes();
    file.extend(long(28));
    file.extend(long(80 + 4096 + 24));
    file.extend(long(80 + 4096));
    file.extend(b"fmt ");
    file.extend(long(52));
    file.extend(words(&[1, 0, 2, 2, 2_822_400, 1]));
    file.extend(long(2_822_400));
    file.extend(words(&[4096, 0]));
    file.extend(sound);
    // ID3v2.3 with TIT2.
    file.extend(b"ID3\x03\0\0\0\0\0\x0eTIT2\0\0\0\x04\0\0\0Dsd");
    file
}

const TTA: &[u8] = include_bytes!("../../testdata/sine.tta");

fn all() -> [(&'static str, Vec<u8>); 6] {
    [
        ("monkey", monkey()),
        ("old monkey", old_monkey()),
        ("musepack 8", musepack_8()),
        ("musepack 7", musepack_7()),
        ("dsf", dsf()),
        ("tta", TTA.to_vec()),
    ]
}

#[test]
fn heads_say_what_their_documents_say() {
    let lines = all().map(|(name, file)| format!("{name}: {}\n", told(&file)));
    expect![[r#"
        monkey: Monkey 13397 ms 44100 Hz 2 ch 16 bit 35 kbit/s [("title", "Ape")] 0 pictures []
        old monkey: Monkey 13397 ms 44100 Hz 2 ch 16 bit 35 kbit/s [("title", "Ape")] 0 pictures []
        musepack 8: Musepack 2688 ms 48000 Hz 2 ch 0 bit 59 kbit/s [("artist", "Pack")] 0 pictures []
        musepack 7: Musepack 2597 ms 44100 Hz 2 ch 0 bit 61 kbit/s [("artist", "Pack")] 0 pictures []
        dsf: Dsd 1000 ms 2822400 Hz 2 ch 1 bit 32 kbit/s [("title", "Dsd")] 0 pictures []
        tta: TrueAudio 500 ms 8000 Hz 1 ch 16 bit 41 kbit/s [] 0 pictures []
    "#]].assert_eq(&lines.concat());
}

#[test]
fn a_file_that_is_cut_anywhere_has_a_verdict() {
    for (name, file) in all() {
        for length in (0..200).chain([file.len() / 2, file.len() - 1]) {
            // Whatever it is: within the limits, and no panic.
            let cut = read(&file[..length.min(file.len())]);
            assert!(length != 0 || cut.is_err(), "{name}");
        }
    }
}

#[test]
fn a_file_of_words_is_no_music_for_its_first_letters() {
    assert!(read(b"MAC addresses of all machines\n").is_err());
    assert!(read(b"MP+ is an old name of Musepack\n").is_err());
    assert!(
        read(&[0xff, 0xf1, 0, 0, 0, 0, 0, 0]).is_err(),
        "a frame without bytes"
    );
}
