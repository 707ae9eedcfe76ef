//! FLAC: block headers, comments, and the locations of pictures. In the table, `@` precedes the
//! offset of a field in bytes.
//!
//! ```text
//! "fLaC" · blocks: last bit and type u8 · length u24 · … · frames
//! STREAMINFO: @0 block sizes · @4 frame sizes · @10 sample rate in 20 bits
//!             channels − 1 in 3 bits · bits per sample − 1 in 5 bits · total samples in 36 bits
//!             @18 MD5 of the samples
//! ```
//! Source: RFC 9639 §8.

use crate::comments::{self, Block};
use crate::input::Input;
use crate::media::{AudioHash, Codec, Container, Picture, PictureKind, Stored};
use crate::{Error, Media};
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 4] = b"fLaC";

const STREAMINFO: u8 = 0;
const VORBIS_COMMENT: u8 = 4;
const PICTURE: u8 = 6;

/// Maximum bytes before the end of the file that are searched for the last frame.
const TAIL_BYTES_MAX: u64 = 1 << 20;
/// Bytes read per step of the search for the last frame.
const STEP_BYTES: u64 = 64 << 10;
/// Length of the longest frame header.
const FRAME_HEAD_BYTES_MAX: usize = 16;

/// Bytes read from the start of a picture block. They contain the fields before the picture, unless
/// its description is long.
const PICTURE_HEAD_BYTES: usize = 512;

/// Reads a file whose magic number is at `start`.
pub(crate) fn read(input: &mut Input<'_>, start: u64) -> Result<Media, Error> {
    let mut media = Media::new(Container::Flac, Codec::Flac);
    let mut at = start + 4;
    let mut info = None;
    let mut commented = false;
    loop {
        input.part()?;
        let [kind, b2, b1, b0] = input.array(at)?;
        let bytes = u64::from(u32::from_be_bytes([0, b2, b1, b0]));
        let block = at + 4..at + 4 + bytes;
        if input.len() < block.end {
            return Err(Error::truncated("the FLAC metadata is truncated"));
        }
        match kind & 0x7f {
            STREAMINFO => info = Some(stream_info(input, &block, &mut media)?),
            VORBIS_COMMENT if !commented => {
                comment_block(input, block.clone(), &mut media)?;
                commented = true;
            }
            PICTURE => picture(input, &block, &mut media)?,
            127 => {
                return Err(Error::malformed(
                    "a FLAC metadata block has the invalid type 127",
                ));
            }
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
    let mut info = info.ok_or(Error::malformed("the FLAC file has no STREAMINFO block"))?;
    if info.samples == 0 {
        info.samples = last_sample(input, at, &info)?.unwrap_or(0);
    }
    // The blocks are read only up to the front cover, so any further blocks count as audio in the
    // bit rate.
    media.audio.measure(info.samples, input.len() - at);
    media.audio.exact = info.samples != 0;
    Ok(media)
}

/// Values of the STREAMINFO block, against which frame headers are checked.
struct StreamInfo {
    /// Samples per frame, if all frames but the last have the same number.
    frame: u16,
    channels: u16,
    bits: u8,
    /// Total samples; 0 if the writer did not know the number.
    samples: u64,
}

fn stream_info(
    input: &mut Input<'_>,
    block: &Range<u64>,
    media: &mut Media,
) -> Result<StreamInfo, Error> {
    let info: [u8; 34] = input.field(block, 0)?;
    let word = u64::from_be_bytes(*info[10..].first_chunk().expect("the block has 34 bytes"));
    media.audio.sample_rate_hz = (word >> 44) as u32;
    media.audio.channels = (word >> 41 & 7) as u16 + 1;
    media.audio.bits = (word >> 36 & 31) as u8 + 1;
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed("the FLAC file has no sample rate"));
    }
    media.audio_hash = AudioHash::of("flac", 0, &info);
    Ok(StreamInfo {
        frame: u16::from_be_bytes([info[2], info[3]]),
        channels: media.audio.channels,
        bits: media.audio.bits,
        samples: word & 0xf_ffff_ffff,
    })
}

