//! Decoder of Opus in Ogg, which uses the crate `ogg` and libopus.

use std::io::{Read, Seek};

use audio_plan::SAMPLE_RATE_HZ;

use super::frames::{ChannelOrder, FrameFormat};
use super::ogg::{Link, Packets};
use crate::error::Error;
use crate::opus::{self, Layout};

/// Decoder of one Opus stream.
pub(super) struct Opus {
    decoder: opus::Decoder,
    shape: FrameFormat,
    /// Number of frames at the start of the stream that are still to be dropped.
    pre_skip: usize,
}

impl Link for Opus {
    const MAGIC: &[u8] = b"OpusHead";

    fn open<R: Read + Seek>(first: &[u8], packets: &mut Packets<R>) -> Result<Opus, Error> {
        let head = Head::parse(first)?;
        // Reads and ignores the comment header.
        packets.read_header()?;
        let channels = u32::from(head.layout.channels);
        Ok(Opus {
            shape: FrameFormat::new(SAMPLE_RATE_HZ, channels, ChannelOrder::Vorbis)?,
            decoder: opus::Decoder::new(&head.layout, head.gain)?,
            pre_skip: head.pre_skip,
        })
    }

    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn decode(&mut self, packet: &[u8], block: &mut Vec<f32>) -> Result<(), Error> {
        block.extend_from_slice(self.decoder.decode(packet)?);
        Ok(())
    }

    fn skip(&mut self, frames: usize) -> usize {
        let skipped = self.pre_skip.min(frames);
        self.pre_skip -= skipped;
        skipped
    }
}

/// Identification header, which is the first packet of a stream (RFC 7845 §5.1).
struct Head {
    layout: Layout,
    pre_skip: usize,
    /// Output gain in 1/256 dB.
    gain: i16,
}

impl Head {
    fn parse(packet: &[u8]) -> Result<Head, Error> {
        let malformed = || Error::undecodable("malformed OpusHead");
        let rest = packet.strip_prefix(Opus::MAGIC).ok_or_else(malformed)?;
        let &[
            version,
            channels,
            skip0,
            skip1,
            _,
            _,
            _,
            _,
            gain0,
            gain1,
            family,
            ref table @ ..,
        ] = rest
        else {
            return Err(malformed());
        };
        if 15 < version {
            return Err(Error::unsupported(format!(
                "unsupported version {version} of Opus in Ogg"
            )));
        }
        let layout = match (family, channels) {
            (0, 1) => Layout::new(1, 1, 0, &[0]),
            (0, 2) => Layout::new(2, 1, 1, &[0, 1]),
            (1, _) => match table {
                [streams, coupled, mapping @ ..] => {
                    let mapping = mapping.get(..channels.into()).ok_or_else(malformed)?;
                    Layout::new(channels, *streams, *coupled, mapping)
                }
                _ => return Err(malformed()),
            },
            _ => {
                return Err(Error::unsupported(format!(
                    "unsupported Opus channel mapping family {family}"
                )));
            }
        };
        Ok(Head {
            layout: layout.ok_or_else(malformed)?,
            pre_skip: u16::from_le_bytes([skip0, skip1]).into(),
            gain: i16::from_le_bytes([gain0, gain1]),
        })
    }
}
