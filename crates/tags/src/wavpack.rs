//! WavPack: the heads of the first blocks, and the tags at the end.
//!
//! ```text
//! block: 0 "wvpk" · 4 bytes behind these 8 u32 · 8 version u16 · 10 index u8 · 11 samples, upper 8 bits · 12 samples u32
//!        16 index u32 · 20 samples of the block u32 · 24 flags u32 · 28 CRC · metadata: id u8 · words u8 or u24 · content
//! flags: 2 bits bytes a sample − 1 · 1 mono · … · bit 12 last block of a frame · 5 bits at 13 shift · 4 bits at 23 rate · 31 DSD
//! ```
//! Little-endian. A frame of more than two channels is several blocks. Source: WavPack 4 & 5 Binary File / Block Format.

use crate::input::Input;
use crate::media::{Codec, Container, Essence};
use crate::{Error, Media, mpeg};

pub(crate) const MAGIC: &[u8; 4] = b"wvpk";

const HEAD_BYTES: u64 = 32;
/// Blocks of one frame; each holds one or two channels.
const BLOCKS_MAX: u32 = 16;
/// Metadata items of the first block that are looked at for its sample rate.
const ITEMS_MAX: u32 = 64;

const MONO: u32 = 1 << 2;
const LAST_BLOCK: u32 = 1 << 12;
const DSD: u32 = 1 << 31;
/// A rate of the table below, or one that stands in the metadata.
const RATES_HZ: [u32; 15] = [
    6_000, 8_000, 9_600, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000,
    88_200, 96_000, 192_000,
];
const ITEM_SAMPLE_RATE: u8 = 0x27;
const ITEM_ODD: u8 = 0x40;
const ITEM_LARGE: u8 = 0x80;

/// Reads from `start`, where the first block stands; `media` holds what a tag before it said.
pub(crate) fn read(input: &mut Input<'_>, start: u64, mut media: Media) -> Result<Media, Error> {
    media.container = Container::WavPack;
    media.audio.codec = Codec::WavPack;
    let head: [u8; HEAD_BYTES as usize] = input.array(start)?;
    let first = word(&head, 24);
    let samples = match word(&head, 12) {
        u32::MAX => None,
        low => Some(u64::from(head[11]) << 32 | u64::from(low)),
    };
    let mut rate_hz = RATES_HZ.get((first >> 23 & 15) as usize).copied();
    if rate_hz.is_none() {
        rate_hz = sample_rate(input, start, word(&head, 4))?;
    }
    media.audio.sample_rate_hz =
        rate_hz.ok_or(Error::malformed("wavpack without a sample rate"))?;
    media.audio.bits = match first & DSD {
        0 => (((first & 3) + 1) * 8).saturating_sub(first >> 13 & 31) as u8,
        _ => 1,
    };
    let mut at = start;
    for _ in 0..BLOCKS_MAX {
        input.part()?;
        let head: [u8; HEAD_BYTES as usize] = input.array(at)?;
        if !head.starts_with(MAGIC) {
            return Err(Error::malformed("wavpack block where there is none"));
        }
        let flags = word(&head, 24);
        media.audio.channels += if flags & MONO == 0 { 2 } else { 1 };
        if flags & LAST_BLOCK != 0 {
            break;
        }
        at += 8 + u64::from(word(&head, 4));
    }
    let end = mpeg::tail(input, start, &mut media)?;
    // A block of DSD counts bytes of eight samples.
    let samples = samples.map(|samples| {
        if first & DSD == 0 {
            samples
        } else {
            samples * 8
        }
    });
    media.audio.exact = samples.is_some();
    media.audio.measure(samples.unwrap_or(0), end - start);
    let behind = start + HEAD_BYTES;
    let sound = input.up_to(behind, 256)?;
    media.essence = Essence::of("wavpack", samples.unwrap_or(0), &[&head, sound].concat());
    Ok(media)
}

/// A rate that is not in the table stands in the first block's metadata.
fn sample_rate(input: &mut Input<'_>, start: u64, bytes: u32) -> Result<Option<u32>, Error> {
    let end = start + 8 + u64::from(bytes);
    let mut at = start + HEAD_BYTES;
    for _ in 0..ITEMS_MAX {
        input.part()?;
        if end < at + 4 {
            break;
        }
        let [id, w0, w1, w2] = input.array(at)?;
        let (skip, words) = match id & ITEM_LARGE {
            0 => (2, u32::from(w0)),
            _ => (4, u32::from_le_bytes([w0, w1, w2, 0])),
        };
        if id & !(ITEM_LARGE | ITEM_ODD) == ITEM_SAMPLE_RATE && 2 <= words {
            let [r0, r1, r2] = input.array(at + skip)?;
            return Ok(Some(u32::from_le_bytes([r0, r1, r2, 0])).filter(|rate| *rate != 0));
        }
        at += skip + 2 * u64::from(words);
    }
    Ok(None)
}

fn word(head: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*head[at..].first_chunk().expect("a head has 32 bytes"))
}
