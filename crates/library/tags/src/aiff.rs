//! AIFF and AIFF-C: chunks of an IFF file; the samples are skipped. In the table, `@` precedes the
//! offset of a field, in bytes from the start of the content of its chunk.
//!
//! ```text
//! "FORM" · length u32 · "AIFF" or "AIFC" · chunks: type · length u32 · content, padded to even
//! "COMM": @0 channels u16 · @2 number of frames u32 · @6 bits per sample u16
//!         @8 sample rate, an 80-bit float · @18 coding (only in AIFC)
//! "SSND": @0 offset u32 · @4 block size u32 · @8 samples
//! ```
//! Big-endian. Source: Apple's Audio Interchange File Format 1.3, and AIFF-C.

use crate::input::Input;
use crate::media::{Audio, Codec, Container};
use crate::{Error, Field, Media, Tags, id3v2, text, wav};

/// Returns whether a file with this head is AIFF or AIFF-C.
pub(crate) fn is_aiff(head: &[u8]) -> bool {
    let is_form = head.starts_with(b"FORM");
    is_form && matches!(head.get(8..12), Some(b"AIFF" | b"AIFC"))
}

/// Bytes of the sound chunk before its samples.
const DATA_HEAD_BYTES: u64 = 8;

/// Number of samples in a packet of IMA ADPCM. Each packet holds samples of one channel.
const IMA4_SAMPLES: u64 = 64;
/// Size of a packet of IMA ADPCM in bytes.
const IMA4_BYTES: u64 = 34;

/// Types of text chunks, with the fields that they stand for.
const TEXTS: &[(&[u8; 4], Field)] = &[
    (b"NAME", Field::Title),
    (b"AUTH", Field::Artist),
    (b"ANNO", Field::Comment),
    (b"(c) ", Field::Copyright),
];

pub(crate) fn read(input: &mut Input<'_>) -> Result<Media, Error> {
    let mut media = Media::new(Container::Aiff, Codec::Pcm);
    let (mut frames, mut data, mut texts) = (None, None, Tags::default());
    let mut coding = *b"NONE";
    let mut at = 12;
    while at + 8 <= input.len() {
        input.part()?;
        let [k0, k1, k2, k3, l0, l1, l2, l3] = input.array(at)?;
        let kind = [k0, k1, k2, k3];
        let mut bytes = u64::from(u32::from_be_bytes([l0, l1, l2, l3]));
        if &kind == b"SSND" && bytes == 0 {
            // A length of zero means that the writer could not seek back to fill in the real
            // length. A chunk that really has no samples has a length of eight: its two fields
            // before the samples.
            bytes = input.len() - at - 8;
        }
        let mut body = at + 8..at + 8 + bytes;
        if input.len() < body.end {
            media.issue("a chunk is longer than the file");
            body.end = input.len();
        }
        at = body.end + bytes % 2;
        match &kind {
            b"COMM" => {
                let common: [u8; 18] = input.field(&body, 0)?;
                if 22 <= body.end - body.start {
                    coding = input.field(&body, 18)?;
                }
                frames = Some(format(common, coding, &mut media)?);
            }
            b"SSND" => data = Some(body),
            b"ID3 " | b"id3 " => {
                let tags = id3v2::read(input, body.start, &mut media)?;
                media.tags.fill(&tags);
            }
            kind => {
                let mut rows = TEXTS.iter();
                if let Some((_, field)) = rows.find(|(name, _)| *name == kind) {
                    let kept = bytes
                        .min(body.end - body.start)
                        .min(input.limits.value_bytes_max as u64);
                    let mut value = String::new();
                    text::latin1(input.bytes(body.start, kept as usize)?, &mut value);
                    texts.push(*field, &value);
                }
            }
        }
    }
    media.tags.fill(&texts);
    let frames = frames.ok_or(Error::malformed("the AIFF file has no format chunk (COMM)"))?;
    let data = data.ok_or(Error::truncated("the AIFF file has no sample data (SSND)"))?;
    let bytes = data.end - data.start;
    let packets = bytes / (IMA4_BYTES * u64::from(media.audio.channels.max(1)));
    let frames = match &coding {
        // For IMA ADPCM, encoders write the number of packets into the field for the number of
        // frames, although the format defines the field as the number of samples per channel.
        b"ima4" if frames <= packets => frames * IMA4_SAMPLES,
        // Zero means that the writer could not seek back to fill in the number of frames.
        _ if frames == 0 => Some(room(&media.audio, bytes))
            .filter(|room| *room != u64::MAX)
            .unwrap_or(0),
        _ => frames.min(room(&media.audio, bytes)),
    };
    media.audio.measure(frames, bytes);
    media.audio_hash = wav::sampled(input, "aiff", &data)?;
    Ok(media)
}

/// Returns the number of frames that a chunk of `bytes` bytes can hold, or `u64::MAX` if the codec
/// does not determine this number.
fn room(audio: &Audio, bytes: u64) -> u64 {
    // Each sample is padded to whole bytes.
    let frame_bytes = u64::from(audio.channels) * u64::from(audio.bits.div_ceil(8));
    match audio.codec {
        Codec::Pcm if frame_bytes != 0 => bytes.saturating_sub(DATA_HEAD_BYTES) / frame_bytes,
        _ => u64::MAX,
    }
}

/// Reads the audio format from the `COMM` chunk. Returns the number of frames.
fn format(common: [u8; 18], coding: [u8; 4], media: &mut Media) -> Result<u64, Error> {
    let [c1, c0, f3, f2, f1, f0, b1, b0, e1, e0, m7, m6, m5, m4, ..] = common;
    let audio = &mut media.audio;
    audio.channels = u16::from_be_bytes([c1, c0]);
    audio.bits = u8::try_from(u16::from_be_bytes([b1, b0])).unwrap_or(0);
    // The mantissa has 64 bits. Sample rates are integers below 2³², so the upper 32 bits of the
    // mantissa are sufficient.
    let exponent = i32::from(u16::from_be_bytes([e1, e0]) & 0x7fff) - 16383;
    let mantissa = u32::from_be_bytes([m7, m6, m5, m4]);
    audio.sample_rate_hz = match 31 - exponent {
        shift @ 0..=31 => mantissa >> shift,
        _ => 0,
    };
    if audio.sample_rate_hz == 0 {
        return Err(Error::malformed("the AIFF file has no sample rate"));
    }
    if !matches!(
        &coding,
        b"NONE" | b"sowt" | b"twos" | b"fl32" | b"FL32" | b"fl64"
    ) {
        audio.codec = Codec::Other;
    }
    Ok(u32::from_be_bytes([f3, f2, f1, f0]).into())
}
