//! Decoder of FLAC, which uses the crate `claxon`.

use std::io::{Read, Seek, SeekFrom};

use claxon::{FlacReader, FlacReaderOptions};

use super::frames::{ChannelOrder, Decoder, FrameFormat, full_scale};
use crate::error::Error;

pub(super) struct Flac<R: Read> {
    reader: FlacReader<R>,
    shape: FrameFormat,
    scale: f32,
    buffer: Vec<i32>,
}

impl<R: Read + Seek> Flac<R> {
    pub(super) fn open(mut original: R) -> Result<Flac<R>, Error> {
        skip_id3v2(&mut original)?;
        let options = FlacReaderOptions {
            metadata_only: false,
            read_vorbis_comment: false,
        };
        let reader = FlacReader::new_ext(original, options).map_err(Error::undecodable)?;
        let info = reader.streaminfo();
        Ok(Flac {
            reader,
            shape: FrameFormat::new(info.sample_rate, info.channels, ChannelOrder::Wave)?,
            scale: full_scale(info.bits_per_sample),
            buffer: Vec::new(),
        })
    }
}

/// Skips an ID3v2 tag, which some programs write in front of a FLAC stream. Each byte of the tag's
/// length has only seven bits, and a footer adds ten bytes (id3.org, ID3v2.4 §3.1).
fn skip_id3v2(original: &mut (impl Read + Seek)) -> Result<(), Error> {
    let mut head = [0; 10];
    original.read_exact(&mut head).map_err(Error::undecodable)?;
    let audio_offset = match head {
        [b'I', b'D', b'3', _, _, flags, size @ ..] => {
            let size = size
                .iter()
                .fold(0, |size, byte| size << 7 | u64::from(byte & 0x7f));
            let footer = if flags & 0x10 == 0 { 0 } else { 10 };
            10 + size + footer
        }
        _ => 0,
    };
    original
        .seek(SeekFrom::Start(audio_offset))
        .map(drop)
        .map_err(Error::undecodable)
}

impl<R: Read> Decoder for Flac<R> {
    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let buffer = std::mem::take(&mut self.buffer);
        let decoded = self.reader.blocks().read_next_or_eof(buffer);
        let Some(decoded) = decoded.map_err(Error::undecodable)? else {
            return Ok(false);
        };
        let channels = u32::from(self.shape.channels);
        if decoded.channels() != channels {
            return Err(Error::undecodable(
                "the number of channels changes between blocks",
            ));
        }
        for frame in 0..decoded.duration() {
            let samples = (0..channels).map(|channel| decoded.sample(channel, frame));
            block.extend(samples.map(|sample| sample as f32 * self.scale));
        }
        self.buffer = decoded.into_buffer();
        Ok(true)
    }
}
