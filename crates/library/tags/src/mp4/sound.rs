//! Sound track of an MP4 file: duration, codec and audio properties.

use super::{find, next};
use crate::input::Input;
use crate::media::{AudioHash, Codec};
use crate::{Error, Media};
use std::ops::Range;

/// Bytes of the table of sample sizes (`stsz`) that are included in the audio hash.
const SIZES_BYTES: u64 = 256;
/// Bytes per read of the table of sample durations.
const TIMES_BYTES: u64 = 64 << 10;
/// Bytes of a sample entry's fields before its boxes, by QuickTime version.
const ENTRY_BYTES: [u64; 3] = [28, 44, 64];

/// Properties of a sound track.
pub(super) struct Sound {
    /// Track id, by which fragments refer to the track.
    pub(super) id: u32,
    pub(super) timescale: u32,
    /// Duration in units of the time scale; 0 if unknown.
    pub(super) duration: u64,
    hashed: Vec<u8>,
}

/// Reads a track; returns `None` unless it is a sound track.
pub(super) fn read(
    input: &mut Input<'_>,
    trak: &Range<u64>,
    media: &mut Media,
) -> Result<Option<Sound>, Error> {
    let Some(mdia) = find(input, trak, b"mdia")? else {
        return Ok(None);
    };
    let id = match find(input, trak, b"tkhd")? {
        Some(tkhd) => track_id(input, &tkhd)?,
        None => 0,
    };
    let (mut head, mut is_sound, mut minf) = (None, false, None);
    let mut at = mdia.start;
    while let Some(atom) = next(input, &mut at, &mdia)? {
        match &atom.kind {
            b"mdhd" => head = Some(media_head(input, &atom.body)?),
            b"hdlr" => is_sound = &input.field(&atom.body, 8)? == b"soun",
            b"minf" => minf = Some(atom.body),
            _ => {}
        }
    }
    let (Some((timescale, duration)), true, Some(minf)) = (head, is_sound, minf) else {
        return Ok(None);
    };
    media.audio.sample_rate_hz = timescale;
    let mut sound = Sound {
        id,
        timescale,
        duration,
        hashed: Vec::new(),
    };
    let Some(stbl) = find(input, &minf, b"stbl")? else {
        return Err(Error::malformed(
            "the audio track of the mp4 has no sample tables (stbl)",
        ));
    };
    let mut at = stbl.start;
    while let Some(atom) = next(input, &mut at, &stbl)? {
        match &atom.kind {
            b"stsd" => entry(input, &atom.body, media)?,
            b"stts" if sound.duration == 0 => sound.duration = times(input, &atom.body)?,
            b"stsz" => {
                let bytes = (atom.body.end - atom.body.start).min(SIZES_BYTES);
                let sizes = input.bytes(atom.body.start, bytes as usize)?;
                sound.hashed.extend_from_slice(sizes);
            }
            _ => {}
        }
    }
    Ok(Some(sound))
}

/// Returns the track id from `tkhd`: a u32 at offset 12 in version 0, or at offset 20 in version 1.
fn track_id(input: &mut Input<'_>, tkhd: &Range<u64>) -> Result<u32, Error> {
    let [version] = input.field(tkhd, 0)?;
    let id = input.field(tkhd, if version == 1 { 20 } else { 12 })?;
    Ok(u32::from_be_bytes(id))
}

/// Returns the total duration of the samples. The fields of `stts`, with `@` before an offset in
/// bytes: @4 count u32 · @8 pairs of samples u32 and duration of each sample u32.
fn times(input: &mut Input<'_>, stts: &Range<u64>) -> Result<u64, Error> {
    let count = u32::from_be_bytes(input.field(stts, 4)?);
    let bytes = (stts.end - stts.start - 8).min(u64::from(count) * 8);
    let mut rest = stts.start + 8..stts.start + 8 + bytes;
    let mut duration = 0_u64;
    while rest.start < rest.end {
        let step = (rest.end - rest.start).min(TIMES_BYTES) as usize;
        let (runs, _) = input.bytes(rest.start, step)?.as_chunks::<8>();
        for &[n3, n2, n1, n0, d3, d2, d1, d0] in runs {
            let (samples, each) = (
                u32::from_be_bytes([n3, n2, n1, n0]),
                u32::from_be_bytes([d3, d2, d1, d0]),
            );
            duration = duration.saturating_add(u64::from(samples) * u64::from(each));
        }
        rest.start += step as u64;
    }
    Ok(duration)
}

/// Returns the time scale and the duration from `mdhd`. With `@` before an offset in bytes, version
/// 0 is: @12 scale u32 · @16 duration u32. Version 1 is: @20 scale u32 · @24 duration u64. A
/// duration of all ones is unknown.
fn media_head(input: &mut Input<'_>, body: &Range<u64>) -> Result<(u32, u64), Error> {
    let [version] = input.field(body, 0)?;
    let (scale, duration) = match version {
        1 => (
            input.field(body, 20)?,
            Some(u64::from_be_bytes(input.field(body, 24)?)).filter(|ticks| *ticks != u64::MAX),
        ),
        _ => {
            let ticks = u32::from_be_bytes(input.field(body, 16)?);
            let ticks = Some(ticks).filter(|ticks| *ticks != u32::MAX);
            (input.field(body, 12)?, ticks.map(u64::from))
        }
    };
    let duration = duration.unwrap_or(0);
    match u32::from_be_bytes(scale) {
        0 => Err(Error::malformed(
            "the audio track of the mp4 has no time scale",
        )),
        scale => Ok((scale, duration)),
    }
}

