//! Decoders of all sorts, alike to whoever reads them.

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

/// What is read at once. A read of a file costs a cell in a microVM a way out of it.
const READ_BYTES: usize = 256 << 10;

/// What the channels of a format are called, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Left, right, centre, low, back, side: WAV's, FLAC's and AIFF's with two channels.
    Wave,
    /// Centre between left and right, low last: Vorbis's and Opus's.
    Vorbis,
    /// Centre first, low last: ALAC's.
    Alac,
}

/// What a decoder's frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) rate_hz: u32,
    pub(crate) channels: u8,
    pub(crate) order: Order,
}

impl Shape {
    fn new(rate_hz: u32, channels: u32, order: Order) -> Result<Shape, Error> {
        if !(RATE_HZ_MIN..=RATE_HZ_MAX).contains(&rate_hz) {
            return Err(Error::unsupported(format!("{rate_hz} samples a second")));
        }
        if !(1..=u32::from(CHANNELS_MAX)).contains(&channels) {
            return Err(Error::unsupported(format!("{channels} channels")));
        }
        Ok(Shape {
            rate_hz,
            channels: channels as u8,
            order,
        })
    }
}

/// One file that is decoded from its beginning on.
pub(crate) trait Decoder {
    /// Of the frames that came last, and at first of those that come next: another part of a file may have another.
    fn shape(&self) -> Shape;

    /// Appends the next frames, their channels side by side, all of one shape. `false` at the end, where it appends none.
    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error>;

    /// Goes to a frame without decoding all before it. `false` where it cannot; then it stays where it is.
    fn seek(&mut self, _frame: u64) -> Result<bool, Error> {
        Ok(false)
    }
}

/// A decoder for `original`, which lies at its beginning.
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

/// Full scale of whole numbers of so many bits.
fn full_scale(bits: u32) -> f32 {
    1.0 / (1_u64 << (bits.clamp(1, 32) - 1)) as f32
}
