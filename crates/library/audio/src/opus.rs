//! Safe wrapper of the C library libopus.

use std::ffi::CStr;
use std::ptr::NonNull;

use audio_plan::SAMPLE_RATE_HZ;
use opusic_sys as sys;

use crate::error::Error;

/// Number of samples per channel in an encoded packet: 20 ms at 48 kHz, which is usual for music.
pub(crate) const PACKET_FRAMES: usize = 960;
/// Maximum number of samples per channel in a decoded packet: 120 ms at 48 kHz (RFC 6716 §2.1.4).
const PACKET_FRAMES_MAX: usize = 5_760;
/// Maximum length of an encoded packet in bytes. A packet contains one Opus frame, and an Opus
/// frame has at most this length (RFC 6716 §3.2.1).
const PACKET_BYTES_MAX: usize = 1_275;
/// Effort of the encoder, from 0 to 10. The maximum would need more CPU time without an audible
/// gain.
const COMPLEXITY: i32 = 9;

const RATE: i32 = SAMPLE_RATE_HZ as i32;

/// Returns the name and version of libopus, for the comment header.
pub(crate) fn version() -> String {
    // SAFETY: the function has no preconditions; it returns a static string of the library.
    let version = unsafe { sys::opus_get_version_string() };
    // SAFETY: `opus_get_version_string` returns a string literal, which is NUL-terminated, never
    // freed, and never written to.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_string_lossy().into_owned()
}

/// Opus encoder of one or two channels at 48 kHz.
pub(crate) struct Encoder {
    state: NonNull<sys::OpusEncoder>,
    channels: usize,
    packet: [u8; PACKET_BYTES_MAX],
}

impl Encoder {
    /// Creates an encoder.
    ///
    /// # Panics
    /// If `channels` is neither 1 nor 2.
    pub(crate) fn new(channels: u8, bit_rate_bps: u32) -> Result<Encoder, Error> {
        assert!(matches!(channels, 1 | 2), "{channels} channels");
        let mut error = 0;
        let audio = sys::OPUS_APPLICATION_AUDIO;
        // SAFETY: `error` outlives the call, which writes to it; 48 kHz is a supported rate, and
        // the assertion above guarantees one or two channels.
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
            // Constrained VBR keeps the bit rate near its target at all times, not only on average.
            (sys::OPUS_SET_VBR_CONSTRAINT_REQUEST, 1),
            (sys::OPUS_SET_COMPLEXITY_REQUEST, COMPLEXITY),
        ];
        for (request, value) in settings {
            encoder.set(request, value)?;
        }
        Ok(encoder)
    }

    fn set(&mut self, request: i32, value: i32) -> Result<(), Error> {
        // SAFETY: the encoder is alive until `drop`, and each request in `new` takes one `i32` by
        // value. Breaks if a request with a pointer argument is passed.
        let error = unsafe { sys::opus_encoder_ctl(self.state.as_ptr(), request, value) };
        match error {
            sys::OPUS_OK => Ok(()),
            error => Err(failed("opus_encoder_ctl", error)),
        }
    }

    /// Returns the delay of the encoder: the number of frames that a decoder outputs before the
    /// first frame that was encoded.
    pub(crate) fn lookahead(&mut self) -> Result<u16, Error> {
        let mut frames: i32 = 0;
        let request = sys::OPUS_GET_LOOKAHEAD_REQUEST;
        // SAFETY: the encoder is alive until `drop`; this request writes one `i32` to `frames`,
        // which outlives the call.
        let error = unsafe { sys::opus_encoder_ctl(self.state.as_ptr(), request, &raw mut frames) };
        match error {
            sys::OPUS_OK => u16::try_from(frames).map_err(Error::failed),
            error => Err(failed("opus_encoder_ctl", error)),
        }
    }

    /// Encodes [`PACKET_FRAMES`] frames as one packet.
    ///
    /// # Panics
    /// If `frames` contains more or fewer frames.
    pub(crate) fn encode(&mut self, frames: &[f32]) -> Result<&[u8], Error> {
        assert_eq!(frames.len(), PACKET_FRAMES * self.channels, "one packet");
        // SAFETY: the encoder reads `PACKET_FRAMES` frames of `channels` samples, which the
        // assertion above counted, and writes at most `PACKET_BYTES_MAX` bytes, the length of
        // `packet`.
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
        // SAFETY: `opus_encoder_create` returned the pointer, and only `drop` frees it.
        unsafe { sys::opus_encoder_destroy(self.state.as_ptr()) }
    }
}

/// Mapping of the channels to the coded streams of a file (RFC 7845 §5.1.1).
pub(crate) struct Layout {
    pub(crate) channels: u8,
    streams: u8,
    coupled: u8,
    mapping: Vec<u8>,
}

impl Layout {
    /// Returns the mapping, or `None` if the arguments contradict each other.
    pub(crate) fn new(channels: u8, streams: u8, coupled: u8, mapping: &[u8]) -> Option<Layout> {
        const SILENT: u8 = 255;
        let outputs = streams.checked_add(coupled)?;
        let is_valid = usize::from(channels) == mapping.len()
            && (1..=8).contains(&channels)
            && (1..SILENT).contains(&streams)
            && coupled <= streams
            && mapping.iter().all(|at| *at < outputs || *at == SILENT);
        is_valid.then(|| Layout {
            channels,
            streams,
            coupled,
            mapping: mapping.to_vec(),
        })
    }
}

/// Opus decoder of one to eight channels at 48 kHz.
pub(crate) struct Decoder {
    state: NonNull<sys::OpusMSDecoder>,
    samples: Vec<f32>,
    channels: usize,
}

impl Decoder {
    /// Creates a decoder that also applies `gain`, in 1/256 dB.
    pub(crate) fn new(layout: &Layout, gain: i16) -> Result<Decoder, Error> {
        let mut error = 0;
        // SAFETY: the function reads `channels` entries of `mapping`, whose length `Layout::new`
        // has checked, and writes to `error`, which outlives the call.
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
        // SAFETY: the decoder is alive until `drop`, and this request takes one `i32` by value.
        let error = unsafe {
            sys::opus_multistream_decoder_ctl(decoder.state.as_ptr(), request, i32::from(gain))
        };
        match error {
            sys::OPUS_OK => Ok(decoder),
            error => Err(failed("opus_multistream_decoder_ctl", error)),
        }
    }

    /// Decodes a packet and returns its frames as interleaved samples.
    pub(crate) fn decode(&mut self, packet: &[u8]) -> Result<&[f32], Error> {
        let length = i32::try_from(packet.len()).map_err(Error::undecodable)?;
        // SAFETY: the function reads `length` bytes, the length of `packet`, and writes at most
        // `PACKET_FRAMES_MAX` frames of `channels` samples, the size of `samples` since `new`.
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
            Err(_) => Err(Error::undecodable(format!(
                "cannot decode an Opus packet: libopus returned error {frames}"
            ))),
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: `opus_multistream_decoder_create` returned the pointer, and only `drop` frees it.
        unsafe { sys::opus_multistream_decoder_destroy(self.state.as_ptr()) }
    }
}

fn failed(call: &str, error: i32) -> Error {
    Error::failed(format!("{call}: {error}"))
}
