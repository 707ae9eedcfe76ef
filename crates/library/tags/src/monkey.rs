//! Monkey's Audio: the header, and the tags at the end. In the table, `@` precedes the offset of a
//! field in bytes; a block is one sample of each channel.
//!
//! ```text
//! from version 3.98 on, a descriptor and a header:
//!   descriptor: @0 "MAC " · @4 version × 1000 u16 · @8 length of the descriptor u32 · … · @36 MD5
//!   header: @0 level u16 · @2 flags u16 · @4 blocks per frame u32 · @8 blocks of last frame u32
//!           @12 frames u32 · @16 bits per sample u16 · @18 channels u16 · @20 sample rate u32
//! before version 3.98:
//!   @0 "MAC " · @4 version × 1000 u16 · @6 level u16 · @8 flags u16 · @10 channels u16
//!   @12 sample rate u32 · @16 and @20 lengths of the WAV header and trailer, u32
//!   @24 frames u32 · @28 blocks of the last frame u32
//! ```
//! Little-endian. Source: the header file MACLib.h of Monkey's Audio, as its documentation
//! describes it.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container};
use crate::{Error, Media, mpeg};

pub(crate) const MAGIC: &[u8; 4] = b"MAC ";

/// First version whose files begin with a descriptor.
const WITH_DESCRIPTOR: u16 = 3980;
const DESCRIPTOR_BYTES_MIN: u32 = 52;
const EIGHT_BITS: u16 = 1;
const TWENTY_FOUR_BITS: u16 = 8;
/// Compression level "extra high". In early versions, its frames were longer than those of other
/// levels.
const EXTRA_HIGH: u16 = 4000;

/// Reads a file whose magic number is at `start`; `media` holds the values of a tag before the
/// magic number, if any.
pub(crate) fn read(input: &mut Input<'_>, start: u64, mut media: Media) -> Result<Media, Error> {
    media.container = Container::Monkey;
    media.audio.codec = Codec::Monkey;
    let head: [u8; 32] = input.array(start)?;
    let version = half(&head, 4);
    let (count, identity) = if WITH_DESCRIPTOR <= version {
        let descriptor: [u8; DESCRIPTOR_BYTES_MIN as usize] = input.array(start)?;
        let skip = word(&head, 8).max(DESCRIPTOR_BYTES_MIN);
        let facts: [u8; 24] = input.array(start + u64::from(skip))?;
        media.audio.bits = half(&facts, 16) as u8;
        media.audio.channels = half(&facts, 18);
        media.audio.sample_rate_hz = word(&facts, 20);
        let count = Count {
            frames: word(&facts, 12),
            frame: word(&facts, 4),
            last: word(&facts, 8),
        };
        (count, descriptor[36..].to_vec())
    } else {
        let (level, flags) = (half(&head, 6), half(&head, 8));
        media.audio.bits = if flags & EIGHT_BITS != 0 {
            8
        } else if flags & TWENTY_FOUR_BITS != 0 {
            24
        } else {
            16
        };
        media.audio.channels = half(&head, 10);
        media.audio.sample_rate_hz = word(&head, 12);
        let frame = match version {
            3950.. => 73_728 * 4,
            3900.. => 73_728,
            3800.. if level == EXTRA_HIGH => 73_728,
            _ => 9_216,
        };
        let count = Count {
            frames: word(&head, 24),
            frame,
            last: word(&head, 28),
        };
        (count, head.to_vec())
    };
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed(
            "the Monkey's Audio file has no sample rate",
        ));
    }
    let end = mpeg::tail(input, start, &mut media)?;
    media.audio_hash = AudioHash::of("monkey", count.samples(), &identity);
    // The seek table has four bytes per frame, which bounds the number of frames.
    let is_sound = count.last <= count.frame && u64::from(count.frames) <= (end - start) / 4;
    if is_sound {
        media.audio.measure(count.samples(), end - start);
    } else {
        media.audio.exact = false;
        media.issue("the number of frames in the header is too large for the length of the file");
    }
    Ok(media)
}

/// Number of frames, samples per frame, and samples of the last frame.
struct Count {
    frames: u32,
    frame: u32,
    last: u32,
}

impl Count {
    fn samples(&self) -> u64 {
        match self.frames.checked_sub(1) {
            Some(whole) => u64::from(whole) * u64::from(self.frame) + u64::from(self.last),
            None => 0,
        }
    }
}

fn word(head: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(
        *head[at..]
            .first_chunk()
            .expect("the field lies within the head"),
    )
}

fn half(head: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(
        *head[at..]
            .first_chunk()
            .expect("the field lies within the head"),
    )
}
