//! Tests that transcode each source format to Opus. They compare the result with the original,
//! which ffmpeg has generated.

use audio_plan::Codec;

use super::{compare, decoded, ffmpeg, plan, transcoded};
use crate::ErrorKind;

/// Expression for ffmpeg: a signal of three seconds that never repeats. The left channel has a tone
/// that rises from 200 Hz, and the right channel a tone that rises from 300 Hz.
const RISING: &str = "aevalsrc=0.5*sin(2*PI*(200*t+300*t*t))|0.25*sin(2*PI*(300*t+500*t*t)):d=3:s=";

struct Format {
    name: &'static str,
    codec: Codec,
    rate: &'static str,
    words: &'static [&'static str],
}

const FORMATS: &[Format] = &[
    Format {
        name: "FLAC",
        codec: Codec::Flac,
        rate: "44100",
        words: &["-f", "flac"],
    },
    Format {
        name: "FLAC, 24 bits, 96 kHz",
        codec: Codec::Flac,
        rate: "96000",
        words: &["-f", "flac", "-sample_fmt", "s32"],
    },
    Format {
        name: "Vorbis",
        codec: Codec::Vorbis,
        rate: "44100",
        words: &["-f", "ogg", "-c:a", "libvorbis", "-q:a", "8"],
    },
    Format {
        name: "Opus",
        codec: Codec::Opus,
        rate: "48000",
        words: &["-f", "ogg", "-c:a", "libopus", "-b:a", "256k"],
    },
];

/// Formats that ffmpeg can write completely only into seekable files, not into a pipe.
const IN_FILES: &[Format] = &[
    Format {
        name: "WAV",
        codec: Codec::Wav,
        rate: "48000",
        words: &["-f", "wav"],
    },
    Format {
        name: "WAV, floats",
        codec: Codec::Wav,
        rate: "22050",
        words: &["-f", "wav", "-c:a", "pcm_f32le"],
    },
    Format {
        name: "WAV, 24 bits",
        codec: Codec::Wav,
        rate: "192000",
        words: &["-f", "wav", "-c:a", "pcm_s24le"],
    },
    Format {
        name: "MP3",
        codec: Codec::Mpeg,
        rate: "44100",
        words: &["-f", "mp3", "-c:a", "libmp3lame", "-b:a", "256k"],
    },
    Format {
        name: "MP3, 24 kHz",
        codec: Codec::Mpeg,
        rate: "24000",
        words: &["-f", "mp3", "-c:a", "libmp3lame", "-q:a", "0"],
    },
    Format {
        name: "AIFF",
        codec: Codec::Aiff,
        rate: "44100",
        words: &["-f", "aiff"],
    },
    Format {
        name: "ALAC",
        codec: Codec::Alac,
        rate: "44100",
        words: &["-f", "ipod", "-c:a", "alac"],
    },
    Format {
        name: "ALAC, 24 bits",
        codec: Codec::Alac,
        rate: "88200",
        words: &["-f", "ipod", "-c:a", "alac", "-sample_fmt", "s32p"],
    },
];

fn write(format: &Format, into_file: bool) -> Vec<u8> {
    let source = format!("{RISING}{}", format.rate);
    let before = ["-f", "lavfi", "-i", &source];
    if !into_file {
        return ffmpeg(&before, b"", format.words);
    }
    let name = format.name.replace([' ', ','], "-");
    let path = std::env::temp_dir().join(format!("pelton-audio-{name}-{}", std::process::id()));
    let path_text = path.to_str().expect("text");
    ffmpeg(
        &before,
        b"",
        &[format.words, &["-y", path_text, "-f", "null"]].concat(),
    );
    let bytes = std::fs::read(&path).expect("it was written");
    std::fs::remove_file(&path).expect("it is there");
    bytes
}

