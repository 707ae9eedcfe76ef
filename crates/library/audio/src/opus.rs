//! libopus behind safe Rust.

use std::ffi::CStr;
use std::ptr::NonNull;

use audio_plan::SAMPLE_RATE_HZ;
use opusic_sys as sys;

use crate::error::Error;

/// Frames of a packet of 20 ms, which is what encoders of music write.
pub(crate) const PACKET_FRAMES: usize = 960;
/// Frames of the longest packet, of 120 ms (RFC 6716 §2.1.4).
const PACKET_FRAMES_MAX: usize = 5_760;
/// RFC 6716 §3.2.1: the longest frame.
const PACKET_BYTES_MAX: usize = 1_275;
/// How hard the encoder tries, of 10. Above this it takes CPU time for music that nobody hears.
const COMPLEXITY: i32 = 9;

const RATE: i32 = SAMPLE_RATE_HZ as i32;

/// The library's name and version, for a file's head.
pub(crate) fn version() -> String {
    // SAFETY: takes nothing, and returns a string of the library's own that is never freed.
    let version = unsafe { sys::opus_get_version_string() };
    // SAFETY: it ends with a zero, and nobody writes to it.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_string_lossy().into_owned()
}

/// An encoder of one or two channels at 48 kHz.
pub(crate) struct Encoder {
    state: NonNull<sys::OpusEncoder>,
    channels: usize,
    packet: [u8; PACKET_BYTES_MAX],
}

impl Encoder {
    /// # Panics
    /// When `channels` is neither 1 nor 2.
    pub(crate) fn new(channels: u8, bit_rate_bps: u32) -> Result<Encoder, Error> {
        assert!(matches!(channels, 1 | 2), "{channels} channels");
        let mut error = 0;
        let audio = sys::OPUS_APPLICATION_AUDIO;
        // SAFETY: writes the number it is given a pointer to; 48 kHz and one or two channels are what it takes.
        let state =
            unsafe { sys::opus_encoder_create(RATE, channels.into(), audio, &raw mut error) };
        let state = NonNull::new(state).ok_or_else(|| failed("opus_encoder_create", error))?;
        let mut encoder = Encoder {
            state,
            channels: channels.into(),
            packet: [0; PACKET_BYTES_MAX],
        };
        let settings = [
            (sys::OPUS_SET_BITRATE_REQUEST, bit_rate_bps as i32),
            // A rate that is asked for as the most is kept to over a second, not only over a track.
            (sys::OPUS_SET_VBR_CONSTRAINT_REQUEST, 1),
            (sys::OPUS_SET_COMPLEXITY_REQUEST, COMPLEXITY),
        ];
        for (request, value) in settings {
            encoder.set(request, value)?;
        }
        Ok(encoder)
    }

    fn set(&mut self, request: i32, value: i32) -> Result<(), Error> {
        // SAFETY: the encoder lives, and each of the requests above takes one number by value.
        let error = unsafe { sys::opus_encoder_ctl(self.state.as_ptr(), request, value) };
        match error {
            sys::OPUS_OK => Ok(()),
            error => Err(failed("opus_encoder_ctl", error)),
        }
    }

    /// Frames that a decoder gives out before the first that was encoded.
    pub(crate) fn lookahead(&mut self) -> Result<u16, Error> {
        let mut frames: i32 = 0;
        let request = sys::OPUS_GET_LOOKAHEAD_REQUEST;
        // SAFETY: the encoder lives, and this request writes the number it is given a pointer to.
        let error = unsafe { sys::opus_encoder_ctl(self.state.as_ptr(), request, &raw mut frames) };
        match error {
            sys::OPUS_OK => u16::try_from(frames).map_err(Error::failed),
            error => Err(failed("opus_encoder_ctl", error)),
        }
    }

