//! Vorbis in Ogg, by ogg and lewton.

use std::io::{Read, Seek};

use lewton::audio::{PreviousWindowRight, read_audio_packet_generic};
use lewton::header::{
    IdentHeader, SetupHeader, read_header_comment, read_header_ident, read_header_setup,
};
use lewton::samples::InterleavedSamples;

use super::packets::Packets;
use super::{Decoder, Order, Shape};
use crate::error::Error;

pub(super) struct Vorbis<R: Read + Seek> {
    packets: Packets<R>,
    ident: IdentHeader,
    setup: SetupHeader,
    before: PreviousWindowRight,
    shape: Shape,
}

impl<R: Read + Seek> Vorbis<R> {
    pub(super) fn open(original: R) -> Result<Vorbis<R>, Error> {
        let mut packets = Packets::new(original);
        let ident = read_header_ident(&packets.read_header()?).map_err(Error::undecodable)?;
        read_header_comment(&packets.read_header()?).map_err(Error::undecodable)?;
        let blocks = (ident.blocksize_0, ident.blocksize_1);
        let setup = read_header_setup(&packets.read_header()?, ident.audio_channels, blocks);
        let channels = ident.audio_channels.into();
        Ok(Vorbis {
            shape: Shape::new(ident.audio_sample_rate, channels, Order::Vorbis)?,
            setup: setup.map_err(Error::undecodable)?,
            ident,
            packets,
            before: PreviousWindowRight::new(),
        })
    }
}

impl<R: Read + Seek> Decoder for Vorbis<R> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let Some(packet) = self.packets.read()? else {
            return Ok(false);
        };
        let samples: InterleavedSamples<f32> =
            read_audio_packet_generic(&self.ident, &self.setup, &packet, &mut self.before)
                .map_err(Error::undecodable)?;
        let channels = usize::from(self.shape.channels);
        let frames = self.packets.count(samples.samples.len() / channels);
        block.extend_from_slice(&samples.samples[..frames * channels]);
        Ok(true)
    }
}
