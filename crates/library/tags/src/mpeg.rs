//! MPEG audio without a container: the tags before and after it, and its duration. In the table,
//! the fields of `frame head` are followed by their widths in bits, `@` precedes the offset of a
//! field in bytes, and bracketed fields are present if the flag before the colon is set.
//!
//! ```text
//! ID3v2 · frames; the first may have a Xing, Info or VBRI header instead of audio · APEv2 · ID3v1
//! frame head: sync 11 · version 2 · layer 2 · no CRC 1 · bit rate 4 · sample rate 2 · padding 1
//!             private 1 · channels 2 · …
//! Xing or Info: flags u32 · [1: frames u32] · [2: bytes u32] · [4: 100 bytes] · [8: quality u32]
//!               LAME: @0 name, 9 bytes · … · @21 delay in 12 bits, padding in 12 bits
//! VBRI: @10 bytes u32 · @14 frames u32
//! ```
//! If a file has no such header, frames are sampled at a few offsets to find out whether the bit
//! rate is constant. If the bit rate varies, the duration is estimated from the mean bit rate of
//! the sampled frames. Sources: ISO 11172-3 §2.4, ISO 13818-3, the vendors' documentation of the
//! Xing and VBRI headers.

use crate::input::Input;
use crate::media::{AudioHash, Codec};
use crate::{Error, Media, ape, id3v1};
use std::ops::Range;

const HEAD_BYTES: usize = 4;
/// Bytes read of a frame that may contain a Xing, Info or VBRI header.
const INFO_BYTES: usize = 192;
/// Bytes per step of the search for a frame.
const STEP_BYTES: usize = 4096;
/// Maximum bytes of a frame: layer II, 384 kbit/s at 32 kHz. Free-format streams are not supported.
const FRAME_BYTES_MAX: usize = 1729;
/// Number of offsets at which frames are sampled if no header counts them.
const SPOTS: u64 = 12;

/// A parsed frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    layer: u8,
    /// True for MPEG 1. In MPEG 2 and 2.5, layer III frames have half as many samples.
    full: bool,
    crc: bool,
    bitrate_bps: u32,
    sample_rate_hz: u32,
    channels: u16,
    bytes: usize,
}

/// Bit rates in kbit/s by index: for MPEG 1 layers I, II and III; for MPEG 2 and 2.5 layer I; for
/// MPEG 2 and 2.5 layers II and III.
const BITRATES: [[u16; 15]; 5] = [
    [
        0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
    ],
    [
        0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    ],
    [
        0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
    ],
    [
        0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
    ],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

impl Frame {
    fn parse(head: [u8; HEAD_BYTES]) -> Option<Frame> {
        let word = u32::from_be_bytes(head);
        if word >> 21 != 0x7ff {
            return None;
        }
        let (version, layer) = (word >> 19 & 3, 4 - (word >> 17 & 3) as u8);
        let (rate, sampling) = ((word >> 12 & 15) as usize, (word >> 10 & 3) as usize);
        if version == 1 || layer == 4 || rate == 0 || rate == 15 || sampling == 3 {
            return None;
        }
        let full = version == 3;
        let row = match (full, layer) {
            (true, layer) => usize::from(layer) - 1,
            (false, 1) => 3,
            (false, _) => 4,
        };
        let bitrate_bps = u32::from(BITRATES[row][rate]) * 1000;
        let halvings = match version {
            3 => 0,
            2 => 1,
            _ => 2,
        };
        let sample_rate_hz = [44_100, 48_000, 32_000][sampling] >> halvings;
        let padding = word >> 9 & 1;
        let bytes = match (layer, full) {
            (1, _) => (12 * bitrate_bps / sample_rate_hz + padding) * 4,
            (3, false) => 72 * bitrate_bps / sample_rate_hz + padding,
            _ => 144 * bitrate_bps / sample_rate_hz + padding,
        };
        Some(Frame {
            layer,
            full,
            crc: word >> 16 & 1 == 0,
            bitrate_bps,
            sample_rate_hz,
            channels: if word >> 6 & 3 == 3 { 1 } else { 2 },
            bytes: bytes as usize,
        })
    }

    fn samples(self) -> u64 {
        match (self.layer, self.full) {
            (1, _) => 384,
            (3, false) => 576,
            _ => 1152,
        }
    }

    /// Returns whether another frame may belong to the same stream.
    fn is_like(self, other: Frame) -> bool {
        (self.layer, self.full, self.sample_rate_hz)
            == (other.layer, other.full, other.sample_rate_hz)
    }

    /// Returns the offset of a Xing header in the frame, if there is one: the end of the side
    /// information.
    fn xing_at(self) -> usize {
        HEAD_BYTES
            + match (self.full, self.channels) {
                (true, 1) | (false, 2) => 17,
                (true, _) => 32,
                (false, _) => 9,
            }
    }
}

/// Values of a Xing, Info or VBRI header in the first frame.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeaderCounts {
    frames: u64,
    bytes: Option<u64>,
    /// Number of samples that the encoder added at the start and at the end.
    added: u64,
}

