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

const MAGIC: &[u8] = b"\x01vorbis";

pub(super) struct Vorbis<R: Read + Seek> {
    packets: Packets<R>,
    link: Link,
}

/// What the headers of a stream say, and where its decoder stands.
struct Link {
    ident: IdentHeader,
    setup: SetupHeader,
    before: PreviousWindowRight,
    shape: Shape,
}

impl Link {
    /// Of the stream that begins with `first`.
    fn open<R: Read + Seek>(first: &[u8], packets: &mut Packets<R>) -> Result<Link, Error> {
        let ident = read_header_ident(first).map_err(Error::undecodable)?;
        read_header_comment(&packets.read_header()?).map_err(Error::undecodable)?;
        let blocks = (ident.blocksize_0, ident.blocksize_1);
        let setup = read_header_setup(&packets.read_header()?, ident.audio_channels, blocks);
        let channels = ident.audio_channels.into();
        Ok(Link {
            shape: Shape::new(ident.audio_sample_rate, channels, Order::Vorbis)?,
            setup: setup.map_err(Error::undecodable)?,
            ident,
            before: PreviousWindowRight::new(),
        })
    }
}

impl<R: Read + Seek> Vorbis<R> {
    pub(super) fn open(original: R) -> Result<Vorbis<R>, Error> {
        let mut packets = Packets::new(original);
        let first = packets.read_header()?;
        let link = Link::open(&first, &mut packets)?;
        Ok(Vorbis { packets, link })
    }
}

impl<R: Read + Seek> Decoder for Vorbis<R> {
    fn shape(&self) -> Shape {
        self.link.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let Some(packet) = self.packets.read()? else {
            let Some(first) = self.packets.read_link(MAGIC)? else {
                return Ok(false);
            };
            self.link = Link::open(&first, &mut self.packets)?;
            return Ok(true);
        };
        let link = &mut self.link;
        let samples: InterleavedSamples<f32> =
            read_audio_packet_generic(&link.ident, &link.setup, &packet, &mut link.before)
                .map_err(Error::undecodable)?;
        let channels = usize::from(link.shape.channels);
        let frames = self.packets.count(samples.samples.len() / channels);
        block.extend_from_slice(&samples.samples[..frames * channels]);
        Ok(true)
    }
}
