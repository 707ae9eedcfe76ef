//! Encoder that writes Opus in Ogg from frames at 48 kHz.

use std::io::{self, Write};

use audio_plan::{Plan, page_crc};
use ogg::{PacketWriteEndInfo, PacketWriter};

use crate::error::{Error, ErrorKind};
use crate::opus::{self, Encoder, PACKET_FRAMES};

/// Maximum number of packets per page. RFC 7845 §4 recommends pages of at most one second, so that
/// players can seek.
const PAGE_PACKETS: u64 = 50;

/// Writer of an Ogg Opus file.
pub(crate) struct OggOpus<W: Write> {
    writer: PacketWriter<'static, W>,
    encoder: Encoder,
    channels: usize,
    serial: u32,
    pre_skip: u64,
    /// Samples that do not fill a whole packet yet.
    waiting: Vec<f32>,
    /// Number of frames received so far.
    frames: u64,
    packets: u64,
    /// Latest packet, which is not written yet because the last packet of a file needs an end mark.
    last: Option<Vec<u8>>,
}

impl<W: Write> OggOpus<W> {
    /// Starts a file and writes its two header packets.
    pub(crate) fn new(plan: &Plan, rate_hz: u32, sink: W) -> Result<OggOpus<W>, Error> {
        let mut encoder = Encoder::new(plan.channels, plan.bit_rate_bps)?;
        let pre_skip = encoder.lookahead()?;
        let mut file = OggOpus {
            writer: PacketWriter::new(sink),
            encoder,
            channels: plan.channels.into(),
            serial: serial(plan),
            pre_skip: pre_skip.into(),
            waiting: Vec::new(),
            frames: 0,
            packets: 0,
            last: None,
        };
        file.write(
            head(plan, pre_skip, rate_hz),
            PacketWriteEndInfo::EndPage,
            0,
        )?;
        file.write(tags(plan), PacketWriteEndInfo::EndPage, 0)?;
        Ok(file)
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    pub(crate) fn push(&mut self, frames: &[f32]) -> Result<(), Error> {
        self.frames += (frames.len() / self.channels) as u64;
        let packet = PACKET_FRAMES * self.channels;
        self.waiting.extend_from_slice(frames);
        let waiting = std::mem::take(&mut self.waiting);
        let (packets, rest) = waiting.split_at(waiting.len() - waiting.len() % packet);
        for frames in packets.chunks_exact(packet) {
            self.encode(frames)?;
        }
        self.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Encodes the samples that do not fill a packet, and completes the file.
    pub(crate) fn finish(mut self) -> Result<W, Error> {
        let end = self.pre_skip + self.frames;
        let packet = PACKET_FRAMES * self.channels;
        // The encoder delays its output. Silence is encoded until all frames have been output.
        while self.packets * (PACKET_FRAMES as u64) < end {
            let mut frames = std::mem::take(&mut self.waiting);
            frames.resize(packet, 0.0);
            self.encode(&frames)?;
        }
        let last = self.last.take().expect("at least one packet was encoded");
        self.write(last, PacketWriteEndInfo::EndStream, end)?;
        Ok(self.writer.into_inner())
    }

    fn encode(&mut self, frames: &[f32]) -> Result<(), Error> {
        let packet = self.encoder.encode(frames)?.to_vec();
        if let Some(before) = self.last.replace(packet) {
            let end = match self.packets.is_multiple_of(PAGE_PACKETS) {
                true => PacketWriteEndInfo::EndPage,
                false => PacketWriteEndInfo::NormalPacket,
            };
            self.write(before, end, self.packets * PACKET_FRAMES as u64)?;
        }
        self.packets += 1;
        Ok(())
    }

    fn write(
        &mut self,
        packet: Vec<u8>,
        end: PacketWriteEndInfo,
        granule: u64,
    ) -> Result<(), Error> {
        let written = self.writer.write_packet(packet, self.serial, end, granule);
        written.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                Error::new(ErrorKind::TooLarge, "the output exceeds its size limit")
            }
            _ => Error::failed(format!("cannot write the output: {error}")),
        })
    }
}

/// Returns the serial number of the stream, by which players distinguish streams. It depends only
/// on the plan, so that the same plan gives the same file.
fn serial(plan: &Plan) -> u32 {
    page_crc(&plan.to_bytes())
}

/// Returns the identification header of the stream (RFC 7845 §5.1).
fn head(plan: &Plan, pre_skip: u16, rate_hz: u32) -> Vec<u8> {
    let mut head = b"OpusHead\x01".to_vec();
    head.push(plan.channels);
    head.extend(pre_skip.to_le_bytes());
    head.extend(rate_hz.to_le_bytes());
    head.extend([0; 3]);
    head
}

/// Returns the comment header of the stream (RFC 7845 §5.2).
fn tags(plan: &Plan) -> Vec<u8> {
    let gain = |gain: Option<i16>| gain.map_or_else(String::new, |gain| gain.to_string());
    let comments = [
        ("TITLE", plan.title.clone()),
        ("ARTIST", plan.artist.clone()),
        ("ALBUM", plan.album.clone()),
        ("R128_TRACK_GAIN", gain(plan.gain.track)),
        ("R128_ALBUM_GAIN", gain(plan.gain.album)),
    ];
    let there = comments.into_iter().filter(|(_, text)| !text.is_empty());
    let lines: Vec<String> = there.map(|(name, text)| format!("{name}={text}")).collect();
    let mut tags = b"OpusTags".to_vec();
    let vendor = opus::version();
    tags.extend((vendor.len() as u32).to_le_bytes());
    tags.extend(vendor.as_bytes());
    tags.extend((lines.len() as u32).to_le_bytes());
    for line in lines {
        tags.extend((line.len() as u32).to_le_bytes());
        tags.extend(line.as_bytes());
    }
    tags
}