/// Reads the frames that begin at or after `audio` into `media`, which holds the values of an ID3v2
/// tag, if any.
pub(crate) fn read(input: &mut Input<'_>, audio: u64, mut media: Media) -> Result<Media, Error> {
    let Some((first_at, first)) = find(input, audio, 1)? else {
        return Err(Error::malformed(
            "the file has no mpeg audio frame where the audio should begin",
        ));
    };
    media.audio.codec = [Codec::Mp1, Codec::Mp2, Codec::Mp3][usize::from(first.layer) - 1];
    media.audio.sample_rate_hz = first.sample_rate_hz;
    media.audio.channels = first.channels;
    let head = input.up_to(first_at, first.bytes.min(INFO_BYTES))?;
    let hash_head = AudioHash::of("mpeg", 0, head);
    let counted = counted(head, first);
    let end = tail(input, first_at, &mut media)?;
    media.audio_hash = AudioHash::of("mpeg", hash_head.0, &(end - first_at).to_le_bytes());
    match counted {
        Some(counted) => {
            let samples = (counted.frames * first.samples()).saturating_sub(counted.added);
            media
                .audio
                .measure(samples, counted.bytes.unwrap_or(end - first_at));
        }
        None => estimate(input, first_at..end, first, &mut media)?,
    }
    Ok(media)
}

/// Finds the first frame of a file that begins with other data, such as a recorded stream. The file
/// may be of any format, so two further frames must follow the frame; near the end of the file, one
/// suffices.
pub(crate) fn search(input: &mut Input<'_>) -> Result<Option<u64>, Error> {
    let found = find(input, 0, 2)?;
    Ok(found.map(|(at, _)| at))
}

/// Returns the first frame at or after `from` that is followed by `followers` frames. The end of
/// the file counts as the last of these followers.
fn find(input: &mut Input<'_>, from: u64, followers: usize) -> Result<Option<(u64, Frame)>, Error> {
    let end = input.len().min(from + input.limits.sync_bytes_max);
    let mut at = from;
    while at + (HEAD_BYTES as u64) < end {
        let step = input.up_to(at, STEP_BYTES + followers * FRAME_BYTES_MAX + HEAD_BYTES)?;
        let starts = step.len().saturating_sub(HEAD_BYTES).min(STEP_BYTES);
        let found = (0..=starts).find_map(|start| {
            let frame = frame_in(step, start)?;
            is_followed(step, start, frame, followers).then_some((at + start as u64, frame))
        });
        if found.is_some() {
            return Ok(found);
        }
        at += STEP_BYTES as u64;
    }
    Ok(None)
}

/// Returns whether `followers` frames of the same stream follow the frame at `start`.
fn is_followed(bytes: &[u8], start: usize, first: Frame, followers: usize) -> bool {
    let mut at = start + first.bytes;
    for found in 0..followers {
        match frame_in(bytes, at).filter(|next| first.is_like(*next)) {
            Some(next) => at += next.bytes,
            // `bytes` has room for `followers` frames of the maximum size. So if `bytes` ends at
            // `at`, the file ends there.
            None => return found + 1 == followers && bytes.len() <= at + HEAD_BYTES,
        }
    }
    true
}

fn frame_in(bytes: &[u8], at: usize) -> Option<Frame> {
    Frame::parse(*bytes.get(at..)?.first_chunk()?)
}

