//! Readers of uncompressed samples in WAV and AIFF files, which use the crates `hound` and `aifc`.

use std::io::{Read, Seek};

use aifc::{AifcReader, Sample};
use hound::{SampleFormat, WavReader};

use super::frames::{ChannelOrder, Decoder, FrameFormat, full_scale};
use crate::error::Error;

/// Maximum number of frames that one call of `next` returns.
const FRAMES: usize = 4_096;

pub(super) struct Wav<R> {
    reader: WavReader<R>,
    shape: FrameFormat,
    format: SampleFormat,
    scale: f32,
    frames: u32,
}

impl<R: Read + Seek> Wav<R> {
    pub(super) fn open(original: R) -> Result<Wav<R>, Error> {
        let reader = WavReader::new(original).map_err(|error| match error {
            hound::Error::Unsupported => {
                Error::unsupported("unsupported sample format of a WAV file")
            }
            other => Error::undecodable(other),
        })?;
        let spec = reader.spec();
        let shape = FrameFormat::new(spec.sample_rate, spec.channels.into(), ChannelOrder::Wave)?;
        Ok(Wav {
            shape,
            format: spec.sample_format,
            scale: full_scale(spec.bits_per_sample.into()),
            frames: reader.duration(),
            reader,
        })
    }
}

impl<R: Read + Seek> Decoder for Wav<R> {
    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let count = FRAMES * usize::from(self.shape.channels);
        let before = block.len();
        match self.format {
            SampleFormat::Float => {
                for sample in self.reader.samples::<f32>().take(count) {
                    block.push(sample.map_err(Error::undecodable)?);
                }
            }
            SampleFormat::Int => {
                for sample in self.reader.samples::<i32>().take(count) {
                    block.push(sample.map_err(Error::undecodable)? as f32 * self.scale);
                }
            }
        }
        Ok(before < block.len())
    }

    fn seek(&mut self, frame: u64) -> Result<bool, Error> {
        let frame = frame.min(self.frames.into()) as u32;
        self.reader.seek(frame).map_err(Error::undecodable)?;
        Ok(true)
    }
}

pub(super) struct Aiff<R> {
    reader: AifcReader<R>,
    shape: FrameFormat,
    samples: u64,
}

impl<R: Read + Seek> Aiff<R> {
    pub(super) fn open(original: R) -> Result<Aiff<R>, Error> {
        let malformed = |error| Error::undecodable(format!("AIFF: {error:?}"));
        let reader = AifcReader::new(original).map_err(malformed)?;
        let info = reader.info();
        let samples = info.sample_len;
        let samples = samples
            .ok_or_else(|| Error::unsupported("unsupported sample format of an AIFF file"))?;
        // An invalid rate, such as NaN, becomes 0, which `FrameFormat::new` rejects.
        let rate_hz = info.sample_rate.round() as u32;
        let channels = u32::from(info.channels.unsigned_abs());
        Ok(Aiff {
            shape: FrameFormat::new(rate_hz, channels, ChannelOrder::Wave)?,
            reader,
            samples,
        })
    }
}

impl<R: Read + Seek> Decoder for Aiff<R> {
    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let count = FRAMES * usize::from(self.shape.channels);
        for read in 0..count {
            let sample = self.reader.read_sample();
            let sample = sample.map_err(|error| Error::undecodable(format!("AIFF: {error:?}")))?;
            let Some(sample) = sample else {
                return Ok(read != 0);
            };
            block.push(level(sample));
        }
        Ok(true)
    }

    fn seek(&mut self, frame: u64) -> Result<bool, Error> {
        let sample = frame.saturating_mul(self.shape.channels.into());
        let seek_result = self.reader.seek(sample.min(self.samples));
        seek_result.map_err(|error| Error::undecodable(format!("AIFF: {error:?}")))?;
        Ok(true)
    }
}

fn level(sample: Sample) -> f32 {
    match sample {
        Sample::U8(sample) => (f32::from(sample) - 128.0) * full_scale(8),
        Sample::I8(sample) => f32::from(sample) * full_scale(8),
        Sample::I16(sample) => f32::from(sample) * full_scale(16),
        Sample::I24(sample) => sample as f32 * full_scale(24),
        Sample::I32(sample) => sample as f32 * full_scale(32),
        Sample::F32(sample) => sample,
        Sample::F64(sample) => sample as f32,
    }
}
