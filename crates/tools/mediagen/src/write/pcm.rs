use std::sync::LazyLock;

use super::audio::{Audio, ms};
use super::mp3;
use crate::art::Cover;
use crate::payload;
use crate::plan::Song;
use crate::wav::wav_file;

/// Parameters of the sound in all PCM files: sample rate, number of channels, bits per sample, and
/// duration in seconds.
const SOURCE: (u32, u16, u8, u32) = (22_050, 1, 16, 3);
static SAMPLES: LazyLock<Vec<u8>> = LazyLock::new(|| payload::samples(SOURCE, 99));

fn stretch(song: &Song) -> (&'static [u8], Audio) {
    let mut random = song.random.clone();
    random.next();
    let samples = random.within(SAMPLES.len() / 8, SAMPLES.len() / 2);
    let audio = Audio {
        duration_ms: ms(samples as u64, SOURCE.0),
        sample_rate_hz: SOURCE.0,
        channels: SOURCE.1,
    };
    (&SAMPLES[..2 * samples], audio)
}

pub(super) fn wav(song: &Song, cover: Option<&Cover>) -> (Vec<u8>, Audio) {
    let (samples, audio) = stretch(song);
    let tag = mp3::tag_only(song, cover);
    let chunk = [&b"id3 "[..], &(tag.len() as u32).to_le_bytes(), &tag].concat();
    (
        wav_file(SOURCE.0, SOURCE.1, SOURCE.2, samples, &chunk),
        audio,
    )
}

pub(super) fn aiff(song: &Song, cover: Option<&Cover>) -> (Vec<u8>, Audio) {
    let (samples, audio) = stretch(song);
    let tag = mp3::tag_only(song, cover);
    let swapped: Vec<u8> = samples
        .chunks_exact(2)
        .flat_map(|pair| [pair[1], pair[0]])
        .collect();
    let mut common = SOURCE.1.to_be_bytes().to_vec();
    common.extend((samples.len() as u32 / 2).to_be_bytes());
    common.extend(u16::from(SOURCE.2).to_be_bytes());
    // The sample rate is written as an 80-bit float. The exponent is the position of the number's
    // highest bit. The number follows, shifted so that this bit comes first.
    let shift = SOURCE.0.leading_zeros();
    common.extend((16383 + 31 - shift as u16).to_be_bytes());
    common.extend((SOURCE.0 << shift).to_be_bytes());
    common.extend([0; 4]);
    let mut body = b"AIFF".to_vec();
    for (kind, chunk) in [
        (b"COMM", &common),
        (b"ID3 ", &tag),
        (b"SSND", &[&[0; 8], &swapped[..]].concat()),
    ] {
        body.extend(kind);
        body.extend((chunk.len() as u32).to_be_bytes());
        body.extend(chunk);
    }
    (
        [&b"FORM"[..], &(body.len() as u32).to_be_bytes(), &body].concat(),
        audio,
    )
}
