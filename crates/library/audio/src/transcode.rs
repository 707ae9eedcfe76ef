//! Pipeline that transcodes one track.

use std::io::{Read, Seek, Write};

use audio_plan::{Codec, Gain, Plan, SAMPLE_RATE_HZ};

use crate::decode::{self, Decoder};
use crate::encode::OggOpus;
use crate::error::{Error, ErrorKind};
use crate::mix::Mix;
use crate::resample::Resampler;

/// Result of a successful transcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcoded<W> {
    /// Sink to which the complete output was written.
    pub sink: W,
    /// Number of frames of the output, at 48 kHz.
    pub frames: u64,
    /// Problems of the original that did not prevent the transcode, for the log. Empty if the
    /// original is valid.
    pub remarks: Vec<String>,
}

/// Transcodes `original`, which must be positioned at its start, by `plan`.
///
/// # Errors
/// [`Error`] if the transcode fails. Its kind states the party at fault. Any output that was
/// written to `sink` is unusable.
pub fn transcode<W: Write>(
    plan: &Plan,
    original: impl Read + Seek,
    sink: W,
) -> Result<Transcoded<W>, Error> {
    let mut decoder = decode::open(plan.codec, original)?;
    let mut block = Vec::new();
    skip(decoder.as_mut(), plan, &mut block)?;
    let mut shape = decoder.shape();
    let mut mix = Mix::new(shape, plan.channels);
    let mut resampler = Resampler::new(shape.rate_hz, plan.channels)?;
    let mut file = OggOpus::new(plan, shape.rate_hz, sink)?;
    let mut remarks = Vec::new();
    let mut frames = Vec::new();
    let mut is_complete = false;
    while !is_complete {
        mix.run(&block, resampler.inputs());
        block.clear();
        match decoder.next(&mut block) {
            Ok(more) => is_complete = !more,
            // Fails if nothing was encoded yet, or if the original is valid but uses an unsupported
            // feature. The server then sends the original, which the player may be able to decode.
            Err(error) if file.frames() == 0 || error.kind == ErrorKind::Unsupported => {
                return Err(error);
            }
            Err(error) => {
                remarks.push(format!(
                    "the original is damaged; only the part before the damage is transcoded: \
                     {error}"
                ));
                is_complete = true;
            }
        }
        let has_format_changed = decoder.shape() != shape;
        frames.clear();
        resampler.run(is_complete || has_format_changed, &mut frames);
        if has_format_changed {
            shape = decoder.shape();
            mix = Mix::new(shape, plan.channels);
            resampler = Resampler::new(shape.rate_hz, plan.channels)?;
        }
        let samples_left = (plan.samples_max() - file.frames()) * u64::from(plan.channels);
        if samples_left < frames.len() as u64 {
            frames.truncate(samples_left as usize);
            remarks.push(
                "the original is longer than the plan allows; the output is truncated".to_owned(),
            );
            is_complete = true;
        }
        file.push(&frames)?;
    }
    if file.frames() == 0 {
        return Err(Error::undecodable("the file contains no audio frames"));
    }
    let frames = file.frames();
    Ok(Transcoded {
        sink: file.finish()?,
        frames,
        remarks,
    })
}

/// Skips to the start position of the plan. If a decoded block extends beyond that position, its
/// remaining frames are left in `block`.
fn skip(decoder: &mut dyn Decoder, plan: &Plan, block: &mut Vec<f32>) -> Result<(), Error> {
    let mut shape = decoder.shape();
    let start_frame = u128::from(plan.start_ms) * u128::from(shape.rate_hz) / 1_000;
    let mut left = u64::try_from(start_frame).unwrap_or(u64::MAX);
    if left == 0 || decoder.seek(left)? {
        return Ok(());
    }
    loop {
        block.clear();
        if !decoder.next(block)? {
            return Err(Error::undecodable(
                "the track ends before the requested start",
            ));
        }
        let new_shape = decoder.shape();
        if new_shape.rate_hz != shape.rate_hz {
            let scaled =
                u128::from(left) * u128::from(new_shape.rate_hz) / u128::from(shape.rate_hz);
            left = u64::try_from(scaled).unwrap_or(u64::MAX);
        }
        shape = new_shape;
        let channels = usize::from(shape.channels);
        let frames = (block.len() / channels) as u64;
        if left <= frames {
            block.drain(..left as usize * channels);
            return Ok(());
        }
        left -= frames;
    }
}

/// Encodes and decodes a short signal, so that the codec libraries do their one-time initialisation
/// before the first job.
///
/// # Panics
/// If encoding or decoding fails, which means that the program was built incorrectly.
pub fn warm_up() {
    const MS: u64 = 100;
    let frames = SAMPLE_RATE_HZ / 1_000 * MS as u32;
    let samples = (0..frames).map(|at| (at % 97) as u16 * 300);
    let mut wav = b"RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    wav.extend(SAMPLE_RATE_HZ.to_le_bytes());
    wav.extend((2 * SAMPLE_RATE_HZ).to_le_bytes());
    wav.extend(b"\x02\0\x10\0data");
    wav.extend((2 * frames).to_le_bytes());
    wav.extend(samples.flat_map(u16::to_le_bytes));
    let run = |codec: Codec, original: Vec<u8>| {
        let plan = Plan {
            codec,
            channels: 1,
            bit_rate_bps: 64_000,
            start_ms: 0,
            duration_ms: MS,
            gain: Gain::default(),
            title: String::new(),
            artist: String::new(),
            album: String::new(),
        };
        let transcoded = transcode(&plan, std::io::Cursor::new(original), Vec::new());
        let transcoded = transcoded.unwrap_or_else(|error| panic!("warm-up: {error}"));
        assert_eq!(transcoded.frames, u64::from(frames), "warm-up: {codec:?}");
        transcoded.sink
    };
    let opus = run(Codec::Wav, wav);
    run(Codec::Opus, opus);
}
