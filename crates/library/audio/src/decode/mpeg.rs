//! Decoder of MPEG audio, which uses the crate `nanomp3`. That crate removes the delay and the
//! padding of the encoder.

use std::io::{Read, Seek};

use nanomp3::{Options, Reader};

use super::frames::{ChannelOrder, Decoder, FrameFormat};
use crate::error::Error;

pub(super) struct Mpeg<R> {
    reader: Reader<R, f32>,
    shape: FrameFormat,
}

impl<R: Read + Seek> Mpeg<R> {
    pub(super) fn open(original: R) -> Result<Mpeg<R>, Error> {
        // By default, the reader first scans the whole file to find its length. This scan is
        // skipped, since the length is not needed. The reader can still seek: it scans the file at
        // the first seek.
        let options = Options::default().skip_scan(true);
        let reader = Reader::with_options(original, options).map_err(Error::undecodable)?;
        let channels = reader.channels();
        let channels =
            channels.ok_or_else(|| Error::undecodable("the file contains no MPEG audio frame"))?;
        let shape = FrameFormat::new(reader.sample_rate(), channels as u32, ChannelOrder::Wave)?;
        Ok(Mpeg { reader, shape })
    }
}

impl<R: Read + Seek> Decoder for Mpeg<R> {
    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let samples = self.reader.read_frame().map_err(Error::undecodable)?;
        let Some(samples) = samples else {
            return Ok(false);
        };
        block.extend_from_slice(samples);
        Ok(true)
    }

    fn seek(&mut self, frame: u64) -> Result<bool, Error> {
        self.reader.seek(frame).map_err(Error::undecodable)?;
        Ok(true)
    }
}
