//! The packets of a stream in Ogg (RFC 3533), and how much of the last one counts.

use std::io::{Read, Seek};

use ogg::PacketReader;

use crate::error::Error;

/// The first stream of a file; packets of others are passed over.
pub(super) struct Packets<R: Read + Seek> {
    reader: PacketReader<R>,
    /// Of the stream, once its first packet was read.
    serial: Option<u32>,
    /// Frames that were decoded.
    frames: u64,
    /// How many frames there are in all, once the last packet was read.
    end: Option<u64>,
}

impl<R: Read + Seek> Packets<R> {
    pub(super) fn new(original: R) -> Packets<R> {
        Packets {
            reader: PacketReader::new(original),
            serial: None,
            frames: 0,
            end: None,
        }
    }

    /// The next one; nothing after the last.
    pub(super) fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        while self.end.is_none() {
            let Some(packet) = self.reader.read_packet().map_err(Error::undecodable)? else {
                break;
            };
            let serial = *self.serial.get_or_insert(packet.stream_serial());
            if packet.stream_serial() != serial {
                continue;
            }
            if packet.last_in_stream() {
                self.end = Some(packet.absgp_page());
            }
            return Ok(Some(packet.data));
        }
        Ok(None)
    }

    /// The next one, which there has to be.
    pub(super) fn read_header(&mut self) -> Result<Vec<u8>, Error> {
        let missing = || Error::undecodable("the headers are not whole");
        self.read()?.ok_or_else(missing)
    }

    /// How many of the frames that were decoded from the packet read last count: the last page's granule tells where the
    /// stream ends (RFC 7845 §4.4; the Vorbis I specification, A.2).
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