/// Finds the header of the last frame, and returns the total number of samples up to the end of
/// that frame. If an encoder wrote the stream to a pipe, no header field states this total.
fn last_sample(input: &mut Input<'_>, audio: u64, info: &StreamInfo) -> Result<Option<u64>, Error> {
    let mut end = input.len();
    let first = end.saturating_sub(TAIL_BYTES_MAX).max(audio);
    while first < end {
        let at = end.saturating_sub(STEP_BYTES).max(first);
        // Reads beyond `end`, so that every header that begins before `end` is complete.
        let bytes = input.up_to(at, (end - at) as usize + FRAME_HEAD_BYTES_MAX)?;
        let starts = (0..(end - at) as usize).rev();
        let found = starts
            .map(|start| &bytes[start..])
            .find_map(|head| info.frame_end(head));
        if found.is_some() {
            return Ok(found);
        }
        end = at;
    }
    Ok(None)
}

impl StreamInfo {
    /// Returns the number of samples from the start of the stream to the end of the frame with this
    /// header (RFC 9639 §9.1). In the table, `@` precedes the offset of a field in bytes:
    ///
    /// ```text
    /// @0 sync in 15 bits, 1 if frame sizes vary · @2 sample code in 4 bits, rate code in 4 bits
    /// @3 channels in 4 bits, bits per sample in 3 bits, zero bit · @4 number, coded like UTF-8
    /// samples u8 or u16, for some sample codes · rate u8 or u16, for some rate codes · CRC-8
    /// ```
    fn frame_end(&self, head: &[u8]) -> Option<u64> {
        let &[0xff, sync @ (0xf8 | 0xf9), sizes, kind, ..] = head else {
            return None;
        };
        let channels = match kind >> 4 {
            count @ 0..8 => u16::from(count) + 1,
            8..=10 => 2,
            _ => return None,
        };
        let bits = *[0, 8, 12, u8::MAX, 16, 20, 24, 32].get(usize::from(kind >> 1 & 7))?;
        if channels != self.channels || kind & 1 != 0 || bits != 0 && bits != self.bits {
            return None;
        }
        let (number, number_bytes) = coded_number(head.get(4..)?)?;
        let at = 4 + number_bytes;
        let (samples, samples_bytes) = match sizes >> 4 {
            1 => (192, 0),
            code @ 2..=5 => (576 << (code - 2), 0),
            6 => (u64::from(*head.get(at)?) + 1, 1),
            7 => {
                let two = head.get(at..)?.first_chunk()?;
                (u64::from(u16::from_be_bytes(*two)) + 1, 2)
            }
            code @ 8..=15 => (256 << (code - 8), 0),
            _ => return None,
        };
        let rate_bytes = match sizes & 15 {
            12 => 1,
            13 | 14 => 2,
            15 => return None,
            _ => 0,
        };
        let crc_at = at + samples_bytes + rate_bytes;
        let is_whole = *head.get(crc_at)? == crc8(&head[..crc_at]);
        let begin = match sync {
            0xf9 => number,
            _ => number * u64::from(self.frame),
        };
        is_whole.then_some(begin + samples)
    }
}

/// Decodes a number of up to 36 bits that is coded like UTF-8. Returns the number and its length in
/// bytes.
fn coded_number(bytes: &[u8]) -> Option<(u64, usize)> {
    let &first = bytes.first()?;
    let count = match first.leading_ones() {
        0 => return Some((first.into(), 1)),
        count @ 2..=7 => count as usize,
        _ => return None,
    };
    let rest = bytes.get(1..count)?;
    let lead = u64::from(first) & (0x7f >> count);
    let number = rest.iter().try_fold(lead, |number, &byte| {
        (byte & 0xc0 == 0x80).then_some(number << 6 | u64::from(byte & 0x3f))
    });
    Some((number?, count))
}

/// Returns the checksum of a frame header, with the polynomial x⁸ + x² + x + 1.
fn crc8(bytes: &[u8]) -> u8 {
    let bytes = bytes.iter();
    bytes.fold(0, |crc, &byte| {
        (0..8).fold(crc ^ byte, |crc, _| (crc << 1) ^ ((crc >> 7) * 7))
    })
}

/// Reads a comment block. If the block is broken, only its comments are lost.
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
            media.issue("the comment block of the FLAC file is malformed");
            Ok(())
        }
        other => other,
    }
}

fn picture(input: &mut Input<'_>, block: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    if input.limits.pictures_max <= media.pictures.len() {
        media.issue("the file has more pictures than the limit allows");
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
        _ => media.issue("a picture block of the FLAC file is malformed"),
    }
    Ok(())
}
