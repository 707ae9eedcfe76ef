//! Decoder of Vorbis in Ogg, which uses the crates `ogg` and `lewton`.

use std::io::{Read, Seek};

use lewton::audio::{PreviousWindowRight, read_audio_packet_generic};
use lewton::header::{
    IdentHeader, SetupHeader, read_header_comment, read_header_ident, read_header_setup,
};
use lewton::samples::InterleavedSamples;

use super::frames::{ChannelOrder, FrameFormat};
use super::ogg::{Link, Packets};
use crate::error::Error;

/// Decoder of one Vorbis stream, with the headers of the stream.
pub(super) struct Vorbis {
    ident: IdentHeader,
    setup: SetupHeader,
    before: PreviousWindowRight,
    shape: FrameFormat,
}

impl Link for Vorbis {
    const MAGIC: &[u8] = b"\x01vorbis";

    fn open<R: Read + Seek>(first: &[u8], packets: &mut Packets<R>) -> Result<Vorbis, Error> {
        let ident = read_header_ident(first).map_err(Error::undecodable)?;
        read_header_comment(&packets.read_header()?).map_err(Error::undecodable)?;
        let blocks = (ident.blocksize_0, ident.blocksize_1);
        let setup = read_header_setup(&packets.read_header()?, ident.audio_channels, blocks);
        let channels = ident.audio_channels.into();
        Ok(Vorbis {
            shape: FrameFormat::new(ident.audio_sample_rate, channels, ChannelOrder::Vorbis)?,
            setup: setup.map_err(Error::undecodable)?,
            ident,
            before: PreviousWindowRight::new(),
        })
    }

    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn decode(&mut self, packet: &[u8], block: &mut Vec<f32>) -> Result<(), Error> {
        let samples: InterleavedSamples<f32> =
            read_audio_packet_generic(&self.ident, &self.setup, packet, &mut self.before)
                .map_err(Error::undecodable)?;
        block.extend_from_slice(&samples.samples);
        Ok(())
    }
}