fn counted(head: &[u8], frame: Frame) -> Option<HeaderCounts> {
    // With a CRC, the side information begins two bytes later. Encoders disagree on whether the
    // Xing header moves with it, so both offsets are tried.
    let offsets = [frame.xing_at(), frame.xing_at() + 2];
    let mut offsets = offsets[..1 + usize::from(frame.crc)].iter();
    let xing = offsets.find_map(|&at| xing(head.get(at..)?, frame));
    xing.or_else(|| vbri(head.get(HEAD_BYTES + 32..)?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn xing(head: &[u8], frame: Frame) -> Option<HeaderCounts> {
    if !head.starts_with(b"Xing") && !head.starts_with(b"Info") {
        return None;
    }
    let flags = word(head, 4)?;
    let mut at = 8;
    let mut next = |flag: u32, bytes: usize| {
        let here = at;
        let set = flags & flag != 0;
        at += if set { bytes } else { 0 };
        set.then_some(here)
    };
    let frames = u64::from(word(head, next(1, 4)?)?);
    let bytes = next(2, 4).and_then(|at| word(head, at)).map(u64::from);
    next(4, 100);
    next(8, 4);
    let lame = head.get(at..)?;
    let is_lame = lame.starts_with(b"LAME") || lame.starts_with(b"Lav");
    let added = word(lame, 20).filter(|_| is_lame).map_or(0, |word| {
        u64::from(word >> 12 & 0xfff) + u64::from(word & 0xfff)
    });
    let all = frames * frame.samples();
    (frames != 0).then_some(HeaderCounts {
        frames,
        bytes,
        added: if added < all { added } else { 0 },
    })
}

fn vbri(head: &[u8]) -> Option<HeaderCounts> {
    if !head.starts_with(b"VBRI") {
        return None;
    }
    let (bytes, frames) = (word(head, 10)?, word(head, 14)?);
    (frames != 0).then_some(HeaderCounts {
        frames: frames.into(),
        bytes: Some(bytes.into()),
        added: 0,
    })
}

/// Reads the tags at the end of the file. Returns the end of the audio.
pub(crate) fn tail(input: &mut Input<'_>, first_at: u64, media: &mut Media) -> Result<u64, Error> {
    let mut end = input.len();
    let want = id3v1::BYTES as u64 + ape::FOOTER_BYTES;
    let start = end.saturating_sub(want).max(first_at);
    let tail = input.bytes(start, (end - start) as usize)?;
    let id3v1_at = tail.len().saturating_sub(id3v1::BYTES);
    let old = id3v1::read(&tail[id3v1_at..]);
    let footer = &tail[..if old.is_some() { id3v1_at } else { tail.len() }];
    let footer_at = footer.len().saturating_sub(ape::FOOTER_BYTES as usize);
    let has_ape = footer[footer_at..].starts_with(ape::MAGIC);
    if old.is_some() {
        end -= id3v1::BYTES as u64;
    }
    if has_ape {
        match ape::read(input, end, media) {
            Ok((begin, tags)) => {
                media.tags.fill(&tags);
                end = begin.max(first_at);
            }
            Err(err) if err.is_local() => media.issue("the ape tag is broken"),
            Err(err) => return Err(err),
        }
    }
    if let Some(old) = old {
        media.tags.fill(&old);
    }
    Ok(end)
}

/// Estimates the duration of a stream without a header that counts its frames.
fn estimate(
    input: &mut Input<'_>,
    audio: Range<u64>,
    first: Frame,
    media: &mut Media,
) -> Result<(), Error> {
    let bytes = audio.end - audio.start;
    let mut rates = vec![first.bitrate_bps];
    for spot in 1..SPOTS {
        let at = audio.start + bytes / SPOTS * spot;
        let step = input.up_to(at, 3 * FRAME_BYTES_MAX)?;
        let found = (0..step.len().min(FRAME_BYTES_MAX)).find_map(|start| {
            let frame = frame_in(step, start).filter(|frame| frame.is_like(first))?;
            let next = frame_in(step, start + frame.bytes)?;
            next.is_like(first).then_some([frame, next])
        });
        // Two frames per offset are sampled. A search from an arbitrary offset usually starts
        // inside a long frame, and finds the frame that follows it. Where long and short frames
        // alternate, that would be a short frame too often.
        rates.extend(found.into_iter().flatten().map(|frame| frame.bitrate_bps));
        // At least seven frames have been sampled, and all have the same bit rate, so no more
        // frames are read.
        if 7 <= rates.len() && rates.iter().all(|&rate| rate == first.bitrate_bps) {
            break;
        }
    }
    let constant = rates.iter().all(|&rate| rate == first.bitrate_bps);
    // All frames have the same duration, whatever their bit rate, so the mean over frames is the
    // mean over time.
    let mean = rates.iter().map(|&rate| u64::from(rate)).sum::<u64>() / rates.len() as u64;
    let samples =
        u128::from(bytes) * 8 * u128::from(first.sample_rate_hz) / u128::from(mean.max(1));
    media
        .audio
        .measure(u64::try_from(samples).unwrap_or(u64::MAX), bytes);
    media.audio.exact = constant;
    Ok(())
}
