//! AAC in ADTS, as radio streams and cameras write it. No header counts the frames, so a long
//! file's duration is estimated from some of its frames. In the table, each field is followed by
//! its width in bits; `…` stands for ignored bits.
//!
//! ```text
//! frame: sync 12 · version 1 · layer 2, zero · no CRC 1 · profile 2 · rate 4 · private 1
//!        channels 3 · … 4 · length of the frame in bytes 13 · fullness 11 · (blocks − 1) 2
//! ```
//! Source: ISO 13818-7 §6.2.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container};
use crate::{Error, Media, mpeg};
use std::ops::Range;

const HEAD_BYTES: u64 = 7;
const FRAME_SAMPLES: u64 = 1024;
/// Number of consecutive frames that are parsed at the start and at each of `SPOTS` further
/// offsets.
const FRAMES: u64 = 16;
/// Number of offsets after the start at which frames are parsed.
const SPOTS: u64 = 4;
/// Bytes per step of the search for the start of a frame.
const STEP_BYTES: usize = 4096;
/// Length in bytes of the longest frame that the format allows.
const FRAME_BYTES_MAX: usize = 8191;

const RATES_HZ: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];

#[derive(Clone, Copy, PartialEq, Eq)]
struct Frame {
    sample_rate_hz: u32,
    channels: u8,
    samples: u64,
    bytes: u64,
}

impl Frame {
    fn parse(head: &[u8]) -> Option<Frame> {
        let &[0xff, second, third, fourth, fifth, sixth, seventh, ..] = head else {
            return None;
        };
        if second & 0xf6 != 0xf0 {
            return None;
        }
        let bytes = u64::from(fourth & 3) << 11 | u64::from(fifth) << 3 | u64::from(sixth >> 5);
        Some(Frame {
            sample_rate_hz: *RATES_HZ.get(usize::from(third >> 2 & 15))?,
            channels: (third & 1) << 2 | fourth >> 6,
            samples: FRAME_SAMPLES * (u64::from(seventh & 3) + 1),
            bytes,
        })
        .filter(|frame| HEAD_BYTES <= frame.bytes)
    }

    fn is_like(&self, other: &Frame) -> bool {
        (self.sample_rate_hz, self.channels) == (other.sample_rate_hz, other.channels)
    }
}

/// Returns whether `head` is the start of an ADTS frame. The layer is 0 in an ADTS header, but not
/// in a header of MP1, MP2 or MP3.
pub(crate) fn is_adts(head: &[u8]) -> bool {
    Frame::parse(head).is_some()
}

/// Finds the first of three consecutive frames, in a file that begins with other data.
pub(crate) fn search(input: &mut Input<'_>) -> Result<Option<u64>, Error> {
    let end = input.len().min(input.limits.sync_bytes_max);
    let mut at = 0;
    while at < end {
        let bytes = input.up_to(at, STEP_BYTES + 2 * FRAME_BYTES_MAX + HEAD_BYTES as usize)?;
        let frame = |at: usize| Frame::parse(bytes.get(at..)?);
        let found = (0..bytes.len().min(STEP_BYTES)).find(|&start| {
            let Some(first) = frame(start) else {
                return false;
            };
            let second_at = start + first.bytes as usize;
            let second = frame(second_at).filter(|second| second.is_like(&first));
            let third = second.and_then(|second| frame(second_at + second.bytes as usize));
            third.is_some_and(|third| third.is_like(&first))
        });
        if let Some(start) = found {
            return Ok(Some(at + start as u64));
        }
        at += STEP_BYTES as u64;
    }
    Ok(None)
}

/// Adds the properties of the frames that begin at `audio` to `media`, which already holds the
/// values of the ID3v2 tag, if any.
pub(crate) fn read(input: &mut Input<'_>, audio: u64, mut media: Media) -> Result<Media, Error> {
    media.container = Container::Adts;
    media.audio.codec = Codec::Aac;
    let head = input.up_to(audio, HEAD_BYTES as usize)?;
    let first = Frame::parse(head).ok_or(Error::malformed(
        "the audio does not begin with an aac frame",
    ))?;
    media.audio.sample_rate_hz = first.sample_rate_hz;
    media.audio.channels = match first.channels {
        7 => 8,
        count => count.into(),
    };
    let sound = input.up_to(audio, first.bytes as usize)?.to_vec();
    let end = mpeg::tail(input, audio, &mut media)?;
    media.audio_hash = AudioHash::of("adts", end - audio, &sound);
    let (mut samples, mut bytes) = run(input, audio..end, first)?;
    let is_all = audio + bytes == end;
    if !is_all {
        for spot in 1..=SPOTS {
            let at = audio + (end - audio) / (SPOTS + 1) * spot;
            if let Some(at) = find(input, at..end, first)? {
                let (more_samples, more_bytes) = run(input, at..end, first)?;
                samples += more_samples;
                bytes += more_bytes;
            }
        }
    }
    let all = u128::from(end - audio) * u128::from(samples) / u128::from(bytes.max(1));
    let all = u64::try_from(all).unwrap_or(u64::MAX);
    media.audio.measure(all, end - audio);
    media.audio.exact = is_all;
    Ok(media)
}

/// Parses up to `FRAMES` consecutive frames from the start of `range`. Returns the number of
/// samples in these frames, and the length of these frames in bytes.
fn run(input: &mut Input<'_>, range: Range<u64>, first: Frame) -> Result<(u64, u64), Error> {
    let (mut at, mut samples) = (range.start, 0);
    for _ in 0..FRAMES {
        input.part()?;
        let frame = Frame::parse(input.up_to(at, HEAD_BYTES as usize)?);
        let Some(frame) = frame.filter(|frame| frame.is_like(&first)) else {
            break;
        };
        if range.end < at + frame.bytes {
            break;
        }
        at += frame.bytes;
        samples += frame.samples;
    }
    Ok((samples, at - range.start))
}

/// Returns the offset of the first frame in `range` that is followed by another frame.
fn find(input: &mut Input<'_>, range: Range<u64>, first: Frame) -> Result<Option<u64>, Error> {
    let bytes = input.up_to(range.start, 2 * FRAME_BYTES_MAX + HEAD_BYTES as usize)?;
    let frame = |at: usize| Frame::parse(bytes.get(at..)?).filter(|frame| frame.is_like(&first));
    let mut starts = 0..bytes.len().min(FRAME_BYTES_MAX);
    let found = starts.find(|&start| {
        let next = frame(start).and_then(|found| frame(start + found.bytes as usize));
        next.is_some()
    });
    Ok(found.map(|start| range.start + start as u64))
}
