//! WAV: chunks of a RIFF file; the samples are skipped. In the table, `@` precedes the offset of a
//! field in the chunk's content, in bytes.
//!
//! ```text
//! "RIFF" · length u32 · "WAVE" · chunks: type · length u32 · content, padded to even
//! "fmt ": @0 codec u16 · @2 channels u16 · @4 sample rate u32 · @8 bytes per second u32
//!         @12 bytes per frame u16 · @14 bits per sample u16 · @18 samples per frame u16 (ADPCM)
//! "fact": samples u32
//! "LIST": "INFO" · chunks of text      "id3 ": an ID3v2 tag      "ds64": lengths of RF64 and BW64
//! ```
//! Little-endian. Sources: Microsoft's multimedia programming interface, EBU Tech 3306, ITU-R
//! BS.2088.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container};
use crate::{Error, Field, Media, Tags, id3v2, text};
use std::ops::Range;

/// Bytes of samples, from the middle of the file, that are included in the audio hash.
pub(crate) const SAMPLE_BYTES: u64 = 256;

/// Returns whether a file with this head is WAV.
pub(crate) fn is_wav(head: &[u8]) -> bool {
    let is_riff = [b"RIFF", b"RF64", b"BW64"]
        .iter()
        .any(|name| head.starts_with(*name));
    is_riff && head.get(8..12).is_some_and(|kind| kind == b"WAVE")
}

/// Codecs whose format chunk states the samples per frame.
const ADPCM_MS: u64 = 2;
const ADPCM_IMA: u64 = 17;

const INFO: &[(&[u8; 4], Field)] = &[
    (b"INAM", Field::Title),
    (b"IART", Field::Artist),
    (b"IPRD", Field::Album),
    (b"ICRD", Field::Date),
    (b"IGNR", Field::Genre),
    (b"ICMT", Field::Comment),
    (b"ICOP", Field::Copyright),
    (b"IPRT", Field::TrackNumber),
    (b"ITRK", Field::TrackNumber),
    (b"ILNG", Field::Language),
    (b"IMED", Field::Media),
];

pub(crate) fn read(input: &mut Input<'_>) -> Result<Media, Error> {
    let mut media = Media::new(Container::Wav, Codec::Pcm);
    let mut format = None;
    let mut data = None;
    let (mut info, mut long_bytes) = (Tags::default(), None);
    let mut counted = SampleCounts::default();
    let mut at = 12;
    while at + 8 <= input.len() {
        input.part()?;
        let [k0, k1, k2, k3, l0, l1, l2, l3] = input.array(at)?;
        let kind = [k0, k1, k2, k3];
        let stated = u32::from_le_bytes([l0, l1, l2, l3]);
        let mut bytes = u64::from(stated);
        if &kind == b"data" {
            bytes = match stated {
                u32::MAX => long_bytes.unwrap_or(bytes),
                // The length is 0 and no chunk follows, so the writer could not seek back to fill
                // in the length. The samples then extend to the end of the file.
                0 if !is_chunk(input, at + 8)? => input.len() - at - 8,
                _ => bytes,
            };
        }
        let mut body = at + 8..at + 8 + bytes.min(input.len());
        if input.len() < body.end {
            media.issue("a chunk of the WAV file is longer than the file");
            body.end = input.len();
        }
        at = body.end + bytes % 2;
        match &kind {
            b"ds64" => long_bytes = Some(u64::from_le_bytes(input.field(&body, 8)?)),
            b"fmt " => {
                format = Some(input.field::<16>(&body, 0)?);
                let samples = input.field(&body, 18).map(u16::from_le_bytes);
                counted.frame_samples = samples.unwrap_or(0);
            }
            b"fact" => {
                let samples = input.field(&body, 0).map(u32::from_le_bytes);
                counted.samples = samples.unwrap_or(0);
            }
            b"data" => data = Some(body),
            b"LIST" => list(input, &body, &mut info)?,
            b"id3 " | b"ID3 " => {
                let tags = id3v2::read(input, body.start, &mut media)?;
                media.tags.fill(&tags);
            }
            _ => {}
        }
    }
    media.tags.fill(&info);
    let format = format.ok_or(Error::malformed("the WAV file has no format chunk"))?;
    let data = data.ok_or(Error::truncated("the WAV file has no sample data"))?;
    finish(input, (format, &counted), data, &mut media)?;
    Ok(media)
}

/// Returns whether a chunk may begin at the offset `at`, or the file ends there.
fn is_chunk(input: &mut Input<'_>, at: u64) -> Result<bool, Error> {
    let left = input.len() - at;
    Ok(match input.up_to(at, 8)?.first_chunk::<8>() {
        Some([name @ .., l0, l1, l2, l3]) => {
            let bytes = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
            let is_name = name.iter().all(|letter| (b' '..=b'~').contains(letter));
            is_name && u64::from(bytes) <= left - 8
        }
        None => true,
    })
}

