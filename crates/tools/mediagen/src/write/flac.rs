use super::audio::{Audio, ms};
use super::comment::{comment_fields, comments};
use crate::art::Cover;
use crate::payload::Flac;
use crate::plan::Song;

const STREAMINFO: u8 = 0;
const PADDING: u8 = 1;
const COMMENTS: u8 = 4;
const PICTURE: u8 = 6;

pub(super) fn write(song: &Song, cover: Option<&Cover>, payloads: &[Flac]) -> (Vec<u8>, Audio) {
    let mut random = song.random.clone();
    let payload = random.pick(payloads);
    let frames = random
        .within(payload.frames.len().div_ceil(4), payload.frames.len() - 1)
        .max(1);
    let samples = frames as u64 * payload.block_samples;
    let mut info = payload.info;
    let word = u64::from_be_bytes(*info[10..].first_chunk().expect("the block has 34 bytes"));
    let word = word >> 36 << 36 | samples;
    info[10..18].copy_from_slice(&word.to_be_bytes());
    // The file contains only a part of the payload, and the MD5 checksum of this part is not known.
    // Zeros stand for "unknown".
    info[18..].fill(0);
    let mut blocks = vec![(STREAMINFO, info.to_vec())];
    let upper = random.percent(50);
    blocks.push((COMMENTS, comments(&comment_fields(song, upper))));
    if let Some(cover) = cover {
        let at = if random.percent(5) { 1 } else { blocks.len() };
        blocks.insert(at, (PICTURE, cover.block()));
    }
    if random.percent(90) {
        blocks.push((PADDING, vec![0; random.within(4096, 8192)]));
    }
    let mut out = b"fLaC".to_vec();
    let last = blocks.len() - 1;
    for (index, (kind, body)) in blocks.into_iter().enumerate() {
        let [_, b2, b1, b0] = (body.len() as u32).to_be_bytes();
        out.extend([kind | if index == last { 0x80 } else { 0 }, b2, b1, b0]);
        out.extend(body);
    }
    out.extend(payload.frames[..frames].concat());
    let audio = Audio {
        duration_ms: ms(samples, payload.sample_rate_hz),
        sample_rate_hz: payload.sample_rate_hz,
        channels: payload.channels,
    };
    (out, audio)
}
