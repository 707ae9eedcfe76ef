//! Decision whether a player gets the original file of a track or a transcoded stream.

use crate::plan::{Gain, Plan};
use crate::source::{Codec, Source};

/// Minimum bit rate of an Opus encoder (RFC 6716 §2.1.1).
const BIT_RATE_KBPS_MIN: u32 = 6;
/// Maximum bit rate of an Opus encoder for stereo (RFC 6716 §2.1.1). A mono stream gets at most
/// half of this rate.
const BIT_RATE_KBPS_MAX: u32 = 510;
/// Bit rate of the output if the player does not request one. Most listeners cannot distinguish
/// stereo music at this rate from the original.
const BIT_RATE_KBPS_DEFAULT: u32 = 128;

/// Audio format that a player requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The player has no preference.
    Any,
    /// The original file, regardless of the other parameters.
    Raw,
    /// Opus in an Ogg file.
    Opus,
    /// A format that the server cannot produce. The format is then ignored, and only the other
    /// parameters of the request count. The reason is that many players name one format in every
    /// request, although they can also play the original.
    Other,
}

impl Format {
    /// Parses the name of a format as players send it.
    #[must_use]
    pub fn named(name: &str) -> Format {
        let is = |known: &&str| name.eq_ignore_ascii_case(known);
        match name {
            "" => Format::Any,
            _ if is(&"raw") => Format::Raw,
            _ if ["opus", "ogg", "oga"].iter().any(is) => Format::Opus,
            _ => Format::Other,
        }
    }
}

/// Parameters of a player's request for a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioRequest {
    /// Audio format that the player requests.
    pub format: Format,
    /// Maximum bit rate that the player accepts; 0 means unlimited.
    pub bit_rate_kbps_max: u32,
    /// Position in the track at which playback starts.
    pub start_ms: u64,
}

/// Limits on the tracks that are transcoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of a track in milliseconds; longer tracks are not transcoded. Default 1 hour.
    pub duration_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            duration_ms_max: 3_600_000,
        }
    }
}

/// Reason why the original file is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawReason {
    /// The player requested the original file, or that file already satisfies the request.
    AsRequested,
    /// The server has no decoder for the file.
    Undecodable,
    /// The track is longer than [`Limits::duration_ms_max`], or its length is unknown.
    TooLong,
}

/// Kind of response to a player's request for a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send the original file.
    Raw(RawReason),
    /// Send the stream that this plan produces.
    Transcode(Plan),
    /// Send nothing: the start position is after the track's end.
    AfterEnd,
}

/// Decides how to respond to a player's request for a track. The plan that is returned has no
/// titles and no gains; the caller adds them.
#[must_use]
pub fn decide(request: &AudioRequest, source: &Source, limits: &Limits) -> Decision {
    let exceeds =
        request.bit_rate_kbps_max != 0 && request.bit_rate_kbps_max < source.bit_rate_kbps;
    let needs_transcode = match request.format {
        Format::Raw => false,
        Format::Opus => source.codec != Some(Codec::Opus) || exceeds || request.start_ms != 0,
        Format::Any | Format::Other => exceeds || request.start_ms != 0,
    };
    if !needs_transcode {
        return Decision::Raw(RawReason::AsRequested);
    }
    let Some(codec) = source.codec else {
        return Decision::Raw(RawReason::Undecodable);
    };
    if source.duration_ms == 0 || limits.duration_ms_max < source.duration_ms {
        return Decision::Raw(RawReason::TooLong);
    }
    if source.duration_ms <= request.start_ms {
        return Decision::AfterEnd;
    }
    Decision::Transcode(Plan {
        codec,
        channels: source.channels.clamp(1, 2),
        bit_rate_bps: bit_rate_kbps(request, source, codec) * 1_000,
        start_ms: request.start_ms,
        duration_ms: source.duration_ms,
        gain: Gain::default(),
        title: String::new(),
        artist: String::new(),
        album: String::new(),
    })
}

/// Returns the bit rate of the output in kbit/s: the requested one, within the limits of the
/// encoder. For a lossy original, returns at most the bit rate of the original, since more bits
/// would only reproduce its artefacts.
fn bit_rate_kbps(request: &AudioRequest, source: &Source, codec: Codec) -> u32 {
    let requested = match request.bit_rate_kbps_max {
        0 => BIT_RATE_KBPS_DEFAULT,
        requested => requested,
    };
    let source_max = match source.bit_rate_kbps {
        known @ 1.. if !codec.is_lossless() => known,
        _ => BIT_RATE_KBPS_MAX,
    };
    let channel_max = BIT_RATE_KBPS_MAX / 2 * u32::from(source.channels.clamp(1, 2));
    requested
        .min(source_max)
        .min(channel_max)
        .max(BIT_RATE_KBPS_MIN)
}
