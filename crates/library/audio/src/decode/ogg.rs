//! Reader of Ogg files (RFC 3533). A file may be a chain of several streams. The last packet of a
//! stream may decode to more samples than belong to the stream; the excess samples are dropped.

use std::io::{Read, Seek};

use ogg::{Packet, PacketReader};

use super::frames::{Decoder, FrameFormat};
use crate::error::Error;

/// Decoder of one link of a chained Ogg file, that is, of one of its consecutive streams.
pub(super) trait Link: Sized {
    /// Bytes with which the first packet of the stream begins.
    const MAGIC: &[u8];

    /// Returns a decoder of the stream whose first packet is `first`. Reads the other header
    /// packets from `packets`.
    fn open<R: Read + Seek>(first: &[u8], packets: &mut Packets<R>) -> Result<Self, Error>;

    fn shape(&self) -> FrameFormat;

    /// Decodes a packet and appends its frames to `block` as interleaved samples.
    fn decode(&mut self, packet: &[u8], block: &mut Vec<f32>) -> Result<(), Error>;

    /// Returns how many of the next `_frames` decoded frames must be dropped, because they precede
    /// the first audible one.
    fn skip(&mut self, _frames: usize) -> usize {
        0
    }
}

/// Decoder of an Ogg file, all of whose chained streams have the same codec.
pub(super) struct Ogg<R: Read + Seek, L> {
    packets: Packets<R>,
    link: L,
}

impl<R: Read + Seek, L: Link> Ogg<R, L> {
    pub(super) fn open(original: R) -> Result<Ogg<R, L>, Error> {
        let mut packets = Packets::new(original);
        let first = packets.read_header()?;
        let link = L::open(&first, &mut packets)?;
        Ok(Ogg { packets, link })
    }
}

impl<R: Read + Seek, L: Link> Decoder for Ogg<R, L> {
    fn shape(&self) -> FrameFormat {
        self.link.shape()
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let Some(packet) = self.packets.read()? else {
            let Some(first) = self.packets.read_link(L::MAGIC)? else {
                return Ok(false);
            };
            self.link = L::open(&first, &mut self.packets)?;
            return Ok(true);
        };
        let begin = block.len();
        self.link.decode(&packet, block)?;
        let channels = usize::from(self.link.shape().channels);
        let frames = self.packets.count((block.len() - begin) / channels);
        let skipped = self.link.skip(frames);
        block.truncate(begin + frames * channels);
        block.drain(begin..begin + skipped * channels);
        Ok(true)
    }
}

/// Reader of the packets of a chained file (RFC 3533 §4), one stream after another. Packets of
/// streams that are multiplexed with the current one are skipped.
pub(super) struct Packets<R: Read + Seek> {
    reader: PacketReader<R>,
    /// Serial number of the current stream, or `None` before its first packet was read.
    serial: Option<u32>,
    /// True after the second packet of the current stream was read. A new stream that begins later
    /// is the next link of the chain; one that began earlier is multiplexed with the current
    /// stream.
    has_started: bool,
    /// Number of frames of the current stream that were decoded so far.
    frames: u64,
    /// Total number of frames of the current stream. `None` until its last packet was read.
    end: Option<u64>,
    /// First packet of the next link, if the current stream ended without a page marked as its
    /// last.
    next: Option<Packet>,
}

impl<R: Read + Seek> Packets<R> {
    pub(super) fn new(original: R) -> Packets<R> {
        Packets {
            reader: PacketReader::new(original),
            serial: None,
            has_started: false,
            frames: 0,
            end: None,
            next: None,
        }
    }

    /// Returns the next packet of the current stream, or `None` after its last packet.
    pub(super) fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        while self.end.is_none() && self.next.is_none() {
            let Some(packet) = self.reader.read_packet().map_err(Error::undecodable)? else {
                break;
            };
            match self.serial {
                None => return Ok(Some(self.begin(packet))),
                Some(serial) if packet.stream_serial() == serial => {
                    self.has_started = true;
                    return Ok(Some(self.take(packet)));
                }
                Some(_) if self.has_started && packet.first_in_stream() => self.next = Some(packet),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    /// Returns the first packet of the next link, which must start with `magic`, or `None` after
    /// the last link. Must be called after [`Packets::read`] has returned all packets of the
    /// current link.
    pub(super) fn read_link(&mut self, magic: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut other_streams = 0;
        loop {
            let packet = match self.next.take() {
                Some(packet) => Some(packet),
                None => self.reader.read_packet().map_err(Error::undecodable)?,
            };
            match packet {
                Some(packet) if !packet.first_in_stream() => {}
                Some(packet) if packet.data.starts_with(magic) => {
                    return Ok(Some(self.begin(packet)));
                }
                Some(_) => other_streams += 1,
                None if other_streams == 0 => return Ok(None),
                None => {
                    return Err(Error::unsupported(
                        "unsupported chain of Ogg streams with different codecs",
                    ));
                }
            }
        }
    }

    fn begin(&mut self, packet: Packet) -> Vec<u8> {
        self.serial = Some(packet.stream_serial());
        self.has_started = false;
        self.frames = 0;
        self.end = None;
        self.take(packet)
    }

    fn take(&mut self, packet: Packet) -> Vec<u8> {
        if packet.last_in_stream() {
            self.end = Some(packet.absgp_page());
        }
        packet.data
    }

    /// Returns the next header packet. Fails if the stream has no further packet.
    pub(super) fn read_header(&mut self) -> Result<Vec<u8>, Error> {
        let missing = || Error::undecodable("the stream ends before all of its header packets");
        self.read()?.ok_or_else(missing)
    }

    /// Returns how many of the `decoded` frames of the latest packet belong to the stream. The
    /// granule position of the last page states the end of the stream (RFC 7845 §4.4; Vorbis I
    /// specification, A.2). Frames after the end must be dropped.
    pub(super) fn count(&mut self, decoded: usize) -> usize {
        let left = self.end.map(|end| end.saturating_sub(self.frames));
        let counted = match left {
            Some(left) => decoded.min(usize::try_from(left).unwrap_or(decoded)),
            None => decoded,
        };
        self.frames += counted as u64;
        counted
    }
}
