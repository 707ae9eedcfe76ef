//! Decoder of ALAC in MP4, which uses the crate `alac`.

use std::io::{Read, Seek, SeekFrom};

use audio_plan::{Packets, packets};

use super::frames::{ChannelOrder, Decoder, FrameFormat, full_scale};
use crate::CHANNELS_MAX;
use crate::error::Error;
use crate::mp4;

/// Maximum number of frames per packet. Common encoders use 4,096.
const PACKET_FRAMES_MAX: u32 = 1 << 16;
/// Maximum length of a packet in bytes: the length of an uncompressed packet with the maximum
/// number of frames and channels, plus a header.
const PACKET_BYTES_MAX: u32 = (PACKET_FRAMES_MAX * CHANNELS_MAX as u32) * 4 + 1_024;

pub(super) struct Alac<R> {
    original: R,
    packets: Packets,
    next: usize,
    decoder: alac::Decoder,
    shape: FrameFormat,
    packet: Vec<u8>,
    samples: Vec<i32>,
    /// Number of frames that must still be dropped after a seek.
    skip: usize,
}

impl<R: Read + Seek> Alac<R> {
    pub(super) fn open(mut original: R) -> Result<Alac<R>, Error> {
        let moov = mp4::moov(&mut original)?;
        let packets = packets(&moov).map_err(Error::undecodable)?;
        let info = alac::StreamInfo::from_cookie(&packets.cookie).map_err(Error::undecodable)?;
        let frames = info.max_frames_per_packet();
        if !(1..=PACKET_FRAMES_MAX).contains(&frames)
            || !matches!(info.bit_depth(), 16 | 20 | 24 | 32)
        {
            return Err(Error::unsupported(
                "unsupported packet size or bit depth of an ALAC track",
            ));
        }
        let shape = FrameFormat::new(
            info.sample_rate(),
            info.channels().into(),
            ChannelOrder::Alac,
        )?;
        Ok(Alac {
            original,
            packets,
            next: 0,
            samples: vec![0; info.max_samples_per_packet() as usize],
            decoder: alac::Decoder::new(info),
            shape,
            packet: Vec::new(),
            skip: 0,
        })
    }
}

impl<R: Read + Seek> Decoder for Alac<R> {
    fn shape(&self) -> FrameFormat {
        self.shape
    }

    fn next(&mut self, block: &mut Vec<f32>) -> Result<bool, Error> {
        let Some(&(offset, bytes)) = self.packets.spans.get(self.next) else {
            return Ok(false);
        };
        self.next += 1;
        if PACKET_BYTES_MAX < bytes {
            return Err(Error::undecodable(format!(
                "a packet of {bytes} bytes exceeds the limit"
            )));
        }
        self.packet.resize(bytes as usize, 0);
        // Seeks only if this packet does not directly follow the previous one, because a seek
        // discards the read buffer.
        let position = self
            .original
            .stream_position()
            .map_err(Error::undecodable)?;
        let distance = offset.wrapping_sub(position) as i64;
        let seek_result = match distance {
            0 => Ok(position),
            _ => self.original.seek(SeekFrom::Start(offset)),
        };
        seek_result.map_err(Error::undecodable)?;
        let read = self.original.read_exact(&mut self.packet);
        read.map_err(Error::undecodable)?;
        let decoded = self.decoder.decode_packet(&self.packet, &mut self.samples);
        let decoded: &[i32] = decoded.map_err(Error::undecodable)?;
        let channels = usize::from(self.shape.channels);
        let skipped = self.skip.min(decoded.len() / channels);
        self.skip -= skipped;
        let scale = full_scale(32);
        let samples = decoded[skipped * channels..].iter();
        block.extend(samples.map(|sample| *sample as f32 * scale));
        Ok(true)
    }

    fn seek(&mut self, frame: u64) -> Result<bool, Error> {
        let frames = u64::from(self.decoder.stream_info().max_frames_per_packet());
        self.next = usize::try_from(frame / frames).unwrap_or(usize::MAX);
        self.skip = (frame % frames) as usize;
        Ok(true)
    }
}