/// Transcodes a file from two start positions and compares each output with the signal. The length
/// may differ by one packet of 20 ms and the delay by half a millisecond. In each channel, the
/// difference between output and signal must be at least 20 dB below the signal.
fn check(format: &Format, into_file: bool) {
    const PACKET: i64 = 960;
    let original = write(format, into_file);
    // The output is compared with the uncompressed signal, since ffmpeg does not remove the padding
    // of some formats when it decodes.
    let reference = decoded(
        &ffmpeg(
            &["-f", "lavfi", "-i", &format!("{RISING}48000")],
            b"",
            &["-f", "wav", "-c:a", "pcm_f32le"],
        ),
        2,
    );
    for start_ms in [0, 1_250] {
        let plan = audio_plan::Plan {
            start_ms,
            ..plan(format.codec, 2, 3)
        };
        let transcoded =
            transcoded(&plan, &original).unwrap_or_else(|err| panic!("{}: {err}", format.name));
        assert_eq!(transcoded.remarks, Vec::<String>::new(), "{}", format.name);
        let decoded = decoded(&transcoded.sink, 2);
        let start_frame = start_ms as usize * 48;
        let name = format!("{} from {start_ms} ms", format.name);
        let longer = decoded[0].len() as i64 - (reference[0].len() - start_frame) as i64;
        assert!(longer.abs() <= PACKET, "{name}: {longer} samples longer");
        for (decoded, reference) in decoded.iter().zip(&reference) {
            let (lag, decibels) = compare(&reference[start_frame..], decoded, 48);
            assert!(lag.abs() <= 24, "{name}: {lag} samples late");
            assert!(
                20.0 < decibels,
                "{name}: {decibels:.1} dB, {lag} samples late"
            );
        }
    }
}

#[test]
fn every_format_is_transcoded_faithfully_from_every_start() {
    FORMATS.iter().for_each(|format| check(format, false));
    IN_FILES.iter().for_each(|format| check(format, true));
}

#[test]
fn the_output_has_tags_and_is_deterministic() {
    let format = &FORMATS[0];
    let original = write(format, false);
    let plan = plan(Codec::Flac, 1, 3);
    let first = transcoded(&plan, &original).expect("sound");
    assert_eq!(first, transcoded(&plan, &original).expect("sound"));
    let text = String::from_utf8_lossy(&first.sink);
    assert!(text.contains("TITLE=Für Elise"));
    assert!(text.contains("libopus"));
    // The plan requests 64 kb/s, and the signal lasts three seconds.
    let bits = first.sink.len() * 8 / 3;
    assert!((40_000..80_000).contains(&bits), "{bits} bits a second");
    // RFC 7845 §4: each header has a page of its own, and no page is longer than one second.
    let pages = first.sink.windows(5).filter(|bytes| bytes == b"OggS\0");
    assert_eq!(pages.count(), 2 + 4);
}

#[test]
fn five_point_one_is_mixed_to_stereo() {
    // In this 5.1 signal, all channels except the centre are silent.
    let source = "aevalsrc=0|0|0.5*sin(2*PI*440*t)|0|0|0:d=1:s=48000:c=5.1";
    for (codec, words) in [
        (Codec::Flac, &["-f", "flac"][..]),
        (
            Codec::Opus,
            &["-f", "ogg", "-c:a", "libopus", "-b:a", "256k"],
        ),
        (Codec::Vorbis, &["-f", "ogg", "-c:a", "libvorbis"]),
    ] {
        let original = ffmpeg(&["-f", "lavfi", "-i", source], b"", words);
        let decoded = decoded(
            &transcoded(&plan(codec, 2, 1), &original)
                .expect("sound")
                .sink,
            2,
        );
        let level = |samples: &[f32]| {
            let power: f32 = samples.iter().map(|it| it * it).sum();
            (power / samples.len() as f32).sqrt()
        };
        let (left, right) = (level(&decoded[0]), level(&decoded[1]));
        assert!(
            (left / right - 1.0).abs() < 0.05,
            "{codec:?}: {left} {right}"
        );
        // A tone at half scale has an RMS of 0.354. The centre has the weight 0.707 / (1 + 2 ·
        // 0.707), so the expected RMS is 0.104.
        assert!((0.08..0.125).contains(&left), "{codec:?}: {left}");
    }
}

