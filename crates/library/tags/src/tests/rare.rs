//! Tests of rare formats, with files assembled byte for byte from their specifications.

use super::{read, summary};
use expect_test::expect;

/// Returns an APEv2 tag with one item.
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

/// Returns a Monkey's Audio file of two frames of 73,728 × 4 samples and one of 1,000, at 44.1 kHz.
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

/// Returns a Monkey's Audio file in the format before version 3.98, which has no descriptor.
fn old_monkey() -> Vec<u8> {
    let mut file = b"MAC ".to_vec();
    file.extend(halves(&[3970, 2000, 0, 2]));
    file.extend(words(&[44_100, 0, 0, 3, 1000]));
    file.extend([0x55; 60_000]);
    file.extend(ape_tag("Title", "Ape"));
    file
}

/// Returns a Musepack SV8 file of 130,000 samples at 48 kHz, 1,000 of them silence.
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

/// Returns a Musepack SV7 file of a hundred frames at 44.1 kHz, the last with 500 samples.
fn musepack_7() -> Vec<u8> {
    let mut file = b"MP+\x07".to_vec();
    file.extend(words(&[100, 0, 0, 0, 1 << 31 | 500 << 20, 0]));
    file.extend([0x66; 20_000]);
    file.extend(ape_tag("Artist", "Pack"));
    file
}

/// Returns a DSF file of one second of stereo DSD64.
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
    // A tag of ID3v2.3 with the frame TIT2.
    file.extend(b"ID3\x03\0\0\0\0\0\x0eTIT2\0\0\0\x04\0\0\0Dsd");
    file
}

const TTA: &[u8] = include_bytes!("../../testdata/sine.tta");

const MKA: &[u8] = include_bytes!("../../testdata/sine.mka");
const WEBM: &[u8] = include_bytes!("../../testdata/sine.webm");
const WMA: &[u8] = include_bytes!("../../testdata/sine.wma");

