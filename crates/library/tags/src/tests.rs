//! Tests with a small file of each format, made by common encoders, and with modifications of these
//! files.

mod chains;
mod counts;
mod ends;
mod fields;
mod names;
mod odd;
mod oracle;
mod pictures;
mod places;
mod rare;

use crate::{Error, Limits, Media, ReadStats, Reader};

/// Half a second of a sine tone, encoded by flac, lame, ffmpeg, oggenc and opusenc.
const SINES: [(&str, &[u8]); 11] = [
    ("flac", include_bytes!("../testdata/sine.flac")),
    ("mp3", include_bytes!("../testdata/sine.mp3")),
    ("m4a", include_bytes!("../testdata/sine.m4a")),
    ("alac", include_bytes!("../testdata/sine-alac.m4a")),
    ("ogg", include_bytes!("../testdata/sine.ogg")),
    ("opus", include_bytes!("../testdata/sine.opus")),
    ("wav", include_bytes!("../testdata/sine.wav")),
    ("aiff", include_bytes!("../testdata/sine.aiff")),
    ("wv", include_bytes!("../testdata/sine.wv")),
    ("aac", include_bytes!("../testdata/sine.aac")),
    ("spx", include_bytes!("../testdata/sine.spx")),
];

fn sine(name: &str) -> &'static [u8] {
    let found = SINES.into_iter().find(|(known, _)| *known == name);
    found.expect("one of the table").1
}

fn read(bytes: &[u8]) -> Result<Media, Error> {
    Reader::new(Limits::default()).read(bytes, bytes.len() as u64)
}

fn read_counted(bytes: &[u8]) -> (Media, ReadStats) {
    let mut reader = Reader::new(Limits::default());
    let media = reader
        .read(bytes, bytes.len() as u64)
        .expect("a sound file");
    (media, reader.spent())
}

/// Returns a file's metadata, or its error, as one line.
fn summary(bytes: &[u8]) -> String {
    match read(bytes) {
        Err(err) => format!("{:?}: {err}", err.kind),
        Ok(Media {
            audio,
            tags,
            pictures,
            issues,
            ..
        }) => format!(
            "{:?} {} ms {} Hz {} ch {} bit {} kbit/s{} {tags:?} {} pictures {issues:?}",
            audio.codec,
            audio.duration_ms,
            audio.sample_rate_hz,
            audio.channels,
            audio.bits,
            audio.bitrate_bps / 1000,
            if audio.exact { "" } else { " about" },
            pictures.len(),
        ),
    }
}

#[test]
fn each_kind_tells_its_audio() {
    let lines: Vec<String> = SINES
        .iter()
        .map(|(name, bytes)| format!("{name}: {}\n", summary(bytes)))
        .collect();
    expect_test::expect![[r#"
        flac: Flac 500 ms 44100 Hz 1 ch 16 bit 104 kbit/s [] 0 pictures []
        mp3: Mp3 500 ms 22050 Hz 1 ch 0 bit 20 kbit/s [] 0 pictures []
        m4a: Aac 523 ms 44100 Hz 1 ch 0 bit 22 kbit/s [("encodedby", "Lavf59.27.100")] 0 pictures []
        alac: Alac 500 ms 44100 Hz 1 ch 16 bit 140 kbit/s [("encodedby", "Lavf59.27.100")] 0 pictures []
        ogg: Vorbis 500 ms 44100 Hz 1 ch 0 bit 65 kbit/s [] 0 pictures []
        opus: Opus 500 ms 48000 Hz 1 ch 0 bit 26 kbit/s [] 0 pictures []
        wav: Pcm 500 ms 8000 Hz 1 ch 8 bit 64 kbit/s [] 0 pictures []
        aiff: Pcm 500 ms 8000 Hz 1 ch 8 bit 64 kbit/s [] 0 pictures []
        wv: WavPack 500 ms 8000 Hz 1 ch 16 bit 50 kbit/s [] 0 pictures []
        aac: Aac 640 ms 8000 Hz 1 ch 0 bit 22 kbit/s [] 0 pictures []
        spx: Speex 495 ms 8000 Hz 1 ch 0 bit 17 kbit/s [] 0 pictures []
    "#]].assert_eq(&lines.concat());
}
