//! Trait of all audio decoders, and the format of the frames that they return.

use crate::error::Error;
use crate::{CHANNELS_MAX, RATE_HZ_MAX, RATE_HZ_MIN};

/// Order of the channels in a frame, which depends on the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelOrder {
    /// Left, right, centre, low-frequency, then back and side channels, as in WAV and FLAC. Also
    /// used for AIFF and MPEG audio. These usually have one or two channels, for which all orders
    /// are equal.
    Wave,
    /// Left, centre, right, side and back channels, and low-frequency last, as in Vorbis and Opus.
    Vorbis,
    /// Centre first and low-frequency last, as in ALAC.
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
            return Err(Error::unsupported(format!(
                "unsupported sample rate of {rate_hz} Hz"
            )));
        }
        if !(1..=u32::from(CHANNELS_MAX)).contains(&channels) {
            return Err(Error::unsupported(format!(
                "unsupported number of channels: {channels}"
            )));
        }
        Ok(FrameFormat {
            rate_hz,
            channels: channels as u8,
            order,
        })
    }
}

/// Decoder of one audio file, which returns the frames in order.
pub(crate) trait Decoder {
    /// Returns the format of the frames that `next` returned last, or of the first frames if `next`
    /// was not called yet. The format may change within a file.
    fn shape(&self) -> FrameFormat;

    /// Appends the next frames to `block` as interleaved samples. All frames of one call have the
    /// same format. At the end of the file, appends nothing and returns `false`.
    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error>;

    /// Continues at the frame with this number, without decoding all frames before it. Returns
    /// `false` and keeps the position if the decoder cannot seek.
    fn seek(&mut self, _frame: u64) -> Result<bool, Error> {
        Ok(false)
    }
}

/// Returns the factor that scales signed integers of `bits` bits to the range ±1.0.
pub(super) fn full_scale(bits: u32) -> f32 {
    1.0 / (1_u64 << (bits.clamp(1, 32) - 1)) as f32
}
