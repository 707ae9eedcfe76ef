//! Decoders of all supported audio codecs. All implement one trait.

mod alac;
mod flac;
mod frames;
mod mpeg;
mod ogg;
mod opus;
mod pcm;
mod vorbis;

use std::io::{BufReader, Read, Seek};

use audio_plan::Codec;

use self::ogg::Ogg;
use crate::error::Error;
pub(crate) use frames::{ChannelOrder, Decoder, FrameFormat};

/// Size of the read buffer in bytes. It is large because inside a microVM each read causes an exit
/// to the host.
const READ_BYTES: usize = 256 << 10;

/// Returns a decoder of `original`, which must be positioned at its start.
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
