//! FLAC: the head of each block, the comments, and where pictures lie.
//!
//! ```text
//! "fLaC" · blocks: last bit and type u8 · length u24 · … · frames
//! STREAMINFO: 0 block sizes · 4 frame sizes · 10 rate 20 bits, channels − 1 3 bits, bits − 1 5 bits, samples 36 bits
//!             18 MD5 of the samples
//! ```
//! Source: RFC 9639 §8.

use crate::comments::{self, Block};
use crate::input::Input;
use crate::media::{Codec, Container, Essence, Picture, PictureKind, Stored};
use crate::{Error, Media};
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 4] = b"fLaC";

const STREAMINFO: u8 = 0;
const VORBIS_COMMENT: u8 = 4;
const PICTURE: u8 = 6;

/// Bytes of a picture block that hold what stands before the picture, unless a description is a long one.
const PICTURE_HEAD_BYTES: usize = 512;

/// Reads from `start`, where the magic stands.
pub(crate) fn read(input: &mut Input<'_>, start: u64) -> Result<Media, Error> {
    let mut media = Media::new(Container::Flac, Codec::Flac);
    let mut at = start + 4;
    let mut samples = None;
    let mut commented = false;
    loop {
        input.part()?;
        let [kind, b2, b1, b0] = input.array(at)?;
        let bytes = u64::from(u32::from_be_bytes([0, b2, b1, b0]));
        let block = at + 4..at + 4 + bytes;
        if input.len() < block.end {
            return Err(Error::truncated("flac metadata is cut off"));
        }
        match kind & 0x7f {
            STREAMINFO => samples = Some(stream_info(input, &block, &mut media)?),
            VORBIS_COMMENT if !commented => {
                comment_block(input, block.clone(), &mut media)?;
                commented = true;
            }
            PICTURE => picture(input, &block, &mut media)?,
            127 => return Err(Error::malformed("flac with the one invalid block type")),
            _ => {}
        }
        at = block.end;
        let is_last = kind & 0x80 != 0;
        let mut pictures = media.pictures.iter();
        let has_front = pictures.any(|picture| picture.kind == PictureKind::FRONT);
        if is_last || commented && has_front {
            break;
        }
    }
    let samples = samples.ok_or(Error::malformed("flac without stream information"))?;
    // Behind the front cover may stand more blocks that nobody walked; they count as audio in the bit rate.
    media.audio.measure(samples, input.len() - at);
    media.audio.exact = samples != 0;
    Ok(media)
}

fn stream_info(input: &mut Input<'_>, block: &Range<u64>, media: &mut Media) -> Result<u64, Error> {
    let info: [u8; 34] = input.field(block, 0)?;
    let word = u64::from_be_bytes(*info[10..].first_chunk().expect("34 bytes are more than 18"));
    media.audio.sample_rate_hz = (word >> 44) as u32;
    media.audio.channels = (word >> 41 & 7) as u16 + 1;
    media.audio.bits = (word >> 36 & 31) as u8 + 1;
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed("flac without a sample rate"));
    }
    media.essence = Essence::of("flac", 0, &info);
    Ok(word & 0xf_ffff_ffff)
}

/// A broken comment block costs its comments only.
fn comment_block(input: &mut Input<'_>, block: Range<u64>, media: &mut Media) -> Result<(), Error> {
    let limits = input.limits;
    let ahead = (block.end - block.start).min(limits.value_bytes_max as u64);
    input.bytes(block.start, ahead as usize)?;
    let mut flow = Block {
        input,
        range: block,
    };
    match comments::read(&mut flow, limits, Stored::Base64, media) {
        Err(err) if err.is_local() => {
            media.issue("the comment block is broken");
            Ok(())
        }
        other => other,
    }
}

fn picture(input: &mut Input<'_>, block: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    if input.limits.pictures_max <= media.pictures.len() {
        media.issue("more pictures than the limit allows");
        return Ok(());
    }
    let bytes = block.end - block.start;
    let head = input.bytes(block.start, bytes.min(PICTURE_HEAD_BYTES as u64) as usize)?;
    match comments::picture_head(head) {
        Some((kind, mime, skip)) if u64::from(skip) <= bytes => media.pictures.push(Picture {
            kind,
            mime,
            stored: Stored::Plain,
            offset: block.start + u64::from(skip),
            bytes: bytes - u64::from(skip),
            skip: 0,
        }),
        _ => media.issue("a picture block is broken"),
    }
    Ok(())
}