/// Reads the first sample entry, which follows a count. `@` precedes the offset of a field in
/// bytes:
///
/// ```text
/// @0 length u32 · @4 format · @8 reserved · @16 version u16 · @24 channels u16 ·
/// @26 bits per sample u16 · @32 sample rate, 16.16 fixed point · @36 boxes
/// ```
fn entry(input: &mut Input<'_>, body: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    let Some(entry) = super::atom(input, body.start + 8, body.end)? else {
        return Err(Error::malformed(
            "the audio track of the mp4 has no sample entry",
        ));
    };
    let audio = &mut media.audio;
    audio.codec = match &entry.kind {
        b"mp4a" => Codec::Aac,
        b"alac" => Codec::Alac,
        b"fLaC" => Codec::Flac,
        b"Opus" => Codec::Opus,
        b".mp3" => Codec::Mp3,
        b"lpcm" | b"sowt" | b"twos" => Codec::Pcm,
        _ => Codec::Other,
    };
    let fields = &entry.body;
    audio.channels = u16::from_be_bytes(input.field(fields, 16)?);
    let bits = u16::from_be_bytes(input.field(fields, 18)?);
    let rate = u16::from_be_bytes(input.field(fields, 24)?);
    if rate != 0 {
        audio.sample_rate_hz = rate.into();
    }
    if matches!(audio.codec, Codec::Alac | Codec::Flac | Codec::Pcm) {
        audio.bits = u8::try_from(bits).unwrap_or(0);
    }
    let version = u16::from_be_bytes(input.field(fields, 8)?);
    let skip = ENTRY_BYTES.get(usize::from(version)).copied();
    let boxes = fields.start + skip.unwrap_or(ENTRY_BYTES[0])..fields.end;
    let described = match audio.codec {
        Codec::Alac => alac(input, &boxes, media),
        Codec::Aac => aac(input, &boxes, media),
        _ => Ok(()),
    };
    match described {
        Err(err) if err.is_local() => {
            media.issue("the decoder settings in the mp4 are malformed");
            Ok(())
        }
        other => other,
    }
}

/// Reads ALAC's settings, which follow a version field. With `@` before an offset in bytes: @5 bits
/// per sample u8 · @9 channels u8 · @20 sample rate u32.
fn alac(input: &mut Input<'_>, boxes: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    let Some(config) = find(input, boxes, b"alac")? else {
        return Ok(());
    };
    let settings: [u8; 28] = input.field(&config, 0)?;
    let [.., r3, r2, r1, r0] = settings;
    media.audio.bits = settings[9];
    media.audio.channels = settings[13].into();
    media.audio.sample_rate_hz = u32::from_be_bytes([r3, r2, r1, r0]);
    Ok(())
}

/// Sample rates by their index in AAC's settings.
const AAC_RATES_HZ: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];

/// Reads an elementary stream descriptor: type u8 · length in 7-bit groups · content. Type 3
/// contains type 4, which contains type 5, the settings.
fn aac(input: &mut Input<'_>, boxes: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    let Some(esds) = find(input, boxes, b"esds")? else {
        return Ok(());
    };
    let bytes = (esds.end - esds.start).min(128) as usize;
    let mut rest = input.bytes(esds.start, bytes)?.get(4..);
    let mut layer = |kind: u8, skip: usize| {
        let (&found, mut behind) = rest?.split_first()?;
        while let Some((&group, next)) = behind.split_first() {
            behind = next;
            if group & 0x80 == 0 {
                break;
            }
        }
        rest = behind.get(skip..);
        (found == kind).then_some(behind)
    };
    let settings = layer(3, 3)
        .and_then(|_| layer(4, 13))
        .filter(|config| config.first() == Some(&0x40))
        .and_then(|_| layer(5, 0));
    let Some([high, low, ..]) = settings else {
        return Ok(());
    };
    let word = u16::from_be_bytes([*high, *low]);
    let (object, rate, channels) = (word >> 11, word >> 7 & 15, word >> 3 & 15);
    // Only the rate of object type 2 (AAC-LC) is used. Types 5 and 29 (SBR and PS) double the
    // sample rate of the stream that they extend, and the file states the doubled rate elsewhere.
    if object == 2
        && let Some(&rate) = AAC_RATES_HZ.get(usize::from(rate))
    {
        media.audio.sample_rate_hz = rate;
    }
    match channels {
        0 => {}
        7 => media.audio.channels = 8,
        channels => media.audio.channels = channels,
    }
    Ok(())
}

impl Sound {
    /// Sets the properties that are known only after the whole file was read.
    pub(super) fn finish(self, mdat_bytes: u64, media: &mut Media) {
        let rate = media.audio.sample_rate_hz;
        media.audio.sample_rate_hz = self.timescale;
        media.audio.measure(self.duration, mdat_bytes);
        media.audio.exact &= self.duration != 0;
        media.audio.sample_rate_hz = rate;
        let number = self.duration ^ mdat_bytes << 24;
        media.audio_hash = AudioHash::of("mp4", number, &self.hashed);
    }
}