/// Returns an Ogg file with a tone of `seconds` seconds in both channels.
fn tone(codec: &str, seconds: u32, hz: u32, rate: u32, channels: &str) -> Vec<u8> {
    let source = format!("aevalsrc=0.5*sin(2*PI*{hz}*t)|0.5*sin(2*PI*{hz}*t):d={seconds}:s={rate}");
    let before = ["-f", "lavfi", "-i", &source];
    // The streams of a chained file need different serial numbers, whereas ffmpeg by default uses
    // the same number in every file.
    let serial = hz.to_string();
    let words = ["-f", "ogg", "-c:a", codec, "-ac", channels];
    ffmpeg(
        &before,
        b"",
        &[&words[..], &["-serial_offset", &serial]].concat(),
    )
}

fn crossings(samples: &[f32]) -> usize {
    let pairs = samples.windows(2);
    pairs.filter(|pair| pair[0] < 0.0 && 0.0 <= pair[1]).count()
}

#[test]
fn every_link_of_a_chain_is_heard() {
    for (codec, name, rates) in [
        (Codec::Vorbis, "libvorbis", [44_100, 44_100, 22_050]),
        (Codec::Opus, "libopus", [48_000; 3]),
    ] {
        // Chain of three streams. The last one has another number of channels and, with Vorbis,
        // another sample rate.
        let chain = [
            tone(name, 1, 440, rates[0], "2"),
            tone(name, 2, 660, rates[1], "2"),
            tone(name, 1, 880, rates[2], "1"),
        ];
        for (start_ms, hz) in [(0, &[440, 660, 660, 880][..]), (3_000, &[880])] {
            let plan = audio_plan::Plan {
                start_ms,
                ..plan(codec, 2, 4)
            };
            let transcoded = transcoded(&plan, &chain.concat()).expect("sound");
            assert_eq!(transcoded.remarks, Vec::<String>::new(), "{name}");
            let decoded = decoded(&transcoded.sink, 2);
            let seconds = decoded[0].chunks(48_000);
            let longer = decoded[0].len() as i64 - 48_000 * hz.len() as i64;
            assert!(
                longer.abs() <= 960,
                "{name} from {start_ms}: {longer} samples longer"
            );
            for (second, &hz) in seconds.zip(hz) {
                // The first and last 100 ms of each second are excluded, since the encoder blends
                // consecutive tones.
                let rises = crossings(&second[4_800..43_200]) as i64;
                assert!(
                    (rises - hz * 8 / 10).abs() <= 2,
                    "{name} from {start_ms}: {rises} of {hz}"
                );
            }
        }
    }
}

#[test]
fn a_chain_with_a_second_codec_is_refused() {
    let vorbis = tone("libvorbis", 1, 440, 48_000, "2");
    let opus = tone("libopus", 1, 660, 48_000, "2");
    for (codec, chain) in [
        (Codec::Vorbis, [&vorbis[..], &opus].concat()),
        (Codec::Opus, [&opus[..], &vorbis].concat()),
    ] {
        let transcoded = transcoded(&plan(codec, 2, 2), &chain).map(|transcoded| transcoded.frames);
        assert_eq!(
            transcoded.map_err(|err| err.kind),
            Err(ErrorKind::Unsupported)
        );
    }
}

#[test]
fn the_output_is_not_longer_than_the_plan_allows() {
    let long = tone("libopus", 20, 440, 48_000, "2");
    let plan = plan(Codec::Opus, 2, 4);
    let transcoded = transcoded(&plan, &long).expect("sound");
    // The limit is four seconds, as in the plan, plus a tolerance of ten seconds and an eighth of
    // the duration.
    assert_eq!(transcoded.frames, 48_000 * 29 / 2);
    assert_eq!(
        transcoded.remarks,
        ["the original is longer than the plan allows; the output is truncated"]
    );
}

#[test]
fn a_start_after_the_end_is_the_files_fault() {
    let original = write(&FORMATS[0], false);
    let late = audio_plan::Plan {
        start_ms: 60_000,
        ..plan(Codec::Flac, 2, 120)
    };
    assert_eq!(
        transcoded(&late, &original).map_err(|err| err.kind),
        Err(ErrorKind::Undecodable)
    );
}
