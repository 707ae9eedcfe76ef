use super::{audio, audio_within};

const M4A: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.m4a");
const MP3: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.mp3");
const AAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.aac");

fn within(bytes: &[u8], extension: &str) -> Option<&'static str> {
    let found = audio_within(bytes, bytes.len() as u64, extension);
    found.expect("memory can be read")
}

/// Returns the sample M4A file with its brand replaced by `isom`, which most MP4 writers use.
fn of_brand_isom() -> Vec<u8> {
    let mut file = M4A.to_vec();
    file[8..12].copy_from_slice(b"isom");
    file
}

#[test]
fn mp4_of_any_brand_is_music_if_nothing_moves() {
    let sound = of_brand_isom();
    assert_eq!(audio(&sound), None);
    assert_eq!(within(&sound, "m4a"), Some("audio/mp4"));
    assert_eq!(within(&sound, "mp4"), Some("audio/mp4"));
    assert_eq!(within(&sound, "mov"), None);
    // A film: a second track follows, whose handler is `vide`.
    let mut film = sound.clone();
    let at = |file: &[u8], kind: &[u8]| {
        let found = file.windows(4).position(|four| four == kind);
        found.expect("a box of this kind") - 4
    };
    let (moov, trak) = (at(&film, b"moov"), at(&film, b"trak"));
    let long = |file: &[u8], at: usize| {
        let bytes = file[at..].first_chunk().expect("a length");
        u32::from_be_bytes(*bytes)
    };
    let trak_bytes = long(&film, trak) as usize;
    let mut second = film[trak..trak + trak_bytes].to_vec();
    let handler = second.windows(4).position(|four| four == b"soun");
    let handler = handler.expect("a handler");
    second[handler..handler + 4].copy_from_slice(b"vide");
    let moov_bytes = long(&film, moov) + trak_bytes as u32;
    film[moov..moov + 4].copy_from_slice(&moov_bytes.to_be_bytes());
    let end = trak + trak_bytes;
    film.splice(end..end, second);
    assert_eq!(within(&film, "mp4"), None);
    // Audiobooks may have a video track: the pictures of their chapters.
    assert_eq!(within(&film, "m4b"), Some("audio/mp4"));
}

#[test]
fn music_that_a_scan_finds_is_served() {
    let wav = include_bytes!("../../../../library/tags/testdata/sine.wav");
    for name in [b"RIFF", b"RF64", b"BW64"] {
        let file = [&name[..], &wav[4..]].concat();
        assert_eq!(audio(&file), Some("audio/wav"), "{name:?}");
    }
    let live = include_bytes!("../../../../library/tags/testdata/sine-live.webm");
    assert_eq!(within(live, "weba"), Some("audio/webm"));
    assert_eq!(within(&of_brand_isom(), "m4r"), Some("audio/mp4"));
    let recorded = [&[0x55; 500], MP3].concat();
    assert_eq!(within(&recorded, "mpga"), Some("audio/mpeg"));
    // Header of Monkey's Audio files written before version 3.84.
    assert_eq!(audio(b"MAC \xd8\x0e"), Some("audio/x-ape"));
}

#[test]
fn a_recorded_stream_is_music_by_its_name_and_its_frames() {
    for (file, extension, expected) in [(MP3, "mp3", "audio/mpeg"), (AAC, "aac", "audio/aac")] {
        let recorded = [&[0x55; 500], file].concat();
        assert_eq!(audio(&recorded), None);
        assert_eq!(within(&recorded, extension), Some(expected));
        assert_eq!(within(&recorded, "txt"), None);
    }
    assert_eq!(within(b"a secret that is called music", "mp3"), None);
    assert_eq!(within(b"", "mp3"), None);
}
