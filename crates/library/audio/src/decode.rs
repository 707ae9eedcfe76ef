//! Decoders of all codecs behind one trait.

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

/// Size of one read in bytes. Reads are large because each read from inside a microVM costs an exit
/// to the host.
const READ_BYTES: usize = 256 << 10;

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
