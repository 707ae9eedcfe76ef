//! Musepack, stream versions 7 and 8: the header, and the tags at the end. In the table, `@`
//! precedes the offset of a field in bytes, and "7-bit" means a number with 7 bits per byte, the
//! highest first.
//!
//! ```text
//! SV8: "MPCK" · packets: key 2 bytes · packet length, 7-bit · content
//!      "SH": CRC u32 · version u8 · samples, 7-bit · samples of silence, 7-bit
//!            rate in 3 bits · bands in 5 bits · channels − 1 in 4 bits · …
//! SV7: @0 "MP+" · @3 version in the lower 4 bits · @4 frames u32 · @8 flags u32, rate in 2 bits at
//!      bit 16 · … · @20 u32, gapless at bit 31, samples of the last frame in 11 bits at bit 20
//!      28 bytes in total, little-endian
//! ```
//! Source: the stream specifications of Musepack's authors, SV7 and SV8.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container};
use crate::{Error, Media, mpeg};

pub(crate) const MAGIC_7: &[u8; 3] = b"MP+";
pub(crate) const MAGIC_8: &[u8; 4] = b"MPCK";

const RATES_HZ: [u32; 4] = [44_100, 48_000, 37_800, 32_000];
/// Number of samples per frame of SV7.
const FRAME: u64 = 1152;
/// Delay of SV7's decoder in samples.
const DELAY: u64 = 481;
/// Maximum number of packets before the stream header, which usually comes first but need not.
const PACKETS_MAX: u32 = 16;
/// Maximum bytes of a stream header.
const STREAM_HEAD_BYTES: usize = 32;

/// Reads a file whose magic number is at `start`; `media` holds the values of a tag before the
/// magic number, if any.
pub(crate) fn read(input: &mut Input<'_>, start: u64, mut media: Media) -> Result<Media, Error> {
    media.container = Container::Musepack;
    media.audio.codec = Codec::Musepack;
    let head = input.up_to(start, STREAM_HEAD_BYTES)?.to_vec();
    let samples = if head.starts_with(MAGIC_8) {
        version_8(input, start + MAGIC_8.len() as u64, &mut media)?
    } else {
        version_7(&head, &mut media)?
    };
    let end = mpeg::tail(input, start, &mut media)?;
    media.audio.measure(samples, end - start);
    let middle = start + (end - start) / 2;
    let sound = input.up_to(middle, 256)?;
    media.audio_hash = AudioHash::of("musepack", samples, &[&head, sound].concat());
    Ok(media)
}

fn version_7(head: &[u8], media: &mut Media) -> Result<u64, Error> {
    let word = |at: usize| {
        let bytes = head.get(at..).and_then(<[u8]>::first_chunk);
        let bytes = bytes.ok_or(Error::truncated("musepack head is cut off"))?;
        Ok::<u32, Error>(u32::from_le_bytes(*bytes))
    };
    if head.get(3).is_none_or(|version| version & 15 != 7) {
        return Err(Error::malformed("unsupported musepack version"));
    }
    let (frames, flags, last) = (u64::from(word(4)?), word(8)?, word(20)?);
    media.audio.sample_rate_hz = RATES_HZ[(flags >> 16 & 3) as usize];
    media.audio.channels = 2;
    let last = match last >> 31 {
        1 => u64::from(last >> 20 & 0x7ff),
        _ => FRAME - DELAY,
    };
    Ok(match frames.checked_sub(1) {
        Some(whole) => whole * FRAME + last.min(FRAME),
        None => 0,
    })
}

fn version_8(input: &mut Input<'_>, mut at: u64, media: &mut Media) -> Result<u64, Error> {
    for _ in 0..PACKETS_MAX {
        input.part()?;
        let packet = input.up_to(at, STREAM_HEAD_BYTES)?;
        let (key, mut rest) = packet
            .split_at_checked(2)
            .ok_or(Error::truncated("musepack without a stream head"))?;
        let bytes = number(&mut rest)?;
        if key != b"SH" {
            at = at.saturating_add(bytes.max(3));
            continue;
        }
        let short = Error::truncated("musepack stream head is cut off");
        let Some((&[_, _, _, _, _version], mut rest)) = rest.split_first_chunk() else {
            return Err(short);
        };
        let (samples, silence) = (number(&mut rest)?, number(&mut rest)?);
        let &[rate, channels, ..] = rest else {
            return Err(short);
        };
        let rate = RATES_HZ.get(usize::from(rate >> 5)).copied();
        media.audio.sample_rate_hz =
            rate.ok_or(Error::malformed("unsupported musepack sample rate"))?;
        media.audio.channels = u16::from(channels >> 4) + 1;
        return Ok(samples.saturating_sub(silence));
    }
    Err(Error::malformed("musepack without a stream head"))
}

/// Decodes a number of 7 bits per byte, highest bits first.
fn number(bytes: &mut &[u8]) -> Result<u64, Error> {
    let mut number = 0_u64;
    for _ in 0..9 {
        let Some((&byte, rest)) = bytes.split_first() else {
            break;
        };
        *bytes = rest;
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Error::malformed(
        "a number in a musepack header is too long",
    ))
}
