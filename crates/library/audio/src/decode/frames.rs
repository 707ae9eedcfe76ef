//! Frames that decoders return, and the trait of all decoders.

use crate::error::Error;
use crate::{CHANNELS_MAX, RATE_HZ_MAX, RATE_HZ_MIN};

/// Order of the loudspeaker channels in a frame, by the convention of a file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelOrder {
    /// Left, right, centre, low-frequency, then back and side channels, as in WAV and FLAC. Also
    /// used for AIFF and MPEG audio, whose order is the same for one or two channels.
    Wave,
    /// Centre between left and right, low-frequency last, as in Vorbis and Opus.
    Vorbis,
    /// Centre first, low-frequency last, as in ALAC.
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
    pub(super) fn new(
        rate_hz: u32,
        channels: u32,
        order: ChannelOrder,
    ) -> Result<FrameFormat, Error> {
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

/// Returns the factor that scales integers of this many bits to ±1.0.
pub(super) fn full_scale(bits: u32) -> f32 {
    1.0 / (1_u64 << (bits.clamp(1, 32) - 1)) as f32
}
