use super::audio::{Audio, ms};
use super::id3;
use crate::art::Cover;
use crate::payload::Mp3;
use crate::plan::Song;

pub(super) fn write(song: &Song, cover: Option<&Cover>, payloads: &[Mp3]) -> (Vec<u8>, Audio) {
    let mut random = song.random.clone();
    let payload = random.pick(payloads);
    let frames = random
        .within(payload.frames.len().div_ceil(4), payload.frames.len() - 1)
        .max(1);
    let mut out = id3::tag(song, cover, &mut random);
    let sound = payload.frames[..frames].concat();
    let mut head = payload.head.clone();
    let mut words = head.windows(4);
    let xing = words.position(|word| word == b"Xing" || word == b"Info");
    let xing = xing.expect("LAME writes this header");
    head[xing + 8..xing + 12].copy_from_slice(&(frames as u32).to_be_bytes());
    let bytes = (head.len() + sound.len()) as u32;
    head[xing + 12..xing + 16].copy_from_slice(&bytes.to_be_bytes());
    out.extend(head);
    out.extend(sound);
    if random.percent(40) {
        out.extend(id3::old_tag(song));
    }
    let samples = frames as u64 * payload.frame_samples - payload.added;
    let audio = Audio {
        duration_ms: ms(samples, payload.sample_rate_hz),
        sample_rate_hz: payload.sample_rate_hz,
        channels: payload.channels,
    };
    (out, audio)
}

/// Returns the ID3v2 tag without audio, padded to an even length, for a chunk of a WAV or AIFF
/// file.
pub(super) fn tag_only(song: &Song, cover: Option<&Cover>) -> Vec<u8> {
    let mut tag = id3::tag(song, cover, &mut song.random.clone());
    tag.resize(tag.len() + tag.len() % 2, 0);
    tag
}