/// Counts that determine the duration for codecs whose frames contain several samples each.
#[derive(Default)]
struct SampleCounts {
    /// Samples per frame; 0 if unknown.
    frame_samples: u16,
    /// Samples of the whole file; 0 if unknown.
    samples: u32,
}

fn finish(
    input: &mut Input<'_>,
    (format, counted): ([u8; 16], &SampleCounts),
    data: Range<u64>,
    media: &mut Media,
) -> Result<(), Error> {
    let u16_at = |at: usize| u16::from_le_bytes([format[at], format[at + 1]]);
    let coding = u16_at(0);
    media.audio.channels = u16_at(2);
    media.audio.sample_rate_hz = u32::from(u16_at(4)) | u32::from(u16_at(6)) << 16;
    media.audio.bits = u8::try_from(u16_at(14)).unwrap_or(0);
    // Format code 1 means integers, 3 floats, and 0xfffe the extensible format, which nearly always
    // contains integers or floats.
    if !matches!(coding, 1 | 3 | 0xfffe) {
        media.audio.codec = Codec::Other;
        media.audio.exact = false;
    }
    let frame_bytes = u64::from(u16_at(12));
    if frame_bytes == 0 || media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed(
            "the frame size or sample rate of the WAV file is zero",
        ));
    }
    let bytes = data.end - data.start;
    let samples = match coding {
        // Formats whose frames contain one sample per channel: PCM, and the companded formats A-law
        // and µ-law.
        1 | 3 | 6 | 7 | 0xfffe => bytes / frame_bytes,
        _ => counted.samples(&format, bytes, media.audio.sample_rate_hz),
    };
    media.audio.measure(samples, bytes);
    media.audio_hash = sampled(input, "wav", &data)?;
    Ok(())
}

impl SampleCounts {
    /// Returns the number of samples in `bytes` bytes of audio. If the file states a plausible
    /// number, returns that number. Otherwise computes it from the number of whole frames (ADPCM)
    /// or from the mean bit rate (other formats).
    fn samples(&self, format: &[u8; 16], bytes: u64, rate_hz: u32) -> u64 {
        let u16_at = |at: usize| u64::from(u16::from_le_bytes([format[at], format[at + 1]]));
        let (coding, frame_bytes) = (u16_at(0), u16_at(12));
        let bytes_per_second = u16_at(8) | u16_at(10) << 16;
        let by_rate = bytes
            .saturating_mul(rate_hz.into())
            .checked_div(bytes_per_second);
        let stated = u64::from(self.samples);
        // The field should hold the number of samples. Some writers store the number of bytes
        // there, or a placeholder.
        let is_likely = by_rate
            .is_none_or(|by_rate| (by_rate / 4..=by_rate.saturating_mul(4)).contains(&stated));
        if stated != 0 && is_likely {
            return stated;
        }
        match coding {
            ADPCM_MS | ADPCM_IMA => (bytes / frame_bytes).saturating_mul(self.frame_samples.into()),
            _ => by_rate.unwrap_or(0),
        }
    }
}

/// Returns the hash of samples from the middle of `data` and of the length of `data`.
pub(crate) fn sampled(
    input: &mut Input<'_>,
    kind: &str,
    data: &Range<u64>,
) -> Result<AudioHash, Error> {
    let bytes = data.end - data.start;
    let middle = data.start + bytes / 2;
    let samples = input.bytes(middle, (data.end - middle).min(SAMPLE_BYTES) as usize)?;
    Ok(AudioHash::of(kind, bytes, samples))
}

fn list(input: &mut Input<'_>, body: &Range<u64>, info: &mut Tags) -> Result<(), Error> {
    if body.end < body.start + 4 || &input.array(body.start)? != b"INFO" {
        return Ok(());
    }
    let mut at = body.start + 4;
    while at + 8 <= body.end {
        input.part()?;
        let [k0, k1, k2, k3, l0, l1, l2, l3] = input.array(at)?;
        let bytes = u64::from(u32::from_le_bytes([l0, l1, l2, l3])).min(body.end - at - 8);
        let mut rows = INFO.iter();
        if let Some((_, field)) = rows.find(|(name, _)| **name == [k0, k1, k2, k3]) {
            let kept = bytes.min(input.limits.value_bytes_max as u64);
            let mut value = String::new();
            text::latin1(input.bytes(at + 8, kept as usize)?, &mut value);
            info.push(*field, &value);
        }
        input.limits.admit(info)?;
        at += 8 + bytes + bytes % 2;
    }
    Ok(())
}