    /// The packet of [`PACKET_FRAMES`] frames.
    ///
    /// # Panics
    /// When there are more or fewer.
    pub(crate) fn encode(&mut self, frames: &[f32]) -> Result<&[u8], Error> {
        assert_eq!(frames.len(), PACKET_FRAMES * self.channels, "a packet");
        // SAFETY: reads as many samples as the assertion counted, and writes no more bytes than the packet has, whose
        // length it is told.
        let length = unsafe {
            sys::opus_encode_float(
                self.state.as_ptr(),
                frames.as_ptr(),
                PACKET_FRAMES as i32,
                self.packet.as_mut_ptr(),
                PACKET_BYTES_MAX as i32,
            )
        };
        match usize::try_from(length) {
            Ok(length) => Ok(&self.packet[..length]),
            Err(_) => Err(failed("opus_encode_float", length)),
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: made by `opus_encoder_create`, freed here alone.
        unsafe { sys::opus_encoder_destroy(self.state.as_ptr()) }
    }
}

/// How a file's channels lie in its streams (RFC 7845 §5.1.1).
pub(crate) struct Layout {
    pub(crate) channels: u8,
    streams: u8,
    coupled: u8,
    mapping: Vec<u8>,
}

impl Layout {
    /// None where it contradicts itself.
    pub(crate) fn new(channels: u8, streams: u8, coupled: u8, mapping: &[u8]) -> Option<Layout> {
        const SILENT: u8 = 255;
        let outputs = streams.checked_add(coupled)?;
        let is_sound = usize::from(channels) == mapping.len()
            && (1..=8).contains(&channels)
            && (1..SILENT).contains(&streams)
            && coupled <= streams
            && mapping.iter().all(|at| *at < outputs || *at == SILENT);
        is_sound.then(|| Layout {
            channels,
            streams,
            coupled,
            mapping: mapping.to_vec(),
        })
    }
}

/// A decoder of any number of channels at 48 kHz.
pub(crate) struct Decoder {
    state: NonNull<sys::OpusMSDecoder>,
    samples: Vec<f32>,
    channels: usize,
}

impl Decoder {
    /// One that makes all louder by `gain`, in 1/256 dB.
    pub(crate) fn new(layout: &Layout, gain: i16) -> Result<Decoder, Error> {
        let mut error = 0;
        // SAFETY: reads as many entries of the mapping as there are channels, which `Layout::new` has held equal, and
        // writes the number it is given a pointer to.
        let state = unsafe {
            sys::opus_multistream_decoder_create(
                RATE,
                layout.channels.into(),
                layout.streams.into(),
                layout.coupled.into(),
                layout.mapping.as_ptr(),
                &raw mut error,
            )
        };
        let create = "opus_multistream_decoder_create";
        let state = NonNull::new(state).ok_or_else(|| failed(create, error))?;
        let channels = usize::from(layout.channels);
        let decoder = Decoder {
            state,
            samples: vec![0.0; PACKET_FRAMES_MAX * channels],
            channels,
        };
        let request = sys::OPUS_SET_GAIN_REQUEST;
        // SAFETY: the decoder lives, and this request takes one number by value.
        let error = unsafe {
            sys::opus_multistream_decoder_ctl(decoder.state.as_ptr(), request, i32::from(gain))
        };
        match error {
            sys::OPUS_OK => Ok(decoder),
            error => Err(failed("opus_multistream_decoder_ctl", error)),
        }
    }

    /// A packet's frames.
    pub(crate) fn decode(&mut self, packet: &[u8]) -> Result<&[f32], Error> {
        let length = i32::try_from(packet.len()).map_err(Error::undecodable)?;
        // SAFETY: reads the packet, whose length it is told, and writes at most the frames that the buffer was made for.
        let frames = unsafe {
            sys::opus_multistream_decode_float(
                self.state.as_ptr(),
                packet.as_ptr(),
                length,
                self.samples.as_mut_ptr(),
                PACKET_FRAMES_MAX as i32,
                0,
            )
        };
        match usize::try_from(frames) {
            Ok(frames) => Ok(&self.samples[..frames * self.channels]),
            Err(_) => Err(Error::undecodable(format!("a packet of Opus: {frames}"))),
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: made by `opus_multistream_decoder_create`, freed here alone.
        unsafe { sys::opus_multistream_decoder_destroy(self.state.as_ptr()) }
    }
}

fn failed(call: &str, error: i32) -> Error {
    Error::failed(format!("{call}: {error}"))
}
