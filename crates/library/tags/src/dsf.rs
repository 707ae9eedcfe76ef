//! DSF (Sony's file format for DSD) and True Audio: headers with all properties, and an ID3v2 tag.
//! In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! DSF: @0 "DSD " · @4 number 28, u64 · @12 file size u64 · @20 offset of the tag u64
//!      @28 "fmt " · @32 number 52, u64 · @40 version u32 · @44 id u32 · @48 channel type u32
//!      @52 channels u32 · @56 rate u32 · @60 bits u32 · @64 samples per channel u64
//! TTA: @0 "TTA1" · @4 format u16 · @6 channels u16 · @8 bits u16 · @10 rate u32 · @14 samples u32
//!      @18 CRC u32
//! ```
//! Little-endian. Sources: Sony's DSF File Format Specification 1.01; True Audio's format
//! description.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container};
use crate::{Error, Media, id3v2, mpeg};

pub(crate) const DSF_MAGIC: &[u8; 4] = b"DSD ";
pub(crate) const TTA_MAGIC: &[u8; 4] = b"TTA1";

pub(crate) fn read_dsf(input: &mut Input<'_>) -> Result<Media, Error> {
    let head: [u8; 80] = input.array(0)?;
    if &head[28..32] != b"fmt " {
        return Err(Error::malformed("the DSF file has no format chunk"));
    }
    let mut media = Media::new(Container::Dsf, Codec::Dsd);
    media.audio.channels = word(&head, 52) as u16;
    media.audio.sample_rate_hz = word(&head, 56);
    media.audio.bits = 1;
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed("the DSF file has no sample rate"));
    }
    let long = |at: usize| u64::from(word(&head, at)) | u64::from(word(&head, at + 4)) << 32;
    let (tag, samples) = (long(20), long(64));
    let mut end = input.len();
    if 80 <= tag && tag < end {
        end = tag;
        match id3v2::read(input, tag, &mut media) {
            Ok(tags) => media.tags = tags,
            Err(err) if err.is_local() => media.issue("the ID3 tag of the DSF file is malformed"),
            Err(err) => return Err(err),
        }
    }
    media.audio.measure(samples, end - 80);
    // The bit rate is computed from the sample rate, with one bit per sample and channel. A bit
    // rate computed from the length of the audio would include the padding of the last block.
    let bitrate_bps = media
        .audio
        .sample_rate_hz
        .saturating_mul(media.audio.channels.into());
    media.audio.bitrate_bps = bitrate_bps;
    let sound = input.up_to(80 + (end - 80) / 2, 256)?;
    media.audio_hash = AudioHash::of("dsf", samples, sound);
    Ok(media)
}

/// Reads a file whose magic number is at `start`; `media` holds the values of a tag before the
/// magic number, if any.
pub(crate) fn read_tta(
    input: &mut Input<'_>,
    start: u64,
    mut media: Media,
) -> Result<Media, Error> {
    let head: [u8; 22] = input.array(start)?;
    media.container = Container::TrueAudio;
    media.audio.codec = Codec::TrueAudio;
    let half = |at: usize| u16::from_le_bytes(*head[at..].first_chunk().expect("22 bytes"));
    media.audio.channels = half(6);
    media.audio.bits = half(8) as u8;
    media.audio.sample_rate_hz = word(&head, 10);
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed(
            "the True Audio (TTA) file has no sample rate",
        ));
    }
    let samples = u64::from(word(&head, 14));
    let end = mpeg::tail(input, start, &mut media)?;
    media.audio.measure(samples, end - start);
    let sound = input.up_to(start + (end - start) / 2, 256)?;
    media.audio_hash = AudioHash::of("tta", samples, sound);
    Ok(media)
}

fn word(head: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(
        *head[at..]
            .first_chunk()
            .expect("the field lies within the head"),
    )
}
