//! WavPack: the headers of the first blocks, and the tags at the end. In the table, `@` precedes
//! the offset of a field in bytes.
//!
//! ```text
//! block: @0 "wvpk" · @4 number of bytes after this field u32 · @8 version u16
//!        @10 upper 8 bits of the index · @11 upper 8 bits of the total samples
//!        @12 total samples u32 · @16 index u32 · @20 samples of the block u32 · @24 flags u32
//!        @28 CRC · metadata: id u8 · length in 16-bit words, u8 or u24 · content
//! flags: bits 0 and 1 bytes per sample − 1 · bit 2 mono · … · bit 12 last block of a frame
//!        bits 13 to 17 shift · bits 23 to 26 sample rate · bit 31 DSD
//! ```
//! Little-endian. A frame of more than two channels consists of several blocks. Source: WavPack 4 &
//! 5 Binary File / Block Format.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container};
use crate::{Error, Media, mpeg};
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 4] = b"wvpk";

const HEAD_BYTES: u64 = 32;
/// Maximum number of blocks per frame; each holds one or two channels.
const BLOCKS_MAX: u32 = 16;
/// Maximum bytes before the end of the audio that are searched for the last block.
const TAIL_BYTES_MAX: u64 = 1 << 20;
/// Bytes read per step of the search for the last block.
const STEP_BYTES: u64 = 64 << 10;
/// Maximum number of metadata items of the first block that are searched for its sample rate.
const ITEMS_MAX: u32 = 64;

const MONO: u32 = 1 << 2;
const LAST_BLOCK: u32 = 1 << 12;
const DSD: u32 = 1 << 31;
/// Sample rates. The flags of a block contain the index of its rate; index 15 means that the rate
/// is in the metadata.
const RATES_HZ: [u32; 15] = [
    6_000, 8_000, 9_600, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000,
    88_200, 96_000, 192_000,
];
const ITEM_SAMPLE_RATE: u8 = 0x27;
/// Metadata id of DSD audio, whose first byte states how often the sample rate must be doubled.
const ITEM_DSD: u8 = 0x0e;
const DOUBLINGS_MAX: u8 = 30;
const ITEM_ODD: u8 = 0x40;
const ITEM_LARGE: u8 = 0x80;

/// Reads a file whose first block is at `start`. If the file has a tag before this block, `media`
/// contains the tag's values.
pub(crate) fn read(input: &mut Input<'_>, start: u64, mut media: Media) -> Result<Media, Error> {
    media.container = Container::WavPack;
    media.audio.codec = Codec::WavPack;
    let head: [u8; HEAD_BYTES as usize] = input.array(start)?;
    let first = word(&head, 24);
    let is_dsd = first & DSD != 0;
    let stated = u64::from(head[11]) << 32 | u64::from(word(&head, 12));
    // A writer that cannot seek back to the header writes no number of samples. The field is then
    // all ones or, from ffmpeg, zero.
    let is_open = word(&head, 12) == u32::MAX || stated == 0;
    let mut rate = Rate {
        hz: RATES_HZ.get((first >> 23 & 15) as usize).copied(),
        doublings: 0,
    };
    if rate.hz.is_none() || is_dsd {
        rate.read(input, start, word(&head, 4))?;
    }
    let short = Error::malformed("the sample rate of the WavPack file is missing");
    let rate_hz = rate.hz.ok_or(short)?;
    media.audio.bits = match is_dsd {
        false => (((first & 3) + 1) * 8).saturating_sub(first >> 13 & 31) as u8,
        true => 1,
    };
    let mut at = start;
    for _ in 0..BLOCKS_MAX {
        input.part()?;
        let head: [u8; HEAD_BYTES as usize] = input.array(at)?;
        if !head.starts_with(MAGIC) {
            return Err(Error::malformed(
                "the audio does not begin with a WavPack block",
            ));
        }
        let flags = word(&head, 24);
        media.audio.channels += if flags & MONO == 0 { 2 } else { 1 };
        if flags & LAST_BLOCK != 0 {
            break;
        }
        at += 8 + u64::from(word(&head, 4));
    }
    let end = mpeg::tail(input, start, &mut media)?;
    let counted = match is_open {
        true => last_sample(input, start..end)?,
        false => Some(stated),
    };
    media.audio.exact = counted.is_some();
    // In DSD files, the header counts bytes instead of samples, and the rate is in bytes per
    // second. A byte consists of eight one-bit samples, so both values are multiplied by 8.
    let bits = if is_dsd { 8 } else { 1 };
    let rate_hz = (u64::from(rate_hz) * bits) << rate.doublings;
    media.audio.sample_rate_hz = u32::try_from(rate_hz).unwrap_or(u32::MAX);
    media
        .audio
        .measure(counted.unwrap_or(0).saturating_mul(bits), end - start);
    let behind = start + HEAD_BYTES;
    let sound = input.up_to(behind, 256)?;
    let number = if word(&head, 12) == u32::MAX {
        0
    } else {
        stated * bits
    };
    media.audio_hash = AudioHash::of("wavpack", number, &[&head, sound].concat());
    Ok(media)
}

/// Finds the last audio block, and returns the number of samples up to the end of this block.
fn last_sample(input: &mut Input<'_>, blocks: Range<u64>) -> Result<Option<u64>, Error> {
    let mut end = blocks.end;
    let first = blocks.end.saturating_sub(TAIL_BYTES_MAX).max(blocks.start);
    while first < end {
        let at = end.saturating_sub(STEP_BYTES).max(first);
        // Reads beyond `end`, so that every header that begins before `end` is complete.
        let bytes = input.up_to(at, (end - at + HEAD_BYTES - 1) as usize)?;
        let mut heads = bytes.windows(HEAD_BYTES as usize).enumerate().rev();
        let found = heads.find_map(|(skip, head)| {
            let block_end = at + skip as u64 + 8 + u64::from(word(head, 4));
            let is_block = head.starts_with(MAGIC) && head[9] == 4 && block_end <= blocks.end;
            let samples = Some(word(head, 20)).filter(|samples| is_block && *samples != 0)?;
            let index = u64::from(head[10]) << 32 | u64::from(word(head, 16));
            Some(index + u64::from(samples))
        });
        if found.is_some() {
            return Ok(found);
        }
        end = at;
    }
    Ok(None)
}

/// Sample rate that the file states. For DSD, the actual rate is `hz` bytes per second, doubled
/// `doublings` times.
struct Rate {
    hz: Option<u32>,
    doublings: u8,
}

impl Rate {
    /// Reads the sample rate from the metadata of the first block, and the number of doublings for
    /// DSD.
    fn read(&mut self, input: &mut Input<'_>, start: u64, bytes: u32) -> Result<(), Error> {
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
            match id & !(ITEM_LARGE | ITEM_ODD) {
                ITEM_SAMPLE_RATE if 2 <= words => {
                    let [r0, r1, r2] = input.array(at + skip)?;
                    let hz = u32::from_le_bytes([r0, r1, r2, 0]);
                    self.hz = Some(hz).filter(|hz| *hz != 0);
                }
                ITEM_DSD if words != 0 => {
                    let [doublings] = input.array(at + skip)?;
                    self.doublings = doublings.min(DOUBLINGS_MAX);
                }
                _ => {}
            }
            at += skip + 2 * u64::from(words);
        }
        Ok(())
    }
}

fn word(head: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*head[at..].first_chunk().expect("a head has 32 bytes"))
}
