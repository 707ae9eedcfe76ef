//! Decoders of all codecs behind one trait.

mod alac;
mod flac;
mod mpeg;
mod ogg;
mod opus;
mod pcm;
mod vorbis;

use std::io::{BufReader, Read, Seek};

use audio_plan::Codec;

use self::ogg::Ogg;
use crate::error::Error;
use crate::{CHANNELS_MAX, RATE_HZ_MAX, RATE_HZ_MIN};

/// Size of one read in bytes. Reads are large because each read from inside a microVM costs an exit
/// to the host.
const READ_BYTES: usize = 256 << 10;

/// Order of the loudspeaker channels in a frame, by the convention of a file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelOrder {
    /// Left, right, centre, low-frequency, back, side: WAV, FLAC, and AIFF with two channels.
    Wave,
    /// Centre between left and right, low-frequency last: Vorbis and Opus.
    Vorbis,
    /// Centre first, low-frequency last: ALAC.
    Alac,
}

/// Format of the frames that a decoder returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameFormat {
    pub(crate) rate_hz: u32,
    pub(crate) channels: u8,
    pub(crate) order: ChannelOrder,
}

impl FrameFormat {
    fn new(rate_hz: u32, channels: u32, order: ChannelOrder) -> Result<FrameFormat, Error> {
        if !(RATE_HZ_MIN..=RATE_HZ_MAX).contains(&rate_hz) {
            return Err(Error::unsupported(format!("sample rate of {rate_hz} Hz")));
        }
        if !(1..=u32::from(CHANNELS_MAX)).contains(&channels) {
            return Err(Error::unsupported(format!("{channels} channels")));
        }
        Ok(FrameFormat {
            rate_hz,
            channels: channels as u8,
            order,
        })
    }
}

/// Decoder of one file, which it reads from the start.
pub(crate) trait Decoder {
    /// Returns the format of the latest frames, or that of the first frames if `next` was not
    /// called yet. The format may change within a file.
    fn shape(&self) -> FrameFormat;

    /// Appends the next frames to `block` with interleaved channels. All frames of one call have
    /// one format. At the end of the file, appends nothing and returns `false`.
    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error>;

    /// Seeks to a frame without decoding all frames before it. Returns `false`, with the position
    /// unchanged, if the decoder cannot seek.
    fn seek(&mut self, _frame: u64) -> Result<bool, Error> {
        Ok(false)
    }
}

/// Returns a decoder for `original`, which must be positioned at its start.
pub(crate) fn open<'r, R: Read + Seek + 'r>(
    codec: Codec,
    original: R,
) -> Result<Box<dyn Decoder + 'r>, Error> {
    let original = BufReader::with_capacity(READ_BYTES, original);
    Ok(match codec {
        Codec::Flac => Box::new(flac::Flac::open(original)?),
        Codec::Mpeg => Box::new(mpeg::Mpeg::open(original)?),
        Codec::Vorbis => Box::new(Ogg::<_, vorbis::Vorbis>::open(original)?),
        Codec::Opus => Box::new(Ogg::<_, opus::Opus>::open(original)?),
        Codec::Wav => Box::new(pcm::Wav::open(original)?),
        Codec::Aiff => Box::new(pcm::Aiff::open(original)?),
        Codec::Alac => Box::new(alac::Alac::open(original)?),
    })
}

/// Returns the factor that scales integers of this many bits to ±1.0.
fn full_scale(bits: u32) -> f32 {
    1.0 / (1_u64 << (bits.clamp(1, 32) - 1)) as f32
}
