//! Vorbis in Ogg, by ogg and lewton.

use std::io::{Read, Seek};

use lewton::audio::{PreviousWindowRight, read_audio_packet_generic};
use lewton::header::{
    IdentHeader, SetupHeader, read_header_comment, read_header_ident, read_header_setup,
};
use lewton::samples::InterleavedSamples;
use ogg::PacketReader;

use super::{Decoder, Order, Shape};
use crate::error::Error;

pub(super) struct Vorbis<R: Read + Seek> {
    packets: PacketReader<R>,
    serial: u32,
    ident: IdentHeader,
    setup: SetupHeader,
    before: PreviousWindowRight,
    shape: Shape,
    /// Frames given out.
    frames: u64,
    ended: bool,
}

impl<R: Read + Seek> Vorbis<R> {
    pub(super) fn open(original: R) -> Result<Vorbis<R>, Error> {
        let mut packets = PacketReader::new(original);
        let mut header = || packets.read_packet_expected().map_err(Error::undecodable);
        let first = header()?;
        let ident = read_header_ident(&first.data).map_err(Error::undecodable)?;
        read_header_comment(&header()?.data).map_err(Error::undecodable)?;
        let blocks = (ident.blocksize_0, ident.blocksize_1);
        let setup = read_header_setup(&header()?.data, ident.audio_channels, blocks);
        let channels = ident.audio_channels.into();
        Ok(Vorbis {
            shape: Shape::new(ident.audio_sample_rate, channels, Order::Vorbis)?,
            serial: first.stream_serial(),
            setup: setup.map_err(Error::undecodable)?,
            ident,
            packets,
            before: PreviousWindowRight::new(),
            frames: 0,
            ended: false,
        })
    }
}

impl<R: Read + Seek> Decoder for Vorbis<R> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        let Some(packet) = self.packets.read_packet().map_err(Error::undecodable)? else {
            return Ok(false);
        };
        if packet.stream_serial() != self.serial {
            return Ok(true);
        }
        self.ended = packet.last_in_stream();
        let samples: InterleavedSamples<f32> =
            read_audio_packet_generic(&self.ident, &self.setup, &packet.data, &mut self.before)
                .map_err(Error::undecodable)?;
        let channels = usize::from(self.shape.channels);
        let mut frames = samples.samples.len() / channels;
        if self.ended {
            // The Vorbis I specification, A.2: the last page's granule tells how much of the last packet counts.
            let left = packet.absgp_page().saturating_sub(self.frames);
            frames = frames.min(usize::try_from(left).unwrap_or(frames));
        }
        self.frames += frames as u64;
        block.extend_from_slice(&samples.samples[..frames * channels]);
        Ok(true)
    }
}