fn all() -> [(&'static str, Vec<u8>); 9] {
    [
        ("monkey", monkey()),
        ("old monkey", old_monkey()),
        ("musepack 8", musepack_8()),
        ("musepack 7", musepack_7()),
        ("dsf", dsf()),
        ("tta", TTA.to_vec()),
        ("wma", WMA.to_vec()),
        ("mka", MKA.to_vec()),
        ("webm", WEBM.to_vec()),
    ]
}

#[test]
fn heads_say_what_their_documents_say() {
    let lines = all().map(|(name, file)| format!("{name}: {}\n", summary(&file)));
    expect![[r#"
        monkey: Monkey 13397 ms 44100 Hz 2 ch 16 bit 35 kbit/s [("title", "Ape")] 0 pictures []
        old monkey: Monkey 13397 ms 44100 Hz 2 ch 16 bit 35 kbit/s [("title", "Ape")] 0 pictures []
        musepack 8: Musepack 2688 ms 48000 Hz 2 ch 0 bit 59 kbit/s [("artist", "Pack")] 0 pictures []
        musepack 7: Musepack 2597 ms 44100 Hz 2 ch 0 bit 61 kbit/s [("artist", "Pack")] 0 pictures []
        dsf: Dsd 1000 ms 2822400 Hz 2 ch 1 bit 5644 kbit/s [("title", "Dsd")] 0 pictures []
        tta: TrueAudio 500 ms 8000 Hz 1 ch 16 bit 41 kbit/s [] 0 pictures []
        wma: Wma 512 ms 8000 Hz 1 ch 0 bit 50 kbit/s [("title", "Sine"), ("artist", "Ann"), ("album", "Waves"), ("tracknumber", "3/9"), ("date", "2001")] 0 pictures []
        mka: Flac 500 ms 8000 Hz 1 ch 16 bit 32 kbit/s [("title", "Sine"), ("artist", "Ann"), ("album", "Waves"), ("tracknumber", "3"), ("date", "2001-05-06")] 1 pictures []
        webm: Opus 508 ms 48000 Hz 1 ch 0 bit 30 kbit/s [("title", "Sine"), ("artist", "Ann")] 0 pictures []
    "#]].assert_eq(&lines.concat());
}

/// Returns an object of an ASF file.
fn object(guid: &[u8; 16], content: &[u8]) -> Vec<u8> {
    let bytes = (content.len() as u64 + 24).to_le_bytes();
    [&guid[..], &bytes, content].concat()
}

fn wide(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().chain([0]);
    units.flat_map(u16::to_le_bytes).collect()
}

/// Returns a value of the extended content description of an ASF file.
fn value(name: &str, kind: u16, value: &[u8]) -> Vec<u8> {
    let name = wide(name);
    let mut out = halves(&[name.len() as u16]);
    out.extend(name);
    out.extend(halves(&[kind, value.len() as u16]));
    out.extend(value);
    out
}

#[test]
fn values_of_asf_are_texts_numbers_and_pictures() {
    let picture = [
        &b"\x03\x06\0\0\0"[..],
        &wide("image/png"),
        &wide("x"),
        b"pixels",
    ]
    .concat();
    let values = [
        value("WM/AlbumTitle", 0, &wide("Album")),
        value("Author", 0, &wide("One")),
        value("Author", 0, &wide("Two")),
        value("WM/Track", 3, &2_u32.to_le_bytes()),
        value("WM/TrackNumber", 3, &3_u32.to_le_bytes()),
        value("WM/IsCompilation", 2, &1_u32.to_le_bytes()),
        value("WM/PartOfSet", 0, &wide("1/2")),
        value(
            "MusicBrainz/Album Id",
            0,
            &wide("c7d1ae2c-0b3b-4d2c-9b3a-000000000001"),
        ),
        value("WM/Picture", 1, &picture),
        value("WM/Unknown", 0, &wide("nothing")),
    ];
    let mut extended = halves(&[values.len() as u16]);
    extended.extend(values.concat());
    // The object is inserted before the objects that ffmpeg wrote, so its values are listed first.
    let guid = b"\x40\xa4\xd0\xd2\x07\xe3\xd2\x11\x97\xf0\0\xa0\xc9\x5e\xa8\x50";
    let object = object(guid, &extended);
    let mut file = WMA[..30].to_vec();
    let header_bytes = u64::from_le_bytes(*WMA[16..].first_chunk().expect("a length"));
    file[16..24].copy_from_slice(&(header_bytes + object.len() as u64).to_le_bytes());
    file.extend(&object);
    file.extend(&WMA[30..]);
    expect![[r#"Wma 512 ms 8000 Hz 1 ch 0 bit 50 kbit/s [("album", "Album"), ("artist", "One"), ("artist", "Two"), ("tracknumber", "3"), ("compilation", "1"), ("discnumber", "1/2"), ("musicbrainz_albumid", "c7d1ae2c-0b3b-4d2c-9b3a-000000000001"), ("title", "Sine"), ("artist", "Ann"), ("album", "Waves"), ("tracknumber", "3/9"), ("date", "2001")] 1 pictures []"#]].assert_eq(&summary(&file));
    let media = read(&file).expect("a sound file");
    let cover = media.cover().expect("one picture");
    let found = crate::read_cover(&file[..], file.len() as u64, cover, 100);
    assert_eq!(found.expect("it is there"), b"pixels");
    assert_eq!(
        media.audio_hash,
        read(WMA).expect("a sound file").audio_hash
    );
}

/// Returns a Matroska element whose length takes one byte.
pub(super) fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
    assert!(content.len() < 127);
    [id, &[0x80 | content.len() as u8], content].concat()
}

/// Returns a Matroska file of two seconds with this track and these tags, followed by a cluster of
/// unknown length.
fn matroska(track: &[u8], tags: &[u8]) -> Vec<u8> {
    let duration = element(b"\x44\x89", &2000_f32.to_be_bytes());
    [
        &b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff"[..],
        &element(b"\x15\x49\xa9\x66", &duration),
        &element(b"\x16\x54\xae\x6b", &element(b"\xae", track)),
        tags,
        b"\x1f\x43\xb6\x75\x01\xff\xff\xff\xff\xff\xff\xff",
        &[0x55; 5_000],
    ]
    .concat()
}

/// Returns a Matroska tag of this level with one value.
fn simple_tag(level: u8, name: &str, value: &str) -> Vec<u8> {
    let targets = element(b"\x63\xc0", &element(b"\x68\xca", &[level]));
    let name = element(b"\x45\xa3", name.as_bytes());
    let value = element(b"\x44\x87", value.as_bytes());
    let simple = element(b"\x67\xc8", &[name, value].concat());
    element(b"\x73\x73", &[targets, simple].concat())
}

#[test]
fn values_of_matroska_are_of_albums_discs_and_tracks() {
    let sound = [
        element(b"\x83", &[2]),
        element(b"\x86", b"A_MPEG/L3"),
        element(
            b"\xe1",
            &[
                element(b"\xb5", &44_100_f32.to_be_bytes()),
                element(b"\x9f", &[2]),
            ]
            .concat(),
        ),
    ]
    .concat();
    let tags: Vec<u8> = [
        simple_tag(50, "TITLE", "Album"),
        simple_tag(50, "ARTIST", "All"),
        simple_tag(50, "TOTAL_PARTS", "9"),
        simple_tag(40, "PART_NUMBER", "2"),
        simple_tag(30, "TITLE", "Title"),
        simple_tag(30, "PART_NUMBER", "3"),
        simple_tag(30, "DATE_RELEASED", "2001"),
    ]
    .iter()
    .flat_map(|tag| element(b"\x12\x54\xc3\x67", tag))
    .collect();
    let file = matroska(&sound, &tags);
    expect![[r#"Mp3 2000 ms 44100 Hz 2 ch 0 bit 20 kbit/s [("album", "Album"), ("albumartist", "All"), ("tracktotal", "9"), ("discnumber", "2"), ("title", "Title"), ("tracknumber", "3"), ("date", "2001")] 0 pictures []"#]].assert_eq(&summary(&file));
    let film = matroska(&element(b"\x83", &[1]), b"");
    expect!["Malformed: the Matroska file has a video track, so it is not indexed as music"]
        .assert_eq(&summary(&film));
    let nothing = matroska(&element(b"\x83", &[17]), b"");
    expect!["Malformed: the Matroska file has no audio track"].assert_eq(&summary(&nothing));
}

#[test]
fn a_head_that_counts_more_than_the_file_holds_tells_no_duration() {
    let lying = |at: usize| {
        let mut file = monkey();
        file[at..at + 4].fill(0xff);
        summary(&file)
    };
    // Offsets of two fields that are made too large: the number of frames, and the number of
    // samples of the last frame.
    for at in [64, 60] {
        expect![[
            r#"Monkey 0 ms 44100 Hz 2 ch 16 bit 0 kbit/s about [("title", "Ape")] 0 pictures ["the header states more frames than fit into the file"]"#
        ]]
        .assert_eq(&lying(at));
    }
}

#[test]
fn a_file_that_is_cut_anywhere_has_a_verdict() {
    for (name, file) in all() {
        for length in (0..200).chain([file.len() / 2, file.len() - 1]) {
            // Any result is accepted, as long as there is no panic and the limits are kept.
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
